import { jetstream, type JetStreamClient } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { Gauge } from 'prom-client';
import { DependencyUnavailable, NotFound } from '../errors/app-error.js';
import { type Link, natsFailure } from './connect.js';
import {
  type DeadLetter,
  type DeadLetterCause,
  type FailedMessage,
  headersOfDeadLetter,
  headersOfReplay,
  isMadeOf,
  type Letter,
  letterOf,
  originOf,
  readable,
  reasonOf,
  sourceSeqOf,
} from './dead-letter.js';
import { deleteMessages, type MessageRange, storedMessages } from './stored-messages.js';
import { CORE_STREAM, DLQ_STREAM } from './streams.js';

const TIMEOUT_MS = 1_500;
const ALL = 'dlq.>';
const READS_AT_ONCE = 50;

export interface DeadLetterPage {
  readonly items: readonly DeadLetter[];
  readonly next_cursor: string | null;
  /** Number of all dead letters by reason, not only of the dead letters on this page. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface SubjectFilter {
  readonly reason?: string;
  /** The subject of the dead letter, such as `dlq.normalize.sleep.raw-received.max-deliver`. */
  readonly subject?: string;
}

/** Selects the dead letters that match all given fields. Without any field, it selects all dead letters. */
export interface LetterFilter extends SubjectFilter {
  readonly seqs?: readonly number[];
}

interface Match {
  readonly matched: number;
  /** The newest dead letter when `match` ran. Later dead letters are not selected. */
  readonly upToSeq: number;
  /** Detects that the stream was deleted and created again. The sequences of the new stream begin at 1. */
  readonly streamCreated: string;
}

/**
 * The dead letters in the stream AA_DLQ: messages that could not be handled. Each is kept until an operator replays or discards it, or
 * until DLQ_RETENTION_DAYS have passed. The number of a discarded dead letter is not used again.
 *
 * The message that a replayed or discarded dead letter was made of is deleted, too. A NATS 2.9 that was killed may have lost its consumer's
 * place; it then delivers the stream again, and the message would become a dead letter once more.
 */
export class DeadLetters {
  private readonly js: JetStreamClient;

  constructor(
    private readonly connection: NatsConnection,
    private readonly link: Link,
  ) {
    this.js = jetstream(connection, { timeout: TIMEOUT_MS });
  }

  /**
   * Resolves once the stream has stored the dead letter. If the same consumer adds the same message again within two hours, the stream does
   * not store it again.
   */
  async add(prefix: string, dead: FailedMessage, cause: DeadLetterCause): Promise<void> {
    // A stream that was deleted and created again numbers its messages from 1, so the id contains the time.
    const msgID = `${dead.stream}-${dead.durable}-${dead.seq}-${dead.receivedAt.getTime()}`;
    const options = { msgID, headers: headersOfDeadLetter(dead, cause) };
    await this.request(() => this.js.publish(`${prefix}.${cause.reason}`, dead.bytes, options));
  }

  /**
   * Lists dead letters, oldest first. `after` is the sequence of the last dead letter that the caller has. A page of any length costs six
   * round trips. If several subjects fit a reason, the letters between them are read as well.
   */
  async list(after: number, limit: number, filter: SubjectFilter = {}): Promise<DeadLetterPage> {
    const { state } = await this.info();
    const subjects = state.subjects ?? {};
    const found = await this.firstOf(subjectsOf(subjects, filter), filter, {
      from: { seq: after + 1 },
      upToSeq: state.last_seq,
      batchSize: limit + 1,
    });
    const items = found.slice(0, limit).map(readable);
    const next_cursor = found.length > limit ? String(items.at(-1)?.seq) : null;
    return { items, next_cursor, counts: countsOf(subjects) };
  }

  async match(filter: LetterFilter): Promise<Match> {
    const { created, state } = await this.info();
    const upToSeq = state.last_seq;
    const matched = filter.seqs
      ? await this.matchOf(filter.seqs, filter)
      : sumOf(Object.entries(state.subjects ?? {}).filter(([subject]) => fits(filter, { subject })));
    return { matched, upToSeq, streamCreated: String(created) };
  }

