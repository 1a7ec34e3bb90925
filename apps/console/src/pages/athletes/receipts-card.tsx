import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { answerOf, api, type Schema } from '../../app/api.js';
import { vendorName } from '../../format/vendors.js';
import { Badge } from '../../parts/badge.js';
import { Card } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { type Column, Table } from '../../parts/table.js';
import { Time } from '../../parts/time.js';

type Receipt = Schema<'ListedReceiptAnswer'>;

const COLUMNS: ReadonlyArray<Column<Receipt>> = [
  {
    id: 'what',
    header: 'What',
    cell: ({ id, what }) => (
      <Link to="/receipts/$id" params={{ id }}>
        {what === 'account' ? 'Account' : `${vendorName(what)} data`}
      </Link>
    ),
  },
  { id: 'status', header: 'State', width: 110, cell: ({ status }) => <Badge state={status} /> },
  {
    id: 'reason',
    header: 'Reason',
    width: 135,
    cell: ({ reason }) => reason,
    isSecondary: true,
  },
  { id: 'at', header: 'Requested', width: 140, cell: ({ requested_at }) => <Time at={requested_at} /> },
];

/** The proofs of what was deleted for one athlete. */
export function ReceiptsCard({ athleteId }: { readonly athleteId: string }) {
  const query = useQuery({
    queryKey: ['receipts', { athleteId }],
    queryFn: () => answerOf(api.GET('/admin/receipts', { params: { query: { athlete_id: athleteId } } })),
    meta: { changes: ['connection.removed', 'athlete.deleted'], athleteId },
  });
  return (
    <Card title="Receipts" isFlush>
      <Loaded query={query} lines={2}>
        {({ items }) => (
          <Table
            label="Receipts"
            columns={COLUMNS}
            rows={items}
            rowId={({ id }) => id}
            empty={
              <Empty title="Nothing was deleted">
                A disconnected vendor or a deleted athlete leaves a receipt, which is kept for
                RECEIPTS_RETENTION_DAYS, a year by default.
              </Empty>
            }
          />
        )}
      </Loaded>
    </Card>
  );
}
