import { useQuery } from '@tanstack/react-query';
import { ActivityLink, AthleteLink } from '../../parts/links.js';
import { answerOf, api, type Schema } from '../../app/api.js';
import { useAttention } from '../../app/attention.js';
import { useSearchState } from '../../app/search-state.js';
import { textOf } from '../../app/search.js';
import { count, counted } from '../../format/numbers.js';
import { ActionButton } from '../../parts/action-button.js';
import { Bar } from '../../parts/bar.js';
import { Filters, optionsWith } from '../../parts/filters.js';
import { Card, Page } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { Time } from '../../parts/time.js';
import './failures.css';

const KEY = ['failures'];

/** Activities whose streams could not be fetched, by the reason. Counts fall while a worker resets fetches. */
export function Failures() {
  const [search] = useSearchState();
  const error = textOf(search.error);
  useAttention('stuck_failed', KEY);
  const query = useQuery({
    queryKey: KEY,
    queryFn: () => answerOf(api.GET('/admin/failures')),
    meta: { changes: ['streams.*'] },
  });
  const groups = query.data?.items ?? [];
  const total = groups.reduce((sum, group) => sum + group.count, 0);
  return (
    <Page
      title="Failures"
      about="Activities whose streams could not be fetched. Some are retried; those whose attempts are used up wait for a reset."
      actions={
        groups.length > 0 &&
        !error && (
          <ActionButton
            label={`Reset all ${count(total)}`}
            run={() => resetAll({})}
            refreshes={[KEY]}
            confirm={{
              title: 'Reset all failed fetches',
              phrase: 'reset all',
              text: 'The streams of all these activities are fetched again. Each fetch is a call of the vendor’s limit.',
            }}
          />
        )
      }
    >
      {(groups.length > 1 || error) && (
        <Filters
          filters={[
            {
              kind: 'choice',
              name: 'error',
              label: 'Reason',
              options: optionsWith(
                error,
                groups.map((group) => group.error),
              ),
            },
          ]}
        />
      )}
      <Loaded query={query} lines={8}>
        {({ items }) => {
          const shown = items.filter((group) => !error || group.error === error);
          return shown.length > 0 ? (
            shown.map((group) => <Group key={group.error} group={group} />)
          ) : (
            <Card title="Reasons">
              <Empty title={error ? 'No fetch failed for this reason' : 'No fetch has failed'}>
                {error
                  ? 'The fetches of this reason have succeeded, were reset, or fail for another reason now.'
                  : 'A fetch that fails is listed here with its reason until it succeeds or is reset.'}
              </Empty>
            </Card>
          );
        }}
      </Loaded>
    </Page>
  );
}

async function resetAll(body: Schema<'StreamsFilter'>): Promise<string> {
  const { matched } = await answerOf(api.POST('/admin/streams/reset', { body }));
  return `${counted(matched, 'reset')} ordered`;
}

type FailureGroup = Schema<'FailureGroupAnswer'>;

function Group({ group }: { readonly group: FailureGroup }) {
  const { error, stuck, retrying, samples } = group;
  const hidden = group.count - samples.length;
  return (
    <Card
      title={error}
      aside={
        <>
          first attempt <Time at={group.oldest_at} as="relative" />, latest{' '}
          <Time at={group.newest_at} as="relative" />
        </>
      }
    >
      <div className="failure-head">
        <p className="failure-count">
          <b>{count(group.count)}</b> {group.count === 1 ? 'activity' : 'activities'}
        </p>
        <Bar
          label="Activities of this reason"
          parts={[
            { label: 'wait for a reset', value: stuck, tone: 'bad' },
            { label: 'retried', value: retrying, tone: 'waiting' },
          ]}
          hasLegend
        />
        <ActionButton
          label={`Reset ${count(group.count)}`}
          tone="main"
          run={() => resetAll({ error })}
          refreshes={[KEY]}
        />
      </div>
      <ul className="samples" aria-label="Latest activities of this reason">
        {samples.map((sample) => (
          <Sample key={sample.activity_id} sample={sample} />
        ))}
        {hidden > 0 && <li className="hint">and {counted(hidden, 'older activity', 'older activities')}</li>}
      </ul>
    </Card>
  );
}

function Sample({ sample }: { readonly sample: FailureGroup['samples'][number] }) {
  const { activity_id, athlete_id, name, retry_at } = sample;
  return (
    <li>
      <span>
        <ActivityLink athleteId={athlete_id} activityId={activity_id}>
          {name}
        </ActivityLink>{' '}
        <span className="hint sample-of">
          of <AthleteLink athleteId={athlete_id} />
        </span>
      </span>
      <span className="hint">
        {retry_at ? (
          <>
            next attempt <Time at={retry_at} as="due" />
          </>
        ) : (
          'attempts used up'
        )}
      </span>
      <ActionButton
        label="Reset"
        run={async () => {
          const params = { path: { id: activity_id } };
          await answerOf(api.POST('/admin/activities/{id}/reset-stream-fetch', { params }));
        }}
        refreshes={[KEY]}
      />
    </li>
  );
}
