import { type MouseEvent, type ReactNode } from 'react';
import { Link, useNavigate } from '@tanstack/react-router';
import { activityPath } from '../app/athlete.js';
import { shortId } from '../format/ids.js';

interface AthleteLinkProps {
  readonly athleteId: string;
  readonly children?: ReactNode;
}

/** An athlete's page; by default with the beginning of the id as its text. */
export function AthleteLink({ athleteId, children }: AthleteLinkProps) {
  return (
    <Link to="/athletes/$id" params={{ id: athleteId }} title={athleteId}>
      {children ?? <Id id={athleteId} />}
    </Link>
  );
}

interface ActivityLinkProps {
  /** Absent on an athlete's own pages. */
  readonly athleteId: string | undefined;
  readonly activityId: string;
  readonly children?: ReactNode;
}

/** An activity's page; with the beginning of the id for one without a name. A plain link: the router's own follows the location, which is too slow for rows that are scrolled. */
export function ActivityLink({ athleteId, activityId, children }: ActivityLinkProps) {
  const navigate = useNavigate();
  const path = activityPath(athleteId, activityId);
  function follow(event: MouseEvent): void {
    const opensElsewhere = event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0;
    if (opensElsewhere) return;
    event.preventDefault();
    void navigate({ href: path });
  }
  return (
    <a href={`/console${path}`} onClick={follow}>
      {children || <Id id={activityId} />}
    </a>
  );
}

/** The beginning of an id; the pointer over it shows all. */
export function Id({ id }: { readonly id: string }) {
  return <code title={id}>{shortId(id)}</code>;
}
