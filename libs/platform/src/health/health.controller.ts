import { Controller, Get, Res, ServiceUnavailableException } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiServiceUnavailableResponse, ApiTags } from '@nestjs/swagger';
import {
  HealthCheckService,
  type HealthCheckResult,
  HealthIndicatorService,
  type HealthIndicatorResult,
} from '@nestjs/terminus';
import { type FastifyReply } from 'fastify';
import { Public } from '../auth/access.js';
import { OneAtATime } from '../process/one-at-a-time.js';
import { HealthRegistry, type Probe } from './health-registry.js';

// Whoever asks must be more patient than this: give a Kubernetes probe timeoutSeconds: 3.
const PROBE_DEADLINE_MS = 2_000;

@ApiTags('operations')
@Public()
@Controller('health')
export class HealthController {
  private readonly rounds = new OneAtATime<HealthCheckResult>();

  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly registry: HealthRegistry,
  ) {}

  @Get('live')
  @ApiOperation({ summary: 'Is this process alive' })
  @ApiOkResponse({ description: 'It is; it says nothing about its dependencies' })
  live(): Promise<HealthCheckResult> {
    return this.health.check([]);
  }

  @Get('ready')
  @ApiOperation({ summary: 'Can this process do its work now' })
  @ApiOkResponse({ description: 'Every dependency and consumer answers' })
  @ApiServiceUnavailableResponse({ description: 'At least one does not; each is named with its state' })
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<HealthCheckResult> {
    // However many ask at a time, the servers are asked once.
    const result = await this.rounds.run('ready', () => this.askAll());
    if (result.status !== 'ok') void reply.status(503);
    return result;
  }

  private async askAll(): Promise<HealthCheckResult> {
    const probes = [...this.registry.all()].map(
      ([name, probe]) =>
        () =>
          this.ask(name, probe),
    );
    try {
      return await this.health.check([() => this.notDraining(), ...probes]);
    } catch (error) {
      // Who asks wants to know which dependency is missing, so this answer keeps terminus' shape instead of an error's.
      if (!(error instanceof ServiceUnavailableException)) throw error;
      return error.getResponse() as HealthCheckResult;
    }
  }

  private notDraining(): HealthIndicatorResult {
    const process = this.indicators.check('process');
    return this.registry.isDraining() ? process.down('shutting down') : process.up();
  }

  private async ask(name: string, probe: Probe): Promise<HealthIndicatorResult> {
    const indicator = this.indicators.check(name);
    const startedAt = performance.now();
    try {
      await withDeadline(Promise.resolve(probe()), PROBE_DEADLINE_MS);
      return indicator.up({ ms: Math.round(performance.now() - startedAt) });
    } catch (error) {
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
