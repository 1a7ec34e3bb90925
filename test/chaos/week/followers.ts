import { setTimeout as pause } from 'node:timers/promises';
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { connectNats, CORE_STREAM } from '#platform';
import { type World } from '../../harness/world.js';
import { arrivalOf, Endpoint, EventReader, FeedReader, flaky, healthy } from '../change-readers.js';
import { type Arrival } from '../ledger.js';
import { type Progress } from '../stalls.js';
import { Copy } from './copy.js';

const AGAIN_MS = 500;
const DURABLE = 'follower';

/** A durable subscription to the changes on NATS. NATS sends a message again until it is acknowledged. */
class NatsFollower {
  readonly arrivals: Arrival[] = [];
  private isStopping = false;
  private running: Promise<void> = Promise.resolve();

  private constructor(private readonly connection: NatsConnection) {}

  static async start(natsUrls: readonly string[]): Promise<NatsFollower> {
    const connection = await connectNats({ urls: natsUrls }, DURABLE);
    const { consumers } = await jetstreamManager(connection);
    await consumers.add(CORE_STREAM, {
      durable_name: DURABLE,
      filter_subject: 'athlete-ally.changes.>',
      ack_policy: AckPolicy.Explicit,
    });
    const follower = new NatsFollower(connection);
    follower.running = follower.run();
    return follower;
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    await this.connection.close();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.isStopping) {
      // NATS is away.
      await this.read().catch(() => pause(AGAIN_MS));
    }
  }

  private async read(): Promise<void> {
    const consumer = await jetstream(this.connection).consumers.get(CORE_STREAM, DURABLE);
    for await (const message of await consumer.consume()) {
      this.arrivals.push(arrivalOf(message.json()));
      message.ack();
    }
  }
}

/** The receivers of changes: two readers of the routes, a subscription to NATS, and two endpoints, one of which often fails. */
export class Followers {
  readonly copy = new Copy();

  private constructor(
    readonly feed: FeedReader,
    readonly events: EventReader,
    readonly nats: NatsFollower,
    readonly endpoints: ReadonlyArray<readonly [string, Endpoint]>,
  ) {}

  static async start(world: World, natsUrls: readonly string[]): Promise<Followers> {
    const key = await world.serviceKey('events');
    const endpoints = [
      ['webhooks to a healthy app', await Endpoint.start(healthy)],
      ['webhooks to an app that often fails', await Endpoint.start(flaky)],
    ] as const;
    for (const [, endpoint] of endpoints) {
      const order = { url: endpoint.url, types: ['*'] };
      const authorization = `Bearer ${key}`;
      const { body } = await world.call<{ secret: string }>('', 'POST', '/v1/webhook-endpoints', order, {
        authorization,
      });
      endpoint.secret = body.secret;
    }
    const headers = { authorization: `Bearer ${key}` };
    const latest = await fetch(`${world.url}/v1/changes?after=latest`, { headers });
    const { next_cursor } = (await latest.json()) as { next_cursor: string };
    const followers: Followers = new Followers(
      new FeedReader([world.url], key, (change) => followers.copy.apply(change)),
      new EventReader([world.url], await world.serviceKey('events'), next_cursor),
      await NatsFollower.start(natsUrls),
      endpoints,
    );
    for (const reader of [followers.feed, followers.events]) reader.start();
    return followers;
  }

  get progress(): Progress {
    return {
      'GET /v1/changes': this.feed.arrivals.length,
      NATS: this.nats.arrivals.length,
      webhook: this.endpoints[0]?.[1].arrivals.length ?? 0,
    };
  }

  /** Deliveries with the id of another change, or with a wrong signature. */
  get mistaken(): number {
    return this.endpoints.reduce((sum, [, { mistaken, forged }]) => sum + mistaken + forged, 0);
  }

  async stop(): Promise<void> {
    await Promise.all([this.feed.stop(), this.events.stop(), this.nats.stop()]);
    for (const [, endpoint] of this.endpoints) await endpoint.stop();
  }
}
