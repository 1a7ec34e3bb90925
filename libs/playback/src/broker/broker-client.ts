import { AppError, type Logger } from '#platform';
import { type OutboundAnswer, type OutboundCaller, type OutboundRequest, causeOf } from '#reliability';
import { type Broker, type Catalogue, type BrokerRefusal, refused, type Resolution } from './broker.js';
import { toSeries, toSources } from './wire.js';

const LARGEST_CATALOGUE_BYTES = 4 * 1024 * 1024;
const LARGEST_RESOLUTION_BYTES = 256 * 1024;

/**
 * Calls the broker over HTTP. Every failure becomes a refusal with one cause, so callers need no error handling. There is no retry
 * here: `OutboundCaller` limits the time and repeats a failed call at most once.
 */
export class BrokerClient implements Broker {
  constructor(
    private readonly url: string,
    private readonly caller: OutboundCaller,
    private readonly logger: Logger,
  ) {}

  async catalogue(signal?: AbortSignal): Promise<Catalogue> {
    const request = { method: 'GET', url: `${this.url}/catalog`, maxBytes: LARGEST_CATALOGUE_BYTES } as const;
    const answer = await this.call(request, signal);
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
    const answer = await this.call(request, signal);
    if ('cause' in answer) return answer;
    return this.read('resolve', () => {
      const sources = toSources(jsonOf(answer));
      return sources.length > 0 ? { kind: 'sources', sources } : refused('not_found');
    });
  }

  /** An answer with status 200, or the refusal. */
  private async call(
    request: OutboundRequest,
    signal?: AbortSignal,
  ): Promise<OutboundAnswer | BrokerRefusal> {
    try {
      const { answer } = await this.caller.call({ ...request, signal });
      return answer.status === 200 ? answer : refused(causeOfRefusal(answer));
    } catch (error) {
      // The owner of the signal knows why it was aborted.
      if (signal?.aborted) throw error;
      // An AppError is expected and already counted. Any other error is a bug.
      if (!(error instanceof AppError))
        this.logger.error({ err: error }, 'call to the video broker failed unexpectedly');
      return refused(causeOf(error));
    }
  }

  private read<Read>(endpoint: string, read: () => Read): Read | BrokerRefusal {
    try {
      return read();
    } catch (err) {
      this.logger.warn({ err, endpoint }, 'malformed answer of the video broker');
      return refused('broker_error');
    }
  }
}

function causeOfRefusal(answer: OutboundAnswer): BrokerRefusal['cause'] {
  if (answer.status === 404) return 'not_found';
  return answer.status === 403 && isPolicy(answer) ? 'policy_blocked' : 'broker_error';
}

/** A 403 without the reason `policy` comes from a proxy in between, so this 403 is a failure. */
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
