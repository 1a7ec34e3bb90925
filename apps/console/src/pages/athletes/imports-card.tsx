import { answerOf, api, onBehalfOf, type Schema } from '../../app/api.js';
import { usePaged } from '../../app/paged.js';
import { vendorName, vendorNames, vendorsWith } from '../../format/vendors.js';
import { ActionButton } from '../../parts/action-button.js';
import { Badge } from '../../parts/badge.js';
import { Card } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { Time } from '../../parts/time.js';
import { ImportBar } from './import-bar.js';
import { Progress } from './progress.js';

type Import = Schema<'ImportAnswer'>;

const SHOWN = 5;

function importsOf(athleteId: string | undefined, cursor: string | undefined) {
  const query = { limit: SHOWN, cursor };
  if (!athleteId) return answerOf(api.GET('/v1/imports', { params: { query } }));
  return answerOf(api.GET('/admin/imports', { params: { query: { ...query, athlete_id: athleteId } } }));
}

/** The athlete's imports, newest first. With an id, an operator looks at them. */
export function ImportsCard({ athleteId }: { readonly athleteId?: string }) {
  const { query, rows, paging } = usePaged<Import>({
    queryKey: ['imports', { athleteId }],
    read: (cursor) => importsOf(athleteId, cursor),
    meta: { changes: ['import.*', 'activity.created', 'connection.*'], athleteId },
  });
  return (
    <Card title="Imports">
      <Loaded query={query} lines={3}>
        {() =>
          rows.length === 0 ? (
            <Empty title="Nothing was imported yet">
              An import of the whole history begins as soon as{' '}
              {vendorNames(vendorsWith('activities'), 'disjunction')} is connected.
            </Empty>
          ) : (
            <>
              <ul className="imports">
                {rows.map((item) => (
                  <ImportRow key={item.id} item={item} athleteId={athleteId} />
                ))}
              </ul>
              {paging.hasMore && (
                <button
                  type="button"
                  className="button-link imports-more"
                  disabled={paging.isLoading}
                  onClick={() => void paging.load()}
                >
                  Show earlier imports
                </button>
              )}
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

interface ImportRowProps {
  readonly item: Import;
  readonly athleteId: string | undefined;
}

function ImportRow({ item, athleteId }: ImportRowProps) {
  const { id, provider, type, status, message, since, retry_after, eta, created_at, finished_at } = item;
  return (
    <li>
      <div className="import-head">
        <strong>{vendorName(provider)}</strong>
        <span>
          {type === 'full' ? 'all activities' : 'what is new'}
          {since && (
            <>
              {' '}
              since <Time at={since} />
            </>
          )}
        </span>
        <Badge state={status} />
        <span className="import-when">
          {finished_at ? 'ended ' : 'asked for '}
          <Time at={finished_at ?? created_at} />
        </span>
      </div>
      <ImportBar item={item} />
      <div className="import-text">
        <span>{message}</span>
        {!finished_at && (
          <>
            <Progress lead="" resumesAt={retry_after} doneBy={eta} />
            <ActionButton
              label="Cancel"
              run={async () => {
                await answerOf(
                  api.DELETE('/v1/imports/{id}', { params: { path: { id } }, ...onBehalfOf(athleteId) }),
                );
              }}
              refreshes={[['imports'], ['athlete'], ['athletes']]}
            />
          </>
        )}
      </div>
    </li>
  );
}
