import { useMemo } from 'react';
import { useQuery } from '@tanstack/react-query';
import { answerOf, api, type Schema } from '../../app/api.js';
import { NO_EVENT_POLL_MS } from '../../app/attention.js';
import { usePaged } from '../../app/paged.js';
import { useSearchState } from '../../app/search-state.js';
import { optionOf, type Search, textOf } from '../../app/search.js';
import { Drawer } from '../../parts/drawer.js';
import { Filters } from '../../parts/filters.js';
import { Json } from '../../parts/json.js';
import { Card, Facts, Page } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { type Column, Table } from '../../parts/table.js';
import { Time } from '../../parts/time.js';

type Action = Schema<'OperatorActionAnswer'>;

const KIND = { actions: 'action', reads: 'read', all: undefined } as const;
const SHOWN = [
  ['reads', 'Reads of athletes’ data'],
  ['all', 'Actions and reads'],
] as const;

/** Operators' actions. An action is recorded before it is carried out. */
export function Audit() {
  const [search, change] = useSearchState();
  const actor = textOf(search.actor);
  const action = textOf(search.action);
  const shown = optionOf(search.show, ['reads', 'all']) ?? 'actions';
  const { query, rows, paging } = usePaged({
    queryKey: ['audit', actor, action, shown],
    read: (cursor) =>
      answerOf(
        api.GET('/admin/audit', {
          params: { query: { cursor, actor, action, kind: KIND[shown] } },
        }),
      ),
    pollMs: NO_EVENT_POLL_MS,
    meta: { changes: ['overview'] },
  });
  const columns = useMemo(() => columnsOf(change), [change]);
  const isFiltered = Boolean(actor || action) || shown === 'reads';
  const opened = search.id && /^\d{1,18}$/.test(search.id) ? search.id : undefined;
  return (
    <Page
      title="Audit"
      about="Operators’ actions of the last year. An action is recorded before it is carried out, so it may have failed."
    >
      <Filters
        filters={[
          { kind: 'choice', name: 'show', label: 'Show', options: SHOWN, first: 'Actions' },
          { kind: 'text', name: 'actor', label: 'Operator', hint: 'The whole subject' },
          { kind: 'text', name: 'action', label: 'Action', hint: 'dlq.replay' },
        ]}
      />
      <Card title="Actions" aside="newest first" isFlush>
        <Loaded query={query} lines={10}>
          {() => (
            <Table
              label="Actions"
              columns={columns}
              rows={rows}
              rowId={({ id }) => id}
              onOpen={({ id }) => change({ id })}
              paging={paging}
              empty={
                <Empty title={isFiltered ? 'No action matches' : 'No operator has acted'}>
                  {isFiltered
                    ? 'The filters compare the whole text.'
                    : 'Resets, replays, new keys and requests on behalf of athletes are listed here.'}
                </Empty>
              }
            />
          )}
        </Loaded>
      </Card>
      {opened && <Detail key={opened} id={opened} onClose={() => change({ id: undefined })} />}
    </Page>
  );
}

function columnsOf(change: (search: Search) => void): ReadonlyArray<Column<Action>> {
  return [
    {
      id: 'at',
      header: 'Time',
      width: 150,
      cell: ({ id, at }) => (
        <button type="button" className="button-link" onClick={() => change({ id })}>
          <Time at={at} />
        </button>
      ),
    },
    { id: 'action', header: 'Action', width: 230, cell: ({ action }) => <code>{action}</code> },
    {
      id: 'actor',
      header: 'Operator',
      isSecondary: true,
      cell: ({ actor }) => <code title={actor}>{actor}</code>,
    },
    {
      id: 'target',
      header: 'About',
      isSecondary: true,
      cell: ({ target }) => <code title={target}>{target}</code>,
    },
    {
      id: 'detail',
      header: 'Detail',
      isWideOnly: true,
      cell: ({ detail }) => <code>{Object.keys(detail).length > 0 ? JSON.stringify(detail) : '–'}</code>,
    },
  ];
}

interface DetailProps {
  readonly id: string;
  readonly onClose: () => void;
}

/** One action. The list before the next id begins with it, so that a link to an old action needs no long list. */
function Detail({ id, onClose }: DetailProps) {
  const query = useQuery({
    queryKey: ['audit-action', id],
    queryFn: () => {
      const params = { query: { limit: 1, cursor: String(BigInt(id) + 1n) } };
      return answerOf(api.GET('/admin/audit', { params }));
    },
    meta: { changes: ['overview'] },
  });
  return (
    <Drawer title={`Action ${id}`} onClose={onClose}>
      <Loaded query={query}>
        {({ items: [action] }) =>
          action?.id === id ? (
            <>
              <Facts
                facts={[
                  ['Action', <code key="action">{action.action}</code>],
                  ['Time', <Time key="at" at={action.at} />],
                  ['Operator', <code key="actor">{action.actor}</code>],
                  ['About', <code key="target">{action.target}</code>],
                ]}
              />
              <section>
                <h3>Detail</h3>
                <Json value={action.detail} label="Detail" />
              </section>
            </>
          ) : (
            <Empty title="There is no such action">
              Actions are kept for AUDIT_RETENTION_DAYS, a year by default.
            </Empty>
          )
        }
      </Loaded>
    </Drawer>
  );
}
