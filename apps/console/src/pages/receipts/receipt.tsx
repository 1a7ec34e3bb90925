import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { answerOf, api } from '../../app/api.js';
import { count } from '../../format/numbers.js';
import { vendorName } from '../../format/vendors.js';
import { Badge } from '../../parts/badge.js';
import { Card, Facts, Page } from '../../parts/page.js';
import { Loaded } from '../../parts/states.js';
import { Time } from '../../parts/time.js';

const route = getRouteApi('/receipts/$id');
const READ_EVERY_MS = 15_000;

/** Shows what was deleted, and when. It is open without a session, because the account that it is about may be gone. */
export function Receipt() {
  const { id } = route.useParams();
  const query = useQuery({
    queryKey: ['receipt', id],
    queryFn: () => answerOf(api.GET('/v1/receipts/{id}', { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data?.status === 'completed' ? false : READ_EVERY_MS),
  });
  return (
    <main className="alone">
      <Page title="Receipt of a deletion" about={<Link to="/">Go to the console</Link>}>
        <Loaded query={query} lines={6}>
          {({ what, reason, status, requested_at, completed_at, until, deleted }) => (
            <div className="halves">
              <Card title={what === 'account' ? 'The whole account' : `Data from ${vendorName(what)}`}>
                <Facts
                  facts={[
                    ['State', <Badge key="state" state={status} />],
                    ['Reason', reason === 'requested' ? 'requested' : 'the permission ended at the vendor'],
                    ['Requested', <Time key="requested" at={requested_at} />],
                    ['Completed', <Time key="completed" at={completed_at} />],
                    ['Last traces until', <Time key="until" at={until} />],
                    ['Receipt', <code key="id">{id}</code>],
                  ]}
                />
              </Card>
              <Card title="Deleted records">
                {Object.keys(deleted).length === 0 ? (
                  <p className="page-about">
                    {status === 'completed'
                      ? 'There was nothing to delete.'
                      : 'The deletion goes on. This page follows it.'}
                  </p>
                ) : (
                  <Facts
                    facts={Object.entries(deleted).map(([kind, amount]) => [
                      kind.replaceAll('_', ' '),
                      count(amount),
                    ])}
                  />
                )}
              </Card>
            </div>
          )}
        </Loaded>
      </Page>
    </main>
  );
}
