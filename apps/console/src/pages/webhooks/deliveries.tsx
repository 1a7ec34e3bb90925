import { useMemo } from 'react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { answerOf, api, type Schema } from '../../app/api.js';
import { NO_EVENT_POLL_MS } from '../../app/attention.js';
import { usePaged } from '../../app/paged.js';
import { useSearchState } from '../../app/search-state.js';
import { optionOf } from '../../app/search.js';
import { count } from '../../format/numbers.js';
import { ActionButton } from '../../parts/action-button.js';
import { Badge } from '../../parts/badge.js';
import { Drawer } from '../../parts/drawer.js';
import { Filters } from '../../parts/filters.js';
import { Json } from '../../parts/json.js';
import { Card, Facts, Page } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { type Column, Table } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { type Endpoint, ENDPOINTS_KEY, endpointsQuery, healthOf, Switch } from './endpoint.js';

type Delivery = Schema<'DeliveryAnswer'>;

const STATES = ['pending', 'delivered', 'failed'] as const;
const route = getRouteApi('/signed-in/operators/webhooks/$id');

/** One endpoint and its deliveries, as long as they are kept. */
export function Deliveries() {
  const { id } = route.useParams();
  const [search, change] = useSearchState();
  const status = optionOf(search.status, STATES);
  const opened = search.delivery && /^\d{1,18}$/.test(search.delivery) ? search.delivery : undefined;
  const endpoints = useQuery({ ...endpointsQuery, refetchInterval: NO_EVENT_POLL_MS });
  const endpoint = endpoints.data?.items.find((one) => one.id === id);
  const isDisabled = endpoint?.status === 'disabled';
  const { query, rows, paging } = usePaged({
    queryKey: ['webhook-deliveries', id, status],
    read: (cursor) => {
      const params = { path: { id }, query: { cursor, status } };
      return answerOf(api.GET('/admin/webhook-endpoints/{id}/deliveries', { params }));
    },
    pollMs: NO_EVENT_POLL_MS,
    meta: { changes: ['overview'] },
  });
  const columns = useMemo(
    () => columnsOf(id, isDisabled, (row) => change({ delivery: row.id })),
    [id, isDisabled, change],
  );
  if (query.error?.status === 404) return <Gone />;
  return (
    <Page
      title={endpoint ? endpoint.description || endpoint.url : 'Endpoint'}
      about={<Link to="/webhooks">All endpoints</Link>}
      actions={endpoint && <Switch endpoint={endpoint} />}
    >
      {endpoint && <Health endpoint={endpoint} />}
      <Filters
        filters={[
          {
            kind: 'choice',
            name: 'status',
            label: 'State',
            options: STATES.map((state) => [state, state] as const),
          },
        ]}
      />
      <Card title="Deliveries" aside="newest first, kept for 30 days or more" isFlush>
        <Loaded query={query} lines={8}>
          {() => (
            <Table
              label="Deliveries"
              columns={columns}
              rows={rows}
              rowId={(row) => row.id}
              onOpen={(row) => change({ delivery: row.id })}
              paging={paging}
              empty={
                <Empty title={status ? `No delivery is ${status}` : 'There are no deliveries'}>
                  {status
                    ? 'Deliveries of other states may be there.'
                    : 'A delivery is made for each change of the types that the endpoint has subscribed to.'}
                </Empty>
              }
            />
          )}
        </Loaded>
      </Card>
      {opened && (
        <Detail
          key={opened}
          endpointId={id}
          isDisabled={isDisabled}
          id={opened}
          onClose={() => change({ delivery: undefined })}
        />
      )}
    </Page>
  );
}

function Gone() {
  return (
    <Page title="No such endpoint" about={<Link to="/webhooks">All endpoints</Link>}>
      <Card title="Endpoint">
        <Empty title="This endpoint is not here">Its app deleted it, or the address is mistyped.</Empty>
      </Card>
    </Page>
  );
}

function Health({ endpoint }: { readonly endpoint: Endpoint }) {
  return (
    <Card title="Health" aside={<Badge state={healthOf(endpoint)} />}>
      <Facts
        facts={[
          ['Address', <code key="url">{endpoint.url}</code>],
          ['Types', endpoint.types.join(', ')],
          ['Waiting', count(endpoint.pending)],
          ['Given up', count(endpoint.failed)],
          ['Last success', <Time key="success" at={endpoint.last_success_at} />],
          ...(endpoint.failing_since
            ? [
                [
                  'Failing',
                  <span key="failing">
                    {count(endpoint.failures)} attempts in a row, since <Time at={endpoint.failing_since} />
                  </span>,
                ] as const,
              ]
            : []),
          ...(endpoint.paused_until
            ? [
                [
                  'Paused',
                  <span key="paused">
                    the next delivery is tried <Time at={endpoint.paused_until} as="relative" />
                  </span>,
                ] as const,
              ]
            : []),
          ...(endpoint.disabled_reason ? [['Disabled', endpoint.disabled_reason] as const] : []),
        ]}
      />
    </Card>
  );
}

