import { type ReactNode, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useAthleteId } from '../../app/athlete.js';
import { useUnits } from '../../app/preferences.js';
import { viewOf } from '../../charts/view.js';
import { covered, effort, meanSpeed, speedKindOf } from '../../format/effort.js';
import { duration } from '../../format/time.js';
import { height } from '../../format/units.js';
import { vendorName } from '../../format/vendors.js';
import { ActivityLink, AthleteLink } from '../../parts/links.js';
import { Card, Page } from '../../parts/page.js';
import { Empty, Loaded, Loading } from '../../parts/states.js';
import { Time } from '../../parts/time.js';
import './activity.css';
import { FetchState } from './fetch-state.js';
import { Laps } from './laps.js';
import { Photos } from './photos.js';
import { Processing } from './processing.js';
import { activityQuery, type Detail, shapeOf, stateQuery, streamsQuery } from './queries.js';
import { Recording } from './recording.js';
import { Shape } from './shape.js';

/** One activity: its recording, its shape, and where the fetch of its streams and its processing stand. */
export function Activity() {
  const { activityId = '' } = useParams({ strict: false });
  return <OneActivity key={activityId} id={activityId} />;
}

function OneActivity({ id }: { readonly id: string }) {
  const athleteId = useAthleteId();
  const query = useQuery(activityQuery(athleteId, id));
  if (query.error?.status === 404) return <Gone athleteId={athleteId} />;
  const title = query.data ? query.data.name || query.data.sport_type : 'Activity';
  return (
    <Page title={title} about={query.data && <About activity={query.data} athleteId={athleteId} />}>
      <Loaded query={query} lines={10}>
        {(activity) => <Parts activity={activity} athleteId={athleteId} />}
      </Loaded>
    </Page>
  );
}

function Gone({ athleteId }: { readonly athleteId: string | undefined }) {
  return (
    <Page title="No such activity" about={<AllActivities athleteId={athleteId} />}>
      <Card title="Activity">
        <Empty title="This activity is not here">
          It was deleted, or the address is mistyped or that of another athlete’s activity.
        </Empty>
      </Card>
    </Page>
  );
}

function AllActivities({ athleteId }: { readonly athleteId: string | undefined }) {
  if (!athleteId) return <Link to="/activities">all activities</Link>;
  return (
    <Link to="/athletes/$id/activities" params={{ id: athleteId }}>
      all activities of the athlete
    </Link>
  );
}

interface ActivityProps {
  readonly activity: Detail;
  readonly athleteId: string | undefined;
}

function About({ activity, athleteId }: ActivityProps) {
  const { sport_type, provider, start_time, same_as } = activity;
  return (
    <>
      {sport_type} by {vendorName(provider)}, <Time at={start_time} /> ·{' '}
      {athleteId && (
        <>
          athlete <AthleteLink athleteId={athleteId} /> ·{' '}
        </>
      )}
      <AllActivities athleteId={athleteId} />
      {same_as.map((twin) => (
        <span key={twin}>
          {' · '}
          <ActivityLink athleteId={athleteId} activityId={twin}>
            the same workout by another vendor
          </ActivityLink>
        </span>
      ))}
    </>
  );
}

function Parts({ activity, athleteId }: ActivityProps) {
  const [view] = useState(viewOf);
  const streams = useQuery(streamsQuery(athleteId, activity.id));
  const state = useQuery(stateQuery(athleteId, activity.id));
  return (
    <>
      <Totals activity={activity} />
      {activity.description && <p className="activity-words">{activity.description}</p>}
      <Loaded query={streams} lines={10}>
        {(recorded) => (
          <Recording
            activity={activity}
            streams={recorded}
            segments={state.data && shapeOf(state.data)?.segments}
            view={view}
          />
        )}
      </Loaded>
      <Loaded query={state}>
        {(processed) => <Shape activity={activity} state={processed} view={view} />}
      </Loaded>
      <div className="activity-columns">
        <FetchState activity={activity} streams={streams.data} />
        {state.data && <Processing state={state.data} athleteId={athleteId} />}
        {state.isPending && <Loading />}
      </div>
      <Laps activity={activity} />
      <Photos photos={activity.photos} vendor={vendorName(activity.provider)} />
    </>
  );
}

function Totals({ activity }: { readonly activity: Detail }) {
  const units = useUnits();
  const { distance_m, moving_time_s, elapsed_time_s, elevation_gain_m, average_heartrate, sport_type } =
    activity;
  const kind = speedKindOf(sport_type);
  const totals: ReadonlyArray<readonly [string, ReactNode]> = [
    ['Distance', distance_m ? covered(distance_m, kind, units) : '–'],
    ['Moving', duration(moving_time_s)],
    ['Elapsed', duration(elapsed_time_s)],
    [kind === 'speed' ? 'Speed' : 'Pace', effort(meanSpeed(distance_m, moving_time_s), kind, units)],
    ['Climb', height(elevation_gain_m, units)],
    ['Heart rate', average_heartrate ? `${Math.round(average_heartrate)} bpm` : '–'],
  ];
  return (
    <dl className="totals">
      {totals.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
