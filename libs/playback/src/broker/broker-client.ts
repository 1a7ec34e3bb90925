import { AppError, type Logger } from '#platform';
import { type OutboundAnswer, type OutboundCaller, type OutboundRequest, causeOf } from '#reliability';
import { type Broker, type Catalogue, type Refused, refused, type Resolution } from './broker.js';
import { toSeries, toSources } from './wire.js';

const LARGEST_CATALOGUE_BYTES = 4 * 1024 * 1024;
const LARGEST_RESOLUTION_BYTES = 256 * 1024;

/** The broker over HTTP. Whatever goes wrong there becomes one cause. */
export class BrokerClient implements Broker {
  constructor(
    private readonly url: string,
    private readonly caller: OutboundCaller,
    private readonly logger: Logger,
  ) {}

  async catalogue(signal?: AbortSignal): Promise<Catalogue> {
    const request = { method: 'GET', url: `${this.url}/catalog`, maxBytes: LARGEST_CATALOGUE_BYTES } as const;
    const answer = await this.ask(request, signal);
    if ('cause' in answer) return answer;
    return this.read('catalog', () => ({ kind: 'catalogue', series: toSeries(jsonOf(answer)) }));
  }

  async resolve(client: string, episode: string, signal?: AbortSignal): Promise<Resolution> {
    const request: OutboundRequest = {
      method: 'POST',
      url: `${this.url}/resolve`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client, episode }),
      maxBytes: LARGEST_RESOLUTION_BYTES,
    };
    const answer = await this.ask(request, signal);
    if ('cause' in answer) return answer;
    return this.read('resolve', () => {
      const sources = toSources(jsonOf(answer));
      return sources.length > 0 ? { kind: 'sources', sources } : refused('not_found');
    });
  }

  /** An answer of 200, or why there is none. */
  private async ask(request: OutboundRequest, signal?: AbortSignal): Promise<OutboundAnswer | Refused> {
    try {
      const { answer } = await this.caller.call({ ...request, signal });
      return answer.status === 200 ? answer : refused(causeOfRefusal(answer));
    } catch (error) {
      // Somebody's wish or deadline, and for them to name.
      if (signal?.aborted) throw error;
      // The caller's own errors are counted; another would be a fault of ours.
      if (!(error instanceof AppError))
        this.logger.error({ err: error }, 'the video broker could not be asked');
      return refused(causeOf(error));
    }
  }

  private read<Read>(endpoint: string, read: () => Read): Read | Refused {
    try {
      return read();
    } catch (err) {
      this.logger.warn({ err, endpoint }, 'unreadable answer of the video broker');
      return refused('broker_error');
    }
  }
}

function causeOfRefusal(answer: OutboundAnswer): Refused['cause'] {
  if (answer.status === 404) return 'not_found';
  return answer.status === 403 && isPolicy(answer) ? 'policy_blocked' : 'broker_error';
}

/** Other 403s are somebody's in between, and a fault. */
function isPolicy(answer: OutboundAnswer): boolean {
  try {
    return (jsonOf(answer) as { reason?: unknown } | null)?.reason === 'policy';
  } catch {
    return false;
  }
}

function jsonOf({ body }: OutboundAnswer): unknown {
  return JSON.parse(body.toString('utf8'));
}
