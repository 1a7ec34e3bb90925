import { z } from 'zod';
import {
  ENDPOINTS,
  FAULT_KINDS,
  type FaultKind,
  type FaultOrder,
  ENDPOINTS_OF_KIND,
  type Vendor,
  VENDORS,
  VENDORS_WITH_ATHLETES,
} from '../core/index.js';
import { invalid } from './control-error.js';

/** One day, because Node's timers overflow beyond 24.8 days. */
const LONGEST_DELAY_MS = 86_400_000;

const Order = z.object({
  vendor: z.enum(VENDORS),
  endpoint: z.string().optional(),
  kind: z.enum([...FAULT_KINDS.instead, ...FAULT_KINDS.answer, ...FAULT_KINDS.webhook, ...FAULT_KINDS.state]),
  resource: z.string().min(1).optional(),
  rate: z.number().gt(0).max(1).optional(),
  count: z.int().positive().optional(),
  delay_ms: z.number().max(LONGEST_DELAY_MS).optional(),
  seed: z.int().optional(),
});

/** Kinds that happen at one endpoint only, with that endpoint. An order of such a kind may omit the endpoint. */
const HOME: Partial<Record<FaultKind, string>> = {
  drop: 'webhooks',
  double: 'webhooks',
  reorder: 'webhooks',
  late: 'streams',
};

const NEED_DELAY: readonly FaultKind[] = ['late', 'clock_offset'];

export function readFaultOrder(body: unknown): FaultOrder {
  const order = Order.parse(body ?? {});
  const endpoint = order.endpoint ?? HOME[order.kind];
  const endpoints: readonly string[] = ENDPOINTS[order.vendor];
  if (endpoint !== undefined && !endpoints.includes(endpoint)) {
    throw invalid(`endpoint: ${order.vendor} has no ${endpoint}, expected one of ${endpoints.join(', ')}`);
  }
  const fitting = kindsFor(order, endpoint);
  if (!fitting.includes(order.kind)) {
    throw invalid(`kind: ${order.kind} does not happen there, expected one of ${fitting.join(', ')}`);
  }
  if (order.kind !== 'clock_offset' && (order.delay_ms ?? 0) < 0)
    throw invalid('delay_ms: expected 0 or more');
  if (NEED_DELAY.includes(order.kind) && !order.delay_ms)
    throw invalid(`delay_ms: required for ${order.kind}`);
  return { ...order, endpoint };
}

function kindsFor({ vendor }: FaultOrder, endpoint: string | undefined): readonly FaultKind[] {
  if (endpoint === 'webhooks') return FAULT_KINDS.webhook;
  const kinds: FaultKind[] = [...FAULT_KINDS.instead, ...FAULT_KINDS.answer, ...FAULT_KINDS.state];
  return kinds.filter((kind) => canHappen(kind, vendor, endpoint));
}

/** The vendors that accept a kind. Every vendor accepts an unlisted kind. The broker has no accounts and so no athlete limit. */
const VENDORS_OF: Partial<Record<FaultKind, readonly Vendor[]>> = {
  app_inactive: ['strava'],
  http_597: ['strava'],
  membership_expired: ['oura'],
  consents_missing: ['polar'],
  // Polar's windows begin with a call, so they have no boundary to shift.
  clock_offset: ['strava', 'oura', 'whoop', 'broker'],
  athlete_limit: VENDORS_WITH_ATHLETES,
  late: ['strava'],
};

function canHappen(kind: FaultKind, vendor: Vendor, endpoint: string | undefined): boolean {
  if (!(VENDORS_OF[kind]?.includes(vendor) ?? true)) return false;
  if (kind === 'late') return endpoint === 'streams';
  return endpoint === undefined || (ENDPOINTS_OF_KIND[kind]?.includes(endpoint) ?? true);
}
