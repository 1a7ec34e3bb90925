import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { answerOf, api, type Schema } from '../../app/api.js';
import { NO_EVENT_POLL_MS, useAttention } from '../../app/attention.js';
import { usePaged } from '../../app/paged.js';
import { useSearchState } from '../../app/search-state.js';
import { textOf } from '../../app/search.js';
import { count, counted } from '../../format/numbers.js';
import { ActionButton } from '../../parts/action-button.js';
import { Filters, optionsWith } from '../../parts/filters.js';
import { Card, Page } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { type Column, Table } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { DeadLetter } from './dead-letter.js';
import './dead-letters.css';

const LETTERS_KEY = ['dead-letters'];

type Letter = Schema<'DeadLetterAnswer'>;
type LettersFilter = Schema<'LettersFilter'>;

const PAGE_SIZE = 100;
// As the API allows.
const MOST_SEQS = 1000;

/** The counts of all reasons. They come with any page, so the shortest is read. */
function useCounts(): ReadonlyArray<readonly [reason: string, letters: number]> {
  const { data } = useQuery({
    queryKey: [...LETTERS_KEY, 'counts'],
    queryFn: () => answerOf(api.GET('/admin/dlq', { params: { query: { limit: 1 } } })),
    meta: { changes: ['overview'] },
  });
  return Object.entries(data?.counts ?? {}).sort(([, a], [, b]) => b - a);
}

/** Messages that a consumer could not process: filtered, read, replayed and discarded. */
export function DeadLetters() {
  const [search, change] = useSearchState();
  const reason = textOf(search.reason);
  const subject = textOf(search.subject);
  const seq = Number(search.seq);
  const counts = useCounts();
  const [selected, select] = useState<ReadonlySet<string>>(new Set());
  useAttention('dead_letters', LETTERS_KEY);
  const { query, rows, paging } = usePaged({
    queryKey: [...LETTERS_KEY, reason, subject],
    read: (cursor) => {
      const params = { query: { limit: PAGE_SIZE, cursor, reason, subject } };
      return answerOf(api.GET('/admin/dlq', { params }));
    },
    // A letter that fails again after its replay is a new letter; then the number stays.
    pollMs: NO_EVENT_POLL_MS,
    meta: { changes: ['overview'] },
  });
  const seqs = useMemo(
    () => rows.filter((row) => selected.has(String(row.seq))).map((row) => row.seq),
    [rows, selected],
  );
  const columns = useMemo(() => columnsOf((opened) => change({ seq: String(opened) })), [change]);
  return (
    <Page
      title="Dead letters"
      about="Messages that could not be processed. A replay gives them back to their consumer; a discarded message is lost."
    >
      <Reasons counts={counts} reason={reason} />
      <Filters
        filters={[
          {
            kind: 'choice',
            name: 'reason',
            label: 'Reason',
            options: optionsWith(
              reason,
              counts.map(([name]) => name),
            ),
          },
          { kind: 'text', name: 'subject', label: 'Subject', hint: 'dlq.normalize.sleep…' },
        ]}
      />
      <Card
        title={seqs.length > 0 ? `${count(seqs.length)} selected` : 'Messages'}
        aside={
          seqs.length > 0 ? (
            <BulkActions filter={{ seqs }} what={counted(seqs.length, 'letter')} />
          ) : (
            'oldest first'
          )
        }
        isFlush
      >
        <Loaded query={query} lines={10}>
          {() => (
            <Table
              label="Dead letters"
              columns={columns}
              rows={rows}
              rowId={(letter) => String(letter.seq)}
              onOpen={(letter) => change({ seq: String(letter.seq) })}
              selection={{ ids: selected, change: select }}
              paging={paging}
              empty={
                <Empty title={reason || subject ? 'No dead letter matches' : 'There are no dead letters'}>
                  {reason || subject
                    ? 'Other reasons and subjects may have some.'
                    : 'A message comes here when its consumer cannot read it, or has used up its attempts.'}
                </Empty>
              }
            />
          )}
        </Loaded>
      </Card>
      {seq > 0 && <DeadLetter key={seq} seq={seq} onClose={() => change({ seq: undefined })} />}
    </Page>
  );
}