  /**
   * Yields the selected dead letters in batches. `seenSeq` is the sequence up to which the stream has been read. Yields nothing if the
   * stream was created again since `match`.
   */
  async *matching(
    filter: LetterFilter,
    afterSeq: number,
    { upToSeq, streamCreated }: Pick<Match, 'upToSeq' | 'streamCreated'>,
  ): AsyncGenerator<{ readonly letters: readonly Letter[]; readonly seenSeq: number }> {
    const { created } = await this.info();
    if (String(created) !== streamCreated) return;
    const isSelected = selectorOf(filter);
    const range = { stream: DLQ_STREAM, subject: ALL, from: { seq: afterSeq + 1 }, upToSeq };
    for await (const batch of storedMessages(this.connection, range))
      yield { letters: batch.filter(isSelected), seenSeq: batch.at(-1)?.seq ?? afterSeq };
  }

  /**
   * Replays dead letters, deletes the replayed ones, and returns how many were replayed. A dead letter stays if it has no origin, or if the
   * stream of its origin refuses it. If a dead letter is replayed twice within two hours, that stream stores it once.
   *
   * Throws DependencyUnavailable if NATS did not answer for some of them. The others are replayed and deleted before.
   */
  async replayAll(letters: readonly Letter[]): Promise<number> {
    const results = await Promise.allSettled(letters.map((letter) => this.publishAgain(letter)));
    const published = letters.filter((_, index) => results[index]?.status === 'fulfilled');
    await this.discardAll(published);
    for (const result of results)
      if (result.status === 'rejected' && result.reason instanceof DependencyUnavailable) throw result.reason;
    return published.length;
  }

  /** Returns how many were deleted by this call. A dead letter that was already gone is not counted. */
  async discardAll(letters: readonly Letter[]): Promise<number> {
    await this.deleteSources(letters);
    const seqs = letters.map(({ seq }) => seq);
    return this.request(() => deleteMessages(this.connection, DLQ_STREAM, seqs));
  }

  async find(seq: number): Promise<DeadLetter> {
    return readable(await this.get(seq));
  }

  /** Publishes the bytes as a new message on the original subject, then deletes the dead letter. */
  async replay(seq: number): Promise<void> {
    const letter = await this.get(seq);
    await this.publishAgain(letter);
    await this.remove(letter);
  }

  async discard(seq: number): Promise<void> {
    await this.remove(await this.get(seq));
  }

  /** Counts dead letters by reason; undefined while NATS does not answer. */
  async countByReason(): Promise<ReadonlyMap<string, number> | undefined> {
    if (!this.link.isUp()) return undefined;
    try {
      const { state } = await this.info();
      return new Map(Object.entries(countsOf(state.subjects ?? {})));
    } catch {
      return undefined;
    }
  }

  /** The first letters of the range that fit, at least `batchSize` unless there are fewer. */
  private async firstOf(
    subjects: readonly string[],
    filter: SubjectFilter,
    range: Required<Pick<MessageRange, 'from' | 'upToSeq' | 'batchSize'>>,
  ): Promise<readonly Letter[]> {
    if (subjects.length === 0) return [];
    // A consumer of NATS 2.9 has one subject.
    const subject = subjects.length === 1 ? (subjects[0] as string) : ALL;
    const found: Letter[] = [];
    for await (const batch of storedMessages(this.connection, { ...range, stream: DLQ_STREAM, subject })) {
      found.push(...batch.filter((letter) => fits(filter, letter)));
      if (found.length >= range.batchSize) break;
    }
    return found;
  }

  private info() {
    return this.request(async () =>
      (await this.manager()).streams.info(DLQ_STREAM, { subjects_filter: '>' }),
    );
  }

  private async matchOf(seqs: readonly number[], filter: LetterFilter): Promise<number> {
    const left = [...new Set(seqs)];
    let matched = 0;
    const countNext = async () => {
      for (let seq = left.pop(); seq !== undefined; seq = left.pop()) {
        const letter = await this.stored({ seq });
        if (letter && fits(filter, letter)) matched += 1;
      }
    };
    await Promise.all(Array.from({ length: READS_AT_ONCE }, countNext));
    return matched;
  }

