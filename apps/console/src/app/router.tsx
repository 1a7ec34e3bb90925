import { type QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { pagesOf } from './nav.js';
import { Crashed, CrashedBeforeShell, NotFound } from './not-found.js';
import { queries } from './queries.js';
import { formatSearch, parseSearch, textOf } from './search.js';
import { hasCodeOfLink, sessionQuery } from './session.js';
import { Shell } from './shell.js';
import { SignIn } from './sign-in.js';

const root = createRootRouteWithContext<{ queries: QueryClient }>()({ component: Outlet });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): { next?: string } => ({ next: textOf(search.next) }),
  component: SignIn,
});

const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  component: Shell,
  errorComponent: CrashedBeforeShell,
  async beforeLoad({ context, location }) {
    const session = hasCodeOfLink() ? null : await context.queries.ensureQueryData(sessionQuery);
    if (!session) throw redirect({ to: '/sign-in', search: { next: location.href } });
    return { session };
  },
});

/** Pages below this route exist for operators only; for an athlete they are not found. */
const operators = createRoute({
  getParentRoute: () => signedIn,
  id: 'operators',
  component: Outlet,
  beforeLoad({ context }) {
    if (context.session.role !== 'admin') throw notFound();
  },
});

const start = createRoute({
  getParentRoute: () => signedIn,
  path: '/',
  beforeLoad({ context }) {
    const [first] = pagesOf(context.session.role);
    if (first) throw redirect({ to: first.to });
  },
});

// A page is one route here, below `operators` or `signedIn`, and one line in nav.ts. It is loaded when it is first opened:
// `lazyRouteComponent(() => import('../pages/<noun>/<noun>.js'), '<Component>')`. It reads its path and search with
// `getRouteApi('/signed-in/operators/<path>')`, so that it imports nothing of this file.
const overview = createRoute({
  getParentRoute: () => operators,
  path: '/overview',
  validateSearch: ({ vendor }: Record<string, unknown>): { vendor?: string } => ({ vendor: textOf(vendor) }),
  component: lazyRouteComponent(() => import('../pages/overview/overview.js'), 'Overview'),
});

const athletes = createRoute({
  getParentRoute: () => operators,
  path: '/athletes',
  component: lazyRouteComponent(() => import('../pages/athletes/athletes.js'), 'Athletes'),
});

const athlete = createRoute({
  getParentRoute: () => operators,
  path: '/athletes/$id',
  component: lazyRouteComponent(() => import('../pages/athletes/athlete.js'), 'Athlete'),
});

const connections = createRoute({
  getParentRoute: () => signedIn,
  path: '/connections',
  component: lazyRouteComponent(() => import('../pages/connections/connections.js'), 'Connections'),
});

const receipt = createRoute({
  getParentRoute: () => root,
  path: '/receipts/$id',
  component: lazyRouteComponent(() => import('../pages/receipts/receipt.js'), 'Receipt'),
});

const failures = createRoute({
  getParentRoute: () => operators,
  path: '/failures',
  component: lazyRouteComponent(() => import('../pages/failures/failures.js'), 'Failures'),
});

const deadLetters = createRoute({
  getParentRoute: () => operators,
  path: '/dead-letters',
  component: lazyRouteComponent(() => import('../pages/dead-letters/dead-letters.js'), 'DeadLetters'),
});

const vendorEvents = createRoute({
  getParentRoute: () => operators,
  path: '/vendor-events',
  component: lazyRouteComponent(() => import('../pages/vendor-events/vendor-events.js'), 'VendorEvents'),
});

const webhooks = createRoute({
  getParentRoute: () => operators,
  path: '/webhooks',
  component: lazyRouteComponent(() => import('../pages/webhooks/webhooks.js'), 'Webhooks'),
});

const deliveries = createRoute({
  getParentRoute: () => operators,
  path: '/webhooks/$id',
  component: lazyRouteComponent(() => import('../pages/webhooks/deliveries.js'), 'Deliveries'),
});

const imports = createRoute({
  getParentRoute: () => operators,
  path: '/imports',
  component: lazyRouteComponent(() => import('../pages/imports/imports.js'), 'Imports'),
});

const jobs = createRoute({
  getParentRoute: () => operators,
  path: '/jobs',
  component: lazyRouteComponent(() => import('../pages/jobs/jobs.js'), 'Jobs'),
});

const tickQueues = createRoute({
  getParentRoute: () => operators,
  path: '/queues',
  component: lazyRouteComponent(() => import('../pages/queues/queues.js'), 'Queues'),
});

const gate = createRoute({
  getParentRoute: () => operators,
  path: '/gate',
  component: lazyRouteComponent(() => import('../pages/gate/gate.js'), 'Gate'),
});

const keys = createRoute({
  getParentRoute: () => operators,
  path: '/keys',
  component: lazyRouteComponent(() => import('../pages/keys/keys.js'), 'Keys'),
});

const audit = createRoute({
  getParentRoute: () => operators,
  path: '/audit',
  component: lazyRouteComponent(() => import('../pages/audit/audit.js'), 'Audit'),
});

const settings = createRoute({
  getParentRoute: () => operators,
  path: '/settings',
  component: lazyRouteComponent(() => import('../pages/settings/settings.js'), 'Settings'),
});

const account = createRoute({
  getParentRoute: () => signedIn,
  path: '/account',
  component: lazyRouteComponent(() => import('../pages/account/account.js'), 'Account'),
});

const ownActivities = createRoute({
  getParentRoute: () => signedIn,
  path: '/activities',
  component: lazyRouteComponent(() => import('../pages/activities/activities.js'), 'Activities'),
});

const ownActivity = createRoute({
  getParentRoute: () => signedIn,
  path: '/activities/$activityId',
  component: lazyRouteComponent(() => import('../pages/activity/activity.js'), 'Activity'),
});

const ownSleep = createRoute({
  getParentRoute: () => signedIn,
  path: '/sleep',
  component: lazyRouteComponent(() => import('../pages/sleep/sleep.js'), 'Sleep'),
});

const athletesActivities = createRoute({
  getParentRoute: () => operators,
  path: '/athletes/$id/activities',
  component: lazyRouteComponent(() => import('../pages/activities/activities.js'), 'Activities'),
});

const athletesActivity = createRoute({
  getParentRoute: () => operators,
  path: '/athletes/$id/activities/$activityId',
  component: lazyRouteComponent(() => import('../pages/activity/activity.js'), 'Activity'),
});

const athletesSleep = createRoute({
  getParentRoute: () => operators,
  path: '/athletes/$id/sleep',
  component: lazyRouteComponent(() => import('../pages/sleep/sleep.js'), 'Sleep'),
});

const unknown = createRoute({ getParentRoute: () => signedIn, path: '$', component: NotFound });

const routeTree = root.addChildren([
  signIn,
  receipt,
  signedIn.addChildren([
    start,
    ownActivities,
    ownActivity,
    ownSleep,
    connections,
    account,
    unknown,
    operators.addChildren([
      overview,
      athletes,
      athlete,
      athletesActivities,
      athletesActivity,
      athletesSleep,
      failures,
      deadLetters,
      vendorEvents,
      webhooks,
      deliveries,
      imports,
      jobs,
      tickQueues,
      gate,
      keys,
      audit,
      settings,
    ]),
  ]),
]);

export const router = createRouter({
  routeTree,
  basepath: '/console',
  context: { queries },
  parseSearch,
  stringifySearch: formatSearch,
  defaultPreload: 'intent',
  defaultNotFoundComponent: NotFound,
  defaultErrorComponent: Crashed,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
