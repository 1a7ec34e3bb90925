import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { NO_EVENT_POLL_MS, useAttention } from '../../app/attention.js';
import { count, counted } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Card, Page } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { type Column, Table } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { type Endpoint, ENDPOINTS_KEY, endpointsQuery, healthOf, Switch } from './endpoint.js';

/** Endpoints of apps, with the health of their deliveries. */
export function Webhooks() {
  const navigate = useNavigate();
  useAttention('failing_endpoints', ENDPOINTS_KEY);
  const query = useQuery({ ...endpointsQuery, refetchInterval: NO_EVENT_POLL_MS });
  const items = query.data?.items ?? [];
  const failing = items.filter((endpoint) => healthOf(endpoint) === 'failing').length;
  return (
    <Page title="Webhooks" about="Apps’ endpoints that changes are posted to.">
      <Card
        title="Endpoints"
        aside={
          failing > 0
            ? `${count(failing)} of ${count(items.length)} failing`
            : counted(items.length, 'endpoint')
        }
        isFlush
      >
        <Loaded query={query}>
          {(answer) => (
            <Table
              label="Endpoints"
              columns={COLUMNS}
              rows={answer.items}
              rowId={({ id }) => id}
              onOpen={({ id }) => void navigate({ to: '/webhooks/$id', params: { id } })}
              empty={
                <Empty title="There are no endpoints">
                  An app creates one with its service key: POST /v1/webhook-endpoints.
                </Empty>
              }
            />
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

const COLUMNS: ReadonlyArray<Column<Endpoint>> = [
  {
    id: 'url',
    header: 'Endpoint',
    sortBy: ({ url }) => url,
    cell: ({ id, url, description }) => (
      <Link to="/webhooks/$id" params={{ id }} title={url}>
        {description || url}
      </Link>
    ),
  },
  {
    id: 'address',
    header: 'Address',
    isWideOnly: true,
    cell: ({ url }) => <code title={url}>{url}</code>,
  },
  {
    id: 'state',
    header: 'State',
    width: 100,
    sortBy: healthOf,
    cell: (endpoint) => <Badge state={healthOf(endpoint)} />,
  },
  {
    id: 'pending',
    header: 'Waiting',
    width: 88,
    align: 'end',
    isSecondary: true,
    isNamed: true,
    sortBy: ({ pending }) => pending,
    cell: ({ pending }) => count(pending),
  },
  {
    id: 'failed',
    header: 'Given up',
    width: 88,
    align: 'end',
    isSecondary: true,
    isNamed: true,
    sortBy: ({ failed }) => failed,
    cell: ({ failed }) => count(failed),
  },
  {
    id: 'success',
    header: 'Last success',
    width: 116,
    align: 'end',
    isSecondary: true,
    isNamed: true,
    sortBy: ({ last_success_at }) => last_success_at,
    cell: ({ last_success_at }) => <Time at={last_success_at} as="relative" />,
  },
  {
    id: 'switch',
    header: 'Action',
    width: 96,
    align: 'end',
    cell: (endpoint) => <Switch endpoint={endpoint} />,
  },
];
