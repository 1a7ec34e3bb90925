import { Controller, Get, Inject, Module, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { PrometheusController, PrometheusModule } from '@willsoto/nestjs-prometheus';
import { type FastifyReply } from 'fastify';
import { register } from 'prom-client';
import { Public } from '../auth/access.js';
import { type Config } from '../config/config.js';
import { NotFound } from '../errors/app-error.js';
import { CONFIG } from '../process/surroundings.module.js';
import { scrape } from './scrape.js';

@ApiExcludeController()
@Public()
@Controller()
class MetricsController extends PrometheusController {
  constructor(@Inject(CONFIG) private readonly config: Config) {
    super();
  }

  @Get()
  override index(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    // METRICS_PORT serves the metrics instead; this port may be public.
    if (this.config.http.metricsPort !== undefined) throw new NotFound();
    void reply.type(register.contentType);
    return scrape(register);
  }
}

// index.ts does not export this module: nestjs-prometheus is CommonJS and requires Nest, and jest on Node 20 cannot load that. Files that
// count use prom-client objects and do not need this module.
const metrics = PrometheusModule.register({
  controller: MetricsController,
  // Roles in one process share the registry, so only the first adds the default metrics.
  defaultMetrics: { enabled: !register.getSingleMetric('process_cpu_seconds_total') },
});

// Gauges of prom-client with the suffix of a counter. The gauges without the suffix have the same numbers by type.
const MISNAMED = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`);

/**
 * Serves `/metrics` on the port of the process. If METRICS_PORT is set, this route answers 404, and `createMetricsServer` serves the
 * metrics on METRICS_PORT.
 */
@Module({ imports: [metrics] })
export class MetricsModule {
  constructor() {
    for (const name of MISNAMED) register.removeSingleMetric(name);
  }
}
