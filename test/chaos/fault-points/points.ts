import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';

/** A place in a flow at which a process kills itself, as a method of the product. */
export interface FaultPoint {
  readonly flow: FlowName;
  readonly name: string;
  readonly process: 'api' | 'worker';
  /** File below dist/libs without its ending, then class and method. */
  readonly at: readonly [file: string, className: string, method: string];
  readonly when: 'before' | 'after';
  /** The process is killed at this pass. */
  readonly pass: number;
}

export type FlowName =
  | 'import'
  | 'activity upsert'
  | 'webhook event'
  | 'stream fetch'
  | 'processing run'
  | 'sleep normalise'
  | 'relay to NATS'
  | 'webhook delivery'
  | 'deletion'
  | 'token refresh';

type Place = readonly [name: string, when: 'before' | 'after', method: string, pass?: number];

const pointsOf = (
  flow: FlowName,
  process: 'api' | 'worker',
  file: string,
  className: string,
  ...places: readonly Place[]
): FaultPoint[] =>
  places.map(([name, when, method, pass = 1]) => {
    return { flow, process, name, when, pass, at: [file, className, method] };
  });

const ACTIVITY_STORE = ['activities/src/activity-store', 'ActivityStore'] as const;
const EVENT_QUEUE = ['webhooks/src/event-queue', 'EventQueue'] as const;
const STREAM_FETCHES = ['streams/src/lifecycle/stream-fetches', 'StreamFetches'] as const;
const RUNS = ['processing/src/lifecycle/runs', 'Runs'] as const;
const DELIVERY_QUEUE = ['push/src/deliveries/delivery-queue', 'DeliveryQueue'] as const;
const ENDPOINT_CALLER = ['push/src/deliveries/endpoint-caller', 'EndpointCaller'] as const;
const CHANGE_RELAY = ['push/src/relay/change-relay', 'ChangeRelay'] as const;
const RECEIPTS = ['account/src/receipts', 'Receipts'] as const;
const DELETIONS = ['account/src/deletions', 'Deletions'] as const;
const CONNECTION_STORE = ['connections/src/connection-store', 'ConnectionStore'] as const;

export const FAULT_POINTS: readonly FaultPoint[] = [
  ...pointsOf('import', 'worker', 'activities/src/imports/import-jobs', 'ImportJobs', [
    'after_claim',
    'after',
    'claim',
  ]),
  ...pointsOf(
    'import',
    'worker',
    ...ACTIVITY_STORE,
    ['after_fetch of a page', 'before', 'savePage'],
    ['after_upsert of a page, before the commit', 'after', 'savePage'],
    ['after_fetch of a detail', 'before', 'saveDetail', 3],
    ['after_upsert of a detail, before the commit', 'after', 'saveDetail', 5],
  ),
  ...pointsOf('import', 'worker', 'activities/src/imports/import-jobs', 'ImportJobs', [
    'before_finish',
    'before',
    'finish',
  ]),

  ...pointsOf('activity upsert', 'worker', ...EVENT_QUEUE, ['after_claim', 'after', 'claim']),
  ...pointsOf(
    'activity upsert',
    'worker',
    ...ACTIVITY_STORE,
    ['after_fetch', 'before', 'saveDetail'],
    ['after_upsert, before the commit', 'after', 'saveDetail'],
  ),
  ...pointsOf(
    'activity upsert',
    'worker',
    ...EVENT_QUEUE,
    ['before_ack', 'before', 'finish'],
    ['after_ack', 'after', 'finish'],
  ),

  ...pointsOf(
    'webhook event',
    'api',
    'webhooks/src/webhook-inbox',
    'WebhookInbox',
    ['before the inbox', 'before', 'receive'],
    ['after the inbox, before the answer', 'after', 'receive'],
  ),

  ...pointsOf('stream fetch', 'worker', ...STREAM_FETCHES, ['after_claim', 'after', 'claim']),
  ...pointsOf('stream fetch', 'worker', 'streams/src/fetch/fetch-outcomes', 'FetchOutcomes', [
    'after_fetch',
    'before',
    'write',
  ]),
  ...pointsOf('stream fetch', 'worker', ...STREAM_FETCHES, ['after_upsert', 'after', 'succeed']),

  ...pointsOf(
    'processing run',
    'worker',
    ...RUNS,
    ['after_claim', 'after', 'claim'],
    ['after_start', 'after', 'start'],
    ['before_completion', 'before', 'complete'],
    ['after_completion', 'after', 'complete'],
  ),

  ...pointsOf('sleep normalise', 'worker', 'sleep/src/normalise/sleep-store', 'SleepStore', [
    'after_upsert',
    'after',
    'save',
  ]),
  ...pointsOf(
    'sleep normalise',
    'worker',
    'sleep/src/normalise/night-publisher',
    'NightPublisher',
    ['before_publish', 'before', 'publish'],
    ['after_publish, before_ack', 'after', 'publish'],
  ),

  ...pointsOf('relay to NATS', 'worker', 'platform/src/changes/changes', 'Changes', [
    'after_outbox (sequenced)',
    'after',
    'sequence',
  ]),
  ...pointsOf(
    'relay to NATS',
    'worker',
    ...CHANGE_RELAY,
    ['before_publish', 'before', 'publishAll'],
    ['after_publish', 'after', 'publishAll'],
  ),
  ...pointsOf('relay to NATS', 'worker', 'push/src/relay/relay-store', 'RelayStore', [
    'after_ack',
    'after',
    'store',
  ]),

  ...pointsOf('webhook delivery', 'worker', ...DELIVERY_QUEUE, ['after_claim', 'after', 'claim']),
  ...pointsOf(
    'webhook delivery',
    'worker',
    ...ENDPOINT_CALLER,
    ['before_delivery', 'before', 'post'],
    ['after_delivery', 'after', 'post'],
  ),
  ...pointsOf('webhook delivery', 'worker', ...DELIVERY_QUEUE, ['after_ack', 'after', 'write']),

  ...pointsOf('deletion', 'worker', ...RECEIPTS, ['after_claim', 'after', 'claim']),
  ...pointsOf(
    'deletion',
    'worker',
    ...DELETIONS,
    ['in the middle of the rows', 'after', 'deleteAll', 2],
    ['before the last rows', 'before', 'finishRows'],
    ['after the last rows', 'after', 'finishRows'],
    ['before the messages', 'before', 'eraseRemainsOf'],
    ['after the messages', 'after', 'eraseRemainsOf'],
  ),

  ...pointsOf('token refresh', 'worker', ...CONNECTION_STORE, ['after_claim', 'after', 'claimRefresh']),
  ...pointsOf('token refresh', 'worker', 'connections/src/oauth/token-endpoint', 'TokenEndpoint', [
    'after_fetch',
    'after',
    'refresh',
  ]),
  ...pointsOf('token refresh', 'worker', ...CONNECTION_STORE, ['after_upsert', 'after', 'storeRefreshed']),
];

/** The environment of a process that kills itself there. */
export function armed({ at: [file, className, method], when, pass }: FaultPoint): Record<string, string> {
  const preload = pathToFileURL(resolve('test/harness/fault-point.mjs'));
  const query = { file, class: className, method, when, pass: String(pass) };
  for (const [name, value] of Object.entries(query)) preload.searchParams.set(name, value);
  return { NODE_OPTIONS: `--import ${preload.href}` };
}
