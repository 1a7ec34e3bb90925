import { testEnvironment, type TestEnvironment } from './environment.js';
import { ProductProcess } from './process.js';
import { SimulatorProcess } from './simulator.js';
import { undoneOnFailure } from './undo.js';

export const EPISODE = 'pacekeeper:base-building-s01e01';
export const EPISODES = ['01', '02', '03', '04', '05'].map(
  (number) => `pacekeeper:base-building-s01e${number}`,
);

export interface AddonAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly body: AddonBody;
}

export interface AddonBody {
  readonly reason?: string;
  readonly message?: string;
  readonly streams?: ReadonlyArray<{
    readonly url: string;
    readonly name: string;
    readonly behaviorHints: Readonly<Record<string, unknown>>;
  }>;
  readonly metas?: ReadonlyArray<{ readonly id: string; readonly name: string; readonly poster: string }>;
  readonly meta?: {
    readonly id: string;
    readonly name: string;
    readonly videos?: ReadonlyArray<{ readonly id: string; readonly title: string }>;
  } | null;
}

/** A simulator with the video broker, and api processes. The api processes of a test share one environment. */
export class PlaybackWorld {
  private readonly processes: ProductProcess[] = [];

  private constructor(
    readonly simulator: SimulatorProcess,
    private readonly environment: TestEnvironment,
  ) {}

  static open(env: Readonly<Record<string, string>> = {}): Promise<PlaybackWorld> {
    return undoneOnFailure(async (onFailure) => {
      const simulator = await SimulatorProcess.start();
      onFailure(() => simulator.stop());
      const own = { ...simulator.env, LOG_LEVEL: 'debug', ...env };
      return new PlaybackWorld(simulator, await testEnvironment(own));
    });
  }

  /** An api with a REDIS_KEY_PREFIX of its own has a session gate of its own. */
  async startApi(env: Readonly<Record<string, string>> = {}): Promise<ProductProcess> {
    const api = await ProductProcess.start('api', { ...this.environment.env, ...env });
    this.processes.push(api);
    return api;
  }

  async close(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.stop()));
    await this.simulator.stop();
    await this.environment.release();
  }
}

export async function get(
  api: ProductProcess,
  path: string,
  { method = 'GET', ...headers }: Readonly<Record<string, string>> = {},
): Promise<AddonAnswer> {
  const answer = await fetch(`${api.url}/addon/${path}`, { method, headers });
  const text = await answer.text();
  const isJson = text !== '' && answer.headers.get('content-type')?.includes('json');
  return {
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    text,
    body: (isJson ? JSON.parse(text) : {}) as AddonBody,
  };
}

export function streamPath(session: string, episode = EPISODE): string {
  return `${session}/stream/series/${encodeURIComponent(episode)}.json`;
}
