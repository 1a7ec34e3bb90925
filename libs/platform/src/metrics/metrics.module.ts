import { Controller, Get, Module, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { PrometheusController, PrometheusModule } from '@willsoto/nestjs-prometheus';
import { type FastifyReply } from 'fastify';
import { register } from 'prom-client';
import { Public } from '../auth/access.js';

@ApiExcludeController()
@Public()
@Controller()
class MetricsController extends PrometheusController {
  @Get()
  override index(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    return super.index(reply);
  }
}

// Not exported by the front door: the package is CommonJS and requires Nest, which jest on Node 20 cannot load. Metrics
// themselves are plain prom-client objects beside the code that counts.
const metrics = PrometheusModule.register({
  controller: MetricsController,
  // Roles that share a process share its registry.
  defaultMetrics: { enabled: !register.getSingleMetric('process_cpu_seconds_total') },
});

@Module({ imports: [metrics] })
export class MetricsModule {}