interface ReasonsProps {
  readonly counts: ReadonlyArray<readonly [reason: string, letters: number]>;
  readonly reason: string | undefined;
}

function Reasons({ counts, reason }: ReasonsProps) {
  const [, change] = useSearchState();
  if (counts.length === 0) return null;
  const total = counts.reduce((sum, [, letters]) => sum + letters, 0);
  return (
    <Card title="Reasons" aside={counted(total, 'letter')}>
      <ul className="reasons">
        {counts.map(([name, letters]) => (
          <li key={name}>
            <button
              type="button"
              className="button-link"
              aria-pressed={name === reason}
              onClick={() => change({ reason: name === reason ? undefined : name })}
            >
              {name}
            </button>
            <b>{count(letters)}</b>
            <BulkActions filter={{ reason: name }} what={`all ${count(letters)} of ${name}`} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

interface BulkActionsProps {
  readonly filter: LettersFilter;
  readonly what: string;
}

function BulkActions({ filter, what }: BulkActionsProps) {
  return (
    <span className="actions">
      <ActionButton
        label={filter.seqs ? `Replay ${filter.seqs.length}` : 'Replay all'}
        run={() => order('/admin/dlq/replay', filter)}
        refreshes={[LETTERS_KEY]}
      />
      <ActionButton
        label={filter.seqs ? `Discard ${filter.seqs.length}` : 'Discard all'}
        tone="danger"
        run={() => order('/admin/dlq/discard', filter)}
        refreshes={[LETTERS_KEY]}
        confirm={{
          title: `Discard ${what}`,
          phrase: filter.reason ?? 'discard',
          text: 'The messages are deleted and cannot be brought back.',
        }}
      />
    </span>
  );
}

async function order(
  path: '/admin/dlq/replay' | '/admin/dlq/discard',
  filter: LettersFilter,
): Promise<string> {
  let ordered = 0;
  for (const body of ordersOf(filter)) ordered += (await answerOf(api.POST(path, { body }))).matched;
  return `${counted(ordered, 'letter')} ordered`;
}

/** More letters than one order may name become several orders. */
function ordersOf({ seqs, ...filter }: LettersFilter): LettersFilter[] {
  if (!seqs) return [filter];
  const count = Math.ceil(seqs.length / MOST_SEQS);
  return Array.from({ length: count }, (_, index) => ({
    ...filter,
    seqs: seqs.slice(index * MOST_SEQS, (index + 1) * MOST_SEQS),
  }));
}

function columnsOf(open: (seq: number) => void): ReadonlyArray<Column<Letter>> {
  return [
    {
      id: 'seq',
      header: 'No.',
      width: 64,
      align: 'end',
      cell: ({ seq }) => (
        <button type="button" className="button-link" onClick={() => open(seq)}>
          {seq}
        </button>
      ),
    },
    { id: 'reason', header: 'Reason', width: 130, cell: ({ reason }) => reason },
    {
      id: 'subject',
      header: 'Subject',
      isWideOnly: true,
      cell: ({ subject }) => <code title={subject}>{subject}</code>,
    },
    {
      id: 'error',
      header: 'Error',
      isSecondary: true,
      cell: ({ error }) => <span title={error ?? undefined}>{error ?? '–'}</span>,
    },
    {
      id: 'attempts',
      header: 'Attempts',
      width: 84,
      align: 'end',
      isSecondary: true,
      isNamed: true,
      cell: ({ attempts }) => attempts ?? '–',
    },
    { id: 'at', header: 'Since', width: 112, align: 'end', cell: ({ at }) => <Time at={at} as="relative" /> },
  ];
}
