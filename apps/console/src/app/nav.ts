import { type LinkProps } from '@tanstack/react-router';
import { type Session } from './session.js';

interface NavEntry {
  readonly to: NonNullable<LinkProps['to']>;
  readonly label: string;
  readonly roles: ReadonlyArray<Session['role']>;
  /** Pages that follow each other with the same group stand below its name. */
  readonly group?: string;
}

/** The pages of the navigation, in its order; a person starts at the first page of their role. A page also needs a route in router.tsx. */
const NAV: readonly NavEntry[] = [
  { to: '/overview', label: 'Overview', roles: ['admin'] },
  { to: '/athletes', label: 'Athletes', roles: ['admin'] },
  { to: '/activities', label: 'Activities', roles: ['athlete'] },
  { to: '/sleep', label: 'Sleep', roles: ['athlete'] },
  { to: '/connections', label: 'Connections', roles: ['athlete'] },
  { to: '/failures', label: 'Failures', roles: ['admin'], group: 'Repair' },
  { to: '/dead-letters', label: 'Dead letters', roles: ['admin'], group: 'Repair' },
  { to: '/vendor-events', label: 'Vendor events', roles: ['admin'], group: 'Repair' },
  { to: '/webhooks', label: 'Webhooks', roles: ['admin'], group: 'Repair' },
  { to: '/imports', label: 'Imports', roles: ['admin'], group: 'Work' },
  { to: '/jobs', label: 'Jobs', roles: ['admin'], group: 'Work' },
  { to: '/queues', label: 'Queues', roles: ['admin'], group: 'Work' },
  { to: '/gate', label: 'Playback gate', roles: ['admin'], group: 'Work' },
  { to: '/keys', label: 'Keys', roles: ['admin'], group: 'System' },
  { to: '/audit', label: 'Audit', roles: ['admin'], group: 'System' },
  { to: '/settings', label: 'Settings', roles: ['admin'], group: 'System' },
  { to: '/account', label: 'Account', roles: ['admin', 'athlete'], group: 'You' },
];

export function pagesOf(role: Session['role']): readonly NavEntry[] {
  return NAV.filter(({ roles }) => roles.includes(role));
}

interface NavGroup {
  readonly name: string | undefined;
  readonly pages: readonly NavEntry[];
}

/** The pages of a role with the names that stand above them. */
export function groupsOf(role: Session['role']): readonly NavGroup[] {
  const groups: Array<{ name: string | undefined; pages: NavEntry[] }> = [];
  for (const page of pagesOf(role)) {
    const last = groups.at(-1);
    if (last && last.name === page.group) last.pages.push(page);
    else groups.push({ name: page.group, pages: [page] });
  }
  return groups;
}
