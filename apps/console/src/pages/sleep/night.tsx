import { useQuery } from '@tanstack/react-query';
import { answerOf, api, onBehalfOf, type Schema } from '../../app/api.js';
import { dayInWords } from '../../format/days.js';
import { vendorName } from '../../format/vendors.js';
import { Badge } from '../../parts/badge.js';
import { Card, Facts } from '../../parts/page.js';
import { Empty, Failed, Loaded } from '../../parts/states.js';
import { Time } from '../../parts/time.js';
import { hours } from './length.js';

type RecordItem = Schema<'NightRecordAnswer'>;

interface NightProps {
  readonly athleteId: string | undefined;
  readonly date: string;
}

const REASONS: Record<RecordItem['reason'], string> = {
  longest: 'It is the night: the longest record of the date.',
  nap: 'It is a nap, which is never the night.',
  unscored: 'The vendor has not scored it.',
  deleted: 'It was deleted at the vendor.',
  vendor_preferred: 'An app sent it; a vendor’s own record wins over that.',
  shorter: 'It is shorter than the night.',
  older: 'It is as long as the night, and not captured later.',
};

/** One night with all records of its date, and why one of them was chosen. */
export function Night({ athleteId, date }: NightProps) {
  const query = useQuery({
    queryKey: ['sleep', athleteId, 'night', date],
    queryFn: () =>
      answerOf(api.GET('/v1/sleep/{date}', { ...onBehalfOf(athleteId), params: { path: { date } } })),
    meta: { changes: ['sleep.*'], athleteId },
  });
  return (
    <Card title={dayInWords(date)}>
      {query.error?.status === 404 ? (
        <Empty title="No vendor has a record of this night">
          A night appears under the date of waking, some hours after it ended.
        </Empty>
      ) : query.error && !query.data ? (
        <Failed problem={query.error} onRetry={query.refetch} />
      ) : (
        <Loaded query={query} lines={5}>
          {(night) => (
            <>
              <Facts
                facts={[
                  ['Asleep', <b key="asleep">{hours(night.duration_minutes)}</b>],
                  ['Score', night.quality_score ?? '–'],
                  ['Chosen', night.vendor ? vendorName(night.vendor) : 'no record can be the night'],
                ]}
              />
              <ol className="records">
                {night.records.map((record) => (
                  <Record key={`${record.provider} ${record.external_id}`} record={record} />
                ))}
              </ol>
            </>
          )}
        </Loaded>
      )}
    </Card>
  );
}

function Record({ record }: { readonly record: RecordItem }) {
  const { provider, start, end, duration_minutes, score, captured_at, is_chosen, reason } = record;
  return (
    <li
      className={is_chosen ? 'record is-chosen' : 'record'}
      data-provider={provider ?? ''}
      data-reason={reason}
    >
      <div className="record-head">
        <strong>{provider ? vendorName(provider) : 'From an app'}</strong>
        {is_chosen ? <Badge state="chosen" tone="good" /> : <Badge state={reason} tone="quiet" />}
      </div>
      <p>
        {hours(duration_minutes)}, {score === null ? 'no score' : `score ${score}`}. {REASONS[reason]}
      </p>
      <small>
        {start && end && (
          <>
            <Time at={start} /> to <Time at={end} />,{' '}
          </>
        )}
        captured <Time at={captured_at} />
      </small>
    </li>
  );
}
