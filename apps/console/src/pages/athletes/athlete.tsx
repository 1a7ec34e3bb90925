import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { answerOf, api, type Schema } from '../../app/api.js';
import { isUuid, shortId } from '../../format/ids.js';
import { count } from '../../format/numbers.js';
import { Card, Facts, Page } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { Time } from '../../parts/time.js';
import { BackfillCard } from './backfill-card.js';
import { ConnectionsCard } from './connections-card.js';
import { DeleteAthlete } from './delete-athlete.js';
import { ImportsCard } from './imports-card.js';
import { ReceiptsCard } from './receipts-card.js';
import './athletes.css';

const route = getRouteApi('/signed-in/operators/athletes/$id');

/** One athlete as an operator sees them: connections, imports, backfill, receipts, and the way to their data. */
export function Athlete() {
  const { id } = route.useParams();
  const query = useQuery({
    queryKey: ['athlete', id],
    queryFn: () => answerOf(api.GET('/admin/athletes/{id}', { params: { path: { id } } })),
    meta: {
      changes: ['connection.*', 'import.*', 'activity.*', 'streams.*', 'athlete.deleted'],
      athleteId: id,
    },
  });
  if (query.error?.status === 404) return <Gone id={id} />;
  return (
    <Page
      title={query.data ? nameOf(query.data) : 'Athlete'}
      about={
        <>
          <Link to="/athletes">All athletes</Link> · <code>{id}</code>
        </>
      }
      actions={<Elsewhere id={id} />}
    >
      <Loaded query={query} lines={10}>
        {(athlete) => <Parts athlete={athlete} />}
      </Loaded>
    </Page>
  );
}

/** The subject, unless it is a UUID: beside the athlete's id it would look like the same twice. */
function nameOf({ id, subject }: Schema<'AthleteOverviewAnswer'>): string {
  return isUuid(subject) ? `Athlete ${shortId(id)}` : subject;
}

/** The pages with this athlete's data. */
function Elsewhere({ id }: { readonly id: string }) {
  return (
    <>
      <Link className="button" to="/athletes/$id/activities" params={{ id }}>
        Activities
      </Link>
      <Link className="button" to="/athletes/$id/sleep" params={{ id }}>
        Sleep
      </Link>
    </>
  );
}

function Parts({ athlete }: { readonly athlete: Schema<'AthleteOverviewAnswer'> }) {
  const { id, subject, created_at, connections, activities, backfill } = athlete;
  return (
    <>
      <ConnectionsCard athleteId={id} connections={connections} />
      <div className="halves">
        <div>
          <ImportsCard athleteId={id} />
          <ReceiptsCard athleteId={id} />
        </div>
        <div>
          <BackfillCard athleteId={id} backfill={backfill} />
          <Card title="Account">
            <Facts
              facts={[
                ['Subject', <code key="subject">{subject}</code>],
                ['Here since', <Time key="since" at={created_at} />],
                ['Activities', count(activities)],
              ]}
            />
            <DeleteAthlete athleteId={id} phrase={id} />
          </Card>
        </div>
      </div>
    </>
  );
}

function Gone({ id }: { readonly id: string }) {
  return (
    <Page title="No such athlete" about={<Link to="/athletes">All athletes</Link>}>
      <Empty title="This athlete is not here, or was deleted">
        <p>The receipts say what was deleted.</p>
      </Empty>
      {isUuid(id) && <ReceiptsCard athleteId={id} />}
    </Page>
  );
}
