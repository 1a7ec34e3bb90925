import { type Schema } from '../../app/api.js';
import { count, counted } from '../../format/numbers.js';
import { progressSentence } from '../../format/sentences.js';
import { leftOf } from '../../format/stream-counts.js';
import { moment } from '../../format/time.js';
import { limitName, vendorName } from '../../format/vendors.js';
import { type Tone } from '../../parts/badge.js';

type State = Schema<'ObservabilityAnswer'>;
type Import = Pick<Schema<'ListedImportAnswer'>, 'retry_after' | 'eta'>;
type Counter = State['budgets'][number]['counters'][number];

/** The answer to one question of an operator. */
export interface Answer {
  readonly tone: Tone;
  readonly answer: string;
  readonly detail: string;
}

interface NamedCounter extends Counter {
  readonly name: string;
}

function countersOf(budgets: State['budgets']): NamedCounter[] {
  return budgets.flatMap(({ provider, counters }) =>
    counters.map((counter) => ({
      ...counter,
      name: `${vendorName(provider)}, ${limitName(counter)}`,
    })),
  );
}

const shareOf = ({ used, limit }: Counter) => used / Math.max(limit, 1);

/** Says whether calls are within the limits. */
export function limitsAnswer(budgets: State['budgets'], now: Date, timeZone?: string): Answer {
  const counters = countersOf(budgets).sort((a, b) => shareOf(b) - shareOf(a));
  const at = (time: string) => moment(new Date(time), now, timeZone);
  const closed = counters.find(({ closed_until: until }) => until && new Date(until) > now);
  if (closed?.closed_until)
    return {
      tone: 'bad',
      answer: 'A vendor answered 429',
      detail: `${closed.name}: no call before ${at(closed.closed_until)}`,
    };
  const full = counters.find(({ remaining, used }) => remaining === 0 && used > 0);
  if (full)
    return {
      tone: 'waiting',
      answer: 'A limit is used up',
      detail: `${full.name}: calls wait until ${at(full.resets_at)}`,
    };
  const [most] = counters;
  return {
    tone: 'good',
    answer: 'Within all limits',
    detail: most?.used
      ? `Most used: ${most.name}: ${count(most.used)} of ${count(most.limit)}`
      : 'No calls are counted in any window',
  };
}

/** Says which work is unfinished, and until when. */
export function waitingAnswer(
  state: State,
  imports: readonly Import[],
  now: Date,
  timeZone?: string,
): Answer {
  const left = leftOf(state.status_distribution);
  const athletes = state.backfill.filter((each) => leftOf(each) > 0);
  if (left === 0 && imports.length === 0)
    return { tone: 'good', answer: 'Nothing waits', detail: 'No import and no backfill is unfinished' };
  const parts = [
    imports.length > 0 && counted(imports.length, 'import'),
    left > 0 && `${counted(left, 'stream')} of ${counted(athletes.length, 'athlete')}`,
  ].filter(Boolean);
  if (state.backfills_paused && left > 0)
    return { tone: 'waiting', answer: 'Backfills are paused', detail: `${parts.join(' and ')} wait` };
  const ends = [...imports, ...athletes].map(({ eta }) => eta);
  const resumes = imports.flatMap(({ retry_after: at }) => (at ? [at] : [])).sort();
  // One unknown end makes the end of all unknown.
  const doneBy = ends.every((end) => typeof end === 'string') ? ends.sort().at(-1) : null;
  return {
    tone: 'busy',
    answer: parts.join(' and '),
    detail: progressSentence({ resumesAt: resumes[0], doneBy }, now, timeZone) || 'The end is not known yet',
  };
}

/** Says which work failed, and why. `reason` is the most frequent one of failed streams. */
export function failedAnswer(state: State, reason: string | undefined): Answer {
  const { failed } = state.status_distribution;
  const {
    dead_letters: letters,
    webhook_events_set_aside: events,
    stuck_failed: stuck,
  } = state.needs_attention;
  const parts = [
    failed > 0 && counted(failed, 'stream'),
    letters && counted(letters, 'message'),
    events > 0 && counted(events, 'vendor event'),
  ].filter(Boolean);
  if (parts.length === 0)
    return { tone: 'good', answer: 'Nothing has failed', detail: 'No stream, no message, no vendor event' };
  const needsPerson = stuck > 0 || (letters ?? 0) > 0 || events > 0;
  return {
    tone: needsPerson ? 'bad' : 'waiting',
    answer: `${parts.join(', ')} failed`,
    detail:
      reason ??
      (failed > 0 ? 'Streams are retried by themselves, a few times' : 'A replay or a retry is possible'),
  };
}

/** Names the first of the `matters` that the list below has with their buttons. */
export function personAnswer(matters: readonly string[]): Answer {
  const [first] = matters;
  if (first === undefined)
    return { tone: 'good', answer: 'Nothing needs a person', detail: 'All the rest goes on by itself' };
  return {
    tone: 'bad',
    answer:
      matters.length === 1 ? '1 matter needs a person' : `${count(matters.length)} matters need a person`,
    detail: first,
  };
}
