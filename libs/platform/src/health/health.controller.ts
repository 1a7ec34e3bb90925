import { Controller, Get, Global, Module, Res, ServiceUnavailableException } from '@nestjs/common';
import {
  ApiOkResponse,
  ApiOperation,
  type ApiResponseOptions,
  ApiServiceUnavailableResponse,
  ApiTags,
} from '@nestjs/swagger';
import {
  type HealthCheckResult,
  HealthCheckService,
  type HealthIndicatorResult,
  HealthIndicatorService,
  TerminusModule,
} from '@nestjs/terminus';
import { type FastifyReply } from 'fastify';
import { Public } from '../auth/access.js';
import { ClockDifferences } from '../clock/clock-differences.js';
import { OneAtATime } from '../process/one-at-a-time.js';
import { HealthRegistry, type Probe } from './health-registry.js';

type Schema = Extract<ApiResponseOptions, { schema: unknown }>['schema'];

const states: Schema = {
  type: 'object',
  additionalProperties: {
    type: 'object',
    properties: {
      status: { type: 'string', enum: ['up', 'down'] },
      ms: { type: 'integer', description: 'Milliseconds that the dependency or consumer took to answer' },
      message: { type: 'string', description: 'Why the dependency or consumer is down' },
      secondsAhead: {
        type: 'object',
        additionalProperties: { type: 'number' },
        description:
          "Of `clock`: how far the clock of each server is ahead of this process's, negative if it is behind; a vendor's by its last answer",
      },
      warning: { type: 'string', description: 'Of `clock`: the clocks that differ by more than 2 s' },
    },
    required: ['status'],
  },
};

/** The answer of terminus. */
const HEALTH_ANSWER: Schema = {
  type: 'object',
  properties: {
    status: { type: 'string', enum: ['ok', 'error', 'shutting_down'] },
    info: { ...states, description: 'Dependencies and consumers that are up' },
    error: { ...states, description: 'Dependencies and consumers that are down' },
    details: { ...states, description: 'All dependencies and consumers, with their states' },
  },
  required: ['status', 'details'],
};

// A client must wait longer than this: give a Kubernetes probe `timeoutSeconds: 3`.
const PROBE_DEADLINE_MS = 2_000;

@ApiTags('operations')
@Public()
@Controller('health')
class HealthController {
  private readonly running = new OneAtATime<HealthCheckResult>();

  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly registry: HealthRegistry,
    private readonly clocks: ClockDifferences,
  ) {}

  @Get('live')
  @ApiOperation({
    operationId: 'getLiveness',
    summary: 'Say whether this process is alive',
    description: 'Does not check Postgres, Redis or NATS.',
  })
  @ApiOkResponse({ schema: HEALTH_ANSWER, description: 'The process is alive' })
  live(): Promise<HealthCheckResult> {
    return this.health.check([]);
  }

  @Get('ready')
  @ApiOperation({
    operationId: 'getReadiness',
    summary: 'Say whether this process can do its work now',
    description:
      'Names each dependency and consumer with its state, and the differences between the clocks. A wrong clock is a warning: the process stays ready.',
  })
  @ApiOkResponse({ schema: HEALTH_ANSWER, description: 'Every dependency and consumer answers' })
  @ApiServiceUnavailableResponse({
    schema: HEALTH_ANSWER,
    description: 'A dependency or consumer does not answer, or the process is stopping',
  })
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<HealthCheckResult> {
    // Concurrent requests share one round of probes.
    const result = await this.running.run('ready', () => this.probeAll());
    if (result.status !== 'ok') void reply.status(503);
    return result;
  }

  private async probeAll(): Promise<HealthCheckResult> {
    const probes = [...this.registry.all()].map(
      ([name, probe]) =>
        () =>
          this.probe(name, probe),
    );
    try {
      return await this.health.check([() => this.notDraining(), ...probes, () => this.clockState()]);
    } catch (error) {
      // The answer keeps the shape of terminus, because this shape names the failed dependency. The shape of our errors names no
      // dependency.
      if (!(error instanceof ServiceUnavailableException)) throw error;
      return error.getResponse() as HealthCheckResult;
    }
  }

  private notDraining(): HealthIndicatorResult {
    const process = this.indicators.check('process');
    return this.registry.isDraining() ? process.down('shutting down') : process.up();
  }

  private clockState(): HealthIndicatorResult {
    const warning = this.clocks.warning();
    return this.indicators
      .check('clock')
      .up({ secondsAhead: this.clocks.all(), ...(warning !== undefined && { warning }) });
  }

  private async probe(name: string, probe: Probe): Promise<HealthIndicatorResult> {
    const indicator = this.indicators.check(name);
    const startedAt = performance.now();
    try {
      await withDeadline(Promise.resolve(probe()), PROBE_DEADLINE_MS);
      this.registry.note(name, true);
      return indicator.up({ ms: Math.round(performance.now() - startedAt) });
    } catch (error) {
      this.registry.note(name, false);
      return indicator.down(error instanceof Error ? error.message : String(error));
    }
  }
}

async function withDeadline(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Provides the health routes, the registry of probes and the differences between the clocks. */
@Global()
@Module({
  imports: [TerminusModule.forRoot({ errorLogStyle: 'json', logger: false })],
  controllers: [HealthController],
  providers: [HealthRegistry, ClockDifferences],
  exports: [HealthRegistry, ClockDifferences],
})
export class HealthModule {}