  private async publishAgain(letter: Letter): Promise<void> {
    const { seq, time, data } = letter;
    const subject = originOf(letter);
    if (!subject) throw new NotFound('This dead letter does not say where it came from');
    // A repeated replay has the same id. The id contains the time, because a stream that was created again uses the same sequences again.
    const options = { msgID: `dlq-replay-${seq}-${time.getTime()}`, headers: headersOfReplay(letter) };
    await this.request(() => this.js.publish(subject, data, options));
  }

  /** Succeeds also if another operator removed the dead letter first. */
  private async remove(letter: Letter): Promise<void> {
    const { seq } = letter;
    await this.deleteSources([letter]);
    try {
      await this.request(async () => (await this.manager()).streams.deleteMessage(DLQ_STREAM, seq));
    } catch (error) {
      if (await this.stored({ seq })) throw error;
    }
  }

  private async deleteSources(letters: readonly Letter[]): Promise<void> {
    // Dead letters of a former stream may name the same sequence. The newest one wins: only its message can still be there.
    const bySource = new Map(letters.map((letter) => [sourceSeqOf(letter), letter]));
    const seqs = [...bySource.keys()].filter((seq) => seq !== undefined);
    await this.request(() =>
      deleteMessages(this.connection, CORE_STREAM, seqs, (message) => {
        const letter = bySource.get(message.seq);
        return letter !== undefined && isMadeOf(letter, message);
      }),
    );
  }

  private async get(seq: number): Promise<Letter> {
    const letter = await this.stored({ seq });
    if (!letter) throw new NotFound('No such dead letter');
    return letter;
  }

  private async stored(query: { seq: number }): Promise<Letter | undefined> {
    const message = await this.request(async () =>
      (await this.manager()).streams.getMessage(DLQ_STREAM, query),
    );
    return message ? letterOf(message) : undefined;
  }

  private manager() {
    return this.js.jetstreamManager(false);
  }

  private async request<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      throw natsFailure(error);
    }
  }
}

const fits = ({ reason, subject }: SubjectFilter, letter: Pick<Letter, 'subject'>) =>
  (subject === undefined || letter.subject === subject) &&
  (reason === undefined || reasonOf(letter.subject) === reason);

const subjectsOf = (counts: Readonly<Record<string, number>>, filter: SubjectFilter) =>
  Object.keys(counts).filter((subject) => fits(filter, { subject }));

function countsOf(bySubject: Readonly<Record<string, number>>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [subject, count] of Object.entries(bySubject))
    counts[reasonOf(subject)] = (counts[reasonOf(subject)] ?? 0) + count;
  return counts;
}

function selectorOf(filter: LetterFilter): (letter: Letter) => boolean {
  const seqs = filter.seqs && new Set(filter.seqs);
  return (letter) => fits(filter, letter) && (!seqs || seqs.has(letter.seq));
}

const sumOf = (counts: ReadonlyArray<[string, number]>) => counts.reduce((sum, [, count]) => sum + count, 0);

// An alert on the growth of a series needs its 0. Other reasons appear with their first dead letter.
const REASONS = ['schema-invalid', 'max-deliver', 'non-retryable'];

type CountByReason = () => Promise<ReadonlyMap<string, number> | undefined>;

let count: CountByReason | undefined;

new Gauge({
  name: 'dlq_messages',
  help: 'Dead letters in AA_DLQ by reason',
  labelNames: ['reason'],
  async collect() {
    // Absent while NATS does not answer: an old number would look like a new one.
    this.reset();
    const counts = await count?.();
    if (!counts) return;
    for (const reason of REASONS) this.set({ reason }, 0);
    for (const [reason, number] of counts) this.set({ reason }, number);
  },
});

/** Sets the function that each scrape calls. */
export function observeDeadLetters(countByReason: CountByReason): void {
  count = countByReason;
}
