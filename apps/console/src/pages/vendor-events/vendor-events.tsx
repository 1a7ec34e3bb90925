import { answerOf, api, type Schema } from '../../app/api.js';
import { NO_EVENT_POLL_MS, useAttention } from '../../app/attention.js';
import { usePaged } from '../../app/paged.js';
import { useSearchState } from '../../app/search-state.js';
import { optionOf } from '../../app/search.js';
import { count } from '../../format/numbers.js';
import { vendorName, vendorsWith } from '../../format/vendors.js';
import { ActionButton } from '../../parts/action-button.js';
import { Badge } from '../../parts/badge.js';
import { Filters } from '../../parts/filters.js';
import { Card, Page } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { type Column, Table } from '../../parts/table.js';
import { Time } from '../../parts/time.js';

type VendorEvent = Schema<'WebhookEventAnswer'>;

const KEY = ['vendor-events'];
const STATES = ['waiting', 'set_aside'] as const;

/** Vendors' webhooks that wait in the inbox, or were set aside after their last attempt. */
export function VendorEvents() {
  const [search] = useSearchState();
  const vendors = vendorsWith();
  const vendor = optionOf(search.vendor, vendors);
  const status = optionOf(search.status, STATES);
  useAttention('webhook_events_set_aside', KEY);
  const { query, rows, paging } = usePaged({
    queryKey: [...KEY, vendor, status],
    read: (cursor) =>
      answerOf(api.GET('/admin/webhook-events', { params: { query: { cursor, vendor, status } } })),
    pollMs: NO_EVENT_POLL_MS,
    meta: { changes: ['overview'] },
  });
  const isFiltered = vendor !== undefined || status !== undefined;
  return (
    <Page
      title="Vendor events"
      about="Webhooks of the vendors that were answered and are still to be handled. After its last attempt an event is set aside for WEBHOOK_EVENTS_RETENTION_DAYS."
    >
      <Filters
        filters={[
          {
            kind: 'choice',
            name: 'vendor',
            label: 'Vendor',
            options: vendors.map((id) => [id, vendorName(id)] as const),
          },
          {
            kind: 'choice',
            name: 'status',
            label: 'State',
            options: [
              ['set_aside', 'Set aside'],
              ['waiting', 'Waiting'],
            ],
          },
        ]}
      />
      <Card title="Events" aside="oldest first" isFlush>
        <Loaded query={query}>
          {() => (
            <Table
              label="Vendor events"
              columns={COLUMNS}
              rows={rows}
              rowId={({ id }) => id}
              paging={paging}
              empty={
                <Empty title={isFiltered ? 'No event matches' : 'All events are handled'}>
                  {isFiltered
                    ? 'Other vendors and states may have some.'
                    : 'A vendor’s webhook is here from its arrival until it is handled, usually less than a second.'}
                </Empty>
              }
            />
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

const COLUMNS: ReadonlyArray<Column<VendorEvent>> = [
  { id: 'vendor', header: 'Vendor', width: 84, cell: ({ vendor }) => vendorName(vendor) },
  {
    id: 'object',
    header: 'Object',
    isSecondary: true,
    cell: ({ object_type, object_id, aspect, owner_id }) => (
      <span title={`${object_type} ${object_id} of the vendor’s athlete ${owner_id}`}>
        {object_type} {aspect} <code>{object_id}</code>
      </span>
    ),
  },
  {
    id: 'status',
    header: 'State',
    width: 104,
    cell: ({ status }) => <Badge state={status} tone={status === 'set_aside' ? 'bad' : 'waiting'} />,
  },
  {
    id: 'error',
    header: 'Last error',
    isSecondary: true,
    cell: ({ last_error }) => <span title={last_error ?? undefined}>{last_error ?? '–'}</span>,
  },
  {
    id: 'attempts',
    header: 'Attempts',
    width: 84,
    align: 'end',
    isWideOnly: true,
    cell: ({ attempts }) => count(attempts),
  },
  {
    id: 'received',
    header: 'Received',
    width: 112,
    align: 'end',
    isWideOnly: true,
    cell: ({ received_at }) => <Time at={received_at} as="relative" />,
  },
  { id: 'next', header: 'Next', width: 120, align: 'end', cell: (event) => <Next event={event} /> },
];

function Next({ event: { id, status, next_attempt_at } }: { readonly event: VendorEvent }) {
  if (status !== 'set_aside') return <Time at={next_attempt_at} as="due" />;
  return (
    <ActionButton
      label="Try again"
      run={async () => {
        const params = { path: { id: Number(id) } };
        await answerOf(api.POST('/admin/webhook-events/{id}/retry', { params }));
      }}
      refreshes={[KEY]}
    />
  );
}