interface RedeliverProps {
  readonly endpointId: string;
  readonly delivery: Delivery;
  /** A disabled endpoint gets no deliveries. */
  readonly isDisabled: boolean;
}

function Redeliver({ endpointId, delivery, isDisabled }: RedeliverProps) {
  return (
    <ActionButton
      label={delivery.status === 'pending' ? 'Send now' : 'Send again'}
      isDisabled={isDisabled}
      run={async () => {
        const params = { path: { id: endpointId, delivery: delivery.id } };
        await answerOf(api.POST('/admin/webhook-endpoints/{id}/deliveries/{delivery}/redeliver', { params }));
      }}
      refreshes={[['webhook-deliveries', endpointId], ENDPOINTS_KEY]}
    />
  );
}

function columnsOf(
  endpointId: string,
  isDisabled: boolean,
  open: (delivery: Delivery) => void,
): ReadonlyArray<Column<Delivery>> {
  return [
    {
      id: 'type',
      header: 'Change',
      cell: (delivery) => (
        <button type="button" className="button-link" onClick={() => open(delivery)}>
          {delivery.type}
        </button>
      ),
    },
    { id: 'status', header: 'State', width: 100, cell: ({ status }) => <Badge state={status} /> },
    {
      id: 'attempts',
      header: 'Attempts',
      width: 84,
      align: 'end',
      isSecondary: true,
      isNamed: true,
      cell: ({ attempts }) => count(attempts),
    },
    {
      id: 'answer',
      header: 'Last answer',
      isSecondary: true,
      cell: ({ last_status, last_error, last_response }) => {
        const text = [last_status, last_error ?? last_response].filter(Boolean).join(' · ');
        return <span title={text}>{text || '–'}</span>;
      },
    },
    {
      id: 'next',
      header: 'Next attempt',
      width: 116,
      align: 'end',
      isSecondary: true,
      isNamed: true,
      cell: ({ next_attempt_at }) => <Time at={next_attempt_at} as="due" />,
    },
    {
      id: 'again',
      header: 'Action',
      width: 112,
      align: 'end',
      cell: (delivery) => <Redeliver endpointId={endpointId} delivery={delivery} isDisabled={isDisabled} />,
    },
  ];
}

interface DetailProps {
  readonly endpointId: string;
  readonly isDisabled: boolean;
  readonly id: string;
  readonly onClose: () => void;
}

/**
 * Shows one delivery. The API has no route for a single delivery, so this requests the page of one item that begins with it: a link to an old
 * delivery does not have to read the whole list.
 */
function Detail({ endpointId, isDisabled, id, onClose }: DetailProps) {
  const query = useQuery({
    queryKey: ['webhook-deliveries', endpointId, 'one', id],
    queryFn: () => {
      const params = { path: { id: endpointId }, query: { limit: 1, cursor: String(BigInt(id) + 1n) } };
      return answerOf(api.GET('/admin/webhook-endpoints/{id}/deliveries', { params }));
    },
    refetchInterval: NO_EVENT_POLL_MS,
  });
  const delivery = query.data?.items.find((one) => one.id === id);
  return (
    <Drawer
      title={delivery?.type ?? `Delivery ${id}`}
      onClose={onClose}
      actions={delivery && <Redeliver endpointId={endpointId} delivery={delivery} isDisabled={isDisabled} />}
    >
      <Loaded query={query} lines={6}>
        {() =>
          delivery ? (
            <Facts
              facts={[
                ['State', <Badge key="status" state={delivery.status} />],
                ['Change', <code key="change">{delivery.change_id}</code>],
                ['Attempts', count(delivery.attempts)],
                ['Last status', delivery.last_status ?? '–'],
                ['Last error', delivery.last_error ?? '–'],
                ['Next attempt', <Time key="next" at={delivery.next_attempt_at} as="due" />],
              ]}
            />
          ) : (
            <Empty title="There is no such delivery">Deliveries are kept for 30 days or more.</Empty>
          )
        }
      </Loaded>
      {delivery?.last_response && (
        <section>
          <h3>Last answer</h3>
          <Json value={delivery.last_response} label="Last answer" />
        </section>
      )}
    </Drawer>
  );
}
