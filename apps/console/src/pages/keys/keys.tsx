import { answerOf, api, type Schema } from '../../app/api.js';
import { usePaged } from '../../app/paged.js';
import { useSearchState } from '../../app/search-state.js';
import { ActionButton } from '../../parts/action-button.js';
import { Badge } from '../../parts/badge.js';
import { Card, Page } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { type Column, Table } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { NewKey } from './new-key.js';
import './keys.css';

type Key = Schema<'KeyItem'>;

const KEY = ['keys'];

/** Service keys of apps. A revoked key stays in the list. */
export function Keys() {
  const [search, change] = useSearchState();
  const { query, rows, paging } = usePaged({
    queryKey: KEY,
    read: (cursor) => answerOf(api.GET('/admin/keys', { params: { query: { cursor } } })),
    meta: { changes: ['overview'] },
  });
  const create = (
    <button type="button" className="button button-main" onClick={() => change({ create: 'key' })}>
      Create a key
    </button>
  );
  return (
    <Page title="Keys" about="Service keys let an app’s server act for its athletes." actions={create}>
      <Card title="Service keys" aside="newest first" isFlush>
        <Loaded query={query}>
          {() => (
            <Table
              label="Service keys"
              columns={COLUMNS}
              rows={rows}
              rowId={({ id }) => id}
              paging={paging}
              empty={
                <Empty title="There are no keys">
                  An app needs one to read athletes’ data, to get changes, or to send nights.
                </Empty>
              }
            />
          )}
        </Loaded>
      </Card>
      {search.create === 'key' && <NewKey listKey={KEY} onClose={() => change({ create: undefined })} />}
    </Page>
  );
}

const COLUMNS: ReadonlyArray<Column<Key>> = [
  {
    id: 'name',
    header: 'Name',
    sortBy: ({ name }) => name,
    cell: ({ name }) => <span title={name}>{name}</span>,
  },
  { id: 'scopes', header: 'Scopes', width: 250, isSecondary: true, cell: ({ scopes }) => scopes.join(', ') },
  {
    id: 'state',
    header: 'State',
    width: 90,
    cell: ({ revoked_at }) => <Badge state={revoked_at ? 'revoked' : 'active'} />,
  },
  {
    id: 'created',
    header: 'Created',
    width: 150,
    align: 'end',
    isWideOnly: true,
    sortBy: ({ created_at }) => created_at,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
  {
    id: 'used',
    header: 'Last use',
    width: 116,
    align: 'end',
    isSecondary: true,
    isNamed: true,
    sortBy: ({ last_used_at }) => last_used_at,
    cell: ({ last_used_at }) => <Time at={last_used_at} as="relative" />,
  },
  {
    id: 'action',
    header: 'Action',
    width: 160,
    align: 'end',
    cell: (key) =>
      key.revoked_at ? (
        <span className="hint">
          revoked <Time at={key.revoked_at} as="relative" />
        </span>
      ) : (
        <Revoke apiKey={key} />
      ),
  },
];

function Revoke({ apiKey: { id, name } }: { readonly apiKey: Key }) {
  return (
    <ActionButton
      label="Revoke"
      tone="danger"
      run={async () => {
        await answerOf(api.DELETE('/admin/keys/{id}', { params: { path: { id } } }));
      }}
      refreshes={[KEY]}
      confirm={{
        title: `Revoke the key “${name}”`,
        phrase: name,
        text: 'All requests with this key are refused within five seconds. A revoked key cannot be used again.',
      }}
    />
  );
}
