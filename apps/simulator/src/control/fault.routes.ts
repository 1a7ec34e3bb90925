import { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type Core, ENDPOINTS, FAULT_KINDS, VENDORS } from '../core/index.js';
import { readFaultOrder } from './fault-order.js';
import { invalid } from './control-error.js';

const AnyVendor = z.enum(VENDORS);
const ChangedLimits = z.looseObject({ vendor: AnyVendor, leeway: z.int().min(0).optional() });
const WebhookTarget = z.object({ vendor: AnyVendor, url: z.url({ protocol: /^https?$/ }) });

export function faultControls(app: FastifyInstance, core: Core): void {
  app.post('/faults', (request) => core.faults.add(readFaultOrder(request.body)));
  app.get('/faults', () => ({
    items: core.faults.list(),
    kinds: Object.values(FAULT_KINDS).flat(),
    endpoints: ENDPOINTS,
  }));
  app.delete('/faults', (request) => {
    const { vendor } = z.object({ vendor: AnyVendor.optional() }).parse(request.query);
    return { removed: core.faults.clear(vendor) };
  });

  app.post('/limits', (request) => {
    const { vendor, leeway, ...limits } = ChangedLimits.parse(request.body ?? {});
    const known = core.limits.names(vendor);
    const problems = Object.entries(limits).flatMap(([name, limit]) => problemWith(name, limit, known));
    if (problems.length > 0) throw invalid(...problems);
    for (const [name, limit] of Object.entries(limits)) core.limits.change(vendor, name, limit as number);
    if (leeway !== undefined) core.limits.allowMore(vendor, leeway);
    return { vendor, ...core.limits.of(vendor) };
  });

  app.post('/webhooks', (request) => {
    const { vendor, url } = WebhookTarget.parse(request.body ?? {});
    const controls = core.controls.of(vendor);
    if (!controls?.setWebhookUrl) throw invalid(`vendor: ${vendor} takes no webhook url`);
    controls.setWebhookUrl(url);
    return { vendor, url };
  });
}

function problemWith(name: string, limit: unknown, known: readonly string[]): string[] {
  if (!known.includes(name)) return [`${name}: unknown, expected one of ${known.join(', ') || 'none'}`];
  const isCount = typeof limit === 'number' && Number.isInteger(limit) && limit >= 0;
  return isCount ? [] : [`${name}: expected a whole number of 0 or more`];
}
