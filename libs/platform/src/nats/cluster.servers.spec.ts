import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AckPolicy, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { eventually } from '../../../../test/harness/eventually.js';
import { freePort } from '../../../../test/harness/free-port.js';
import { hasClusterNats, NatsCluster } from '../../../../test/harness/nats-cluster.js';
import { createLogger, type Logger } from '../logging/logger.js';
import { ServerNotReady } from '../process/server-failure.js';
import { BatchConsumer } from './batch-consumer.js';
import { connectNats } from './connect.js';
import { ensureConsumer } from './ensure.js';
import { EventBus } from './event-bus.js';
import { prepareStreams } from './prepare-streams.js';
import { CORE_STREAM, eventStreams } from './streams.js';
import { type Subject } from './subject.js';

const silent = createLogger({ level: 'silent', process: 'test' });
const subject: Subject<{ n: number }> = { name: 'athlete-ally.test', schema: z.object({ n: z.int() }) };
const durable = { durable_name: 'reader', filter_subject: subject.name, ack_policy: AckPolicy.Explicit };

/** Without a NATS for clusters, these tests are skipped; `npm test` says why. */
(hasClusterNats ? describe : describe.skip)('three NATS servers', () => {
  let cluster: NatsCluster;
  let connection: NatsConnection;
  let manager: JetStreamManager;
  beforeAll(async () => {
    cluster = await NatsCluster.start(3);
    const absent = `nats://127.0.0.1:${await freePort()}`;
    connection = await connectNats({ urls: [absent, ...cluster.url.split(',')] }, 'test');
    manager = await jetstreamManager(connection);
  });
  afterAll(async () => {
    await connection.close();
    await cluster.stop();
  });

  const prepare = (replicas: number, logger: Logger = silent) =>
    prepareStreams(connection, eventStreams({ dlqRetentionDays: 7, replicas }), logger);
  const replicasOf = async () => {
    const [stream, consumer] = await Promise.all([
      manager.streams.info(CORE_STREAM),
      manager.consumers.info(CORE_STREAM, durable.durable_name),
    ]);
    return [stream, consumer].map(({ cluster: at }) => 1 + (at?.replicas?.length ?? 0));
  };

  it('prepareStreams raises the replicas of streams and their consumers, lowers them, keeps messages, and logs both', async () => {
    const logged: object[] = [];
    const logger = { ...silent, info: (line: object) => void logged.push(line) } as unknown as Logger;
    await prepare(1, logger);
    await ensureConsumer(manager, CORE_STREAM, durable);
    await new EventBus(connection).publish(subject, { n: 1 }, 'one');
    expect([await replicasOf(), logged]).toEqual([[1, 1], []]);

    await prepare(3, logger);
    await eventually('three replicas are current', () => cluster.isCurrent(CORE_STREAM));
    await eventually('the consumer follows', async () => String(await replicasOf()) === '3,3');
    expect(logged).toContainEqual({ stream: CORE_STREAM, before: 1, replicas: 3 });

    await prepare(1, logger);
    await eventually('one replica', async () => String(await replicasOf()) === '1,1');
    expect(logged).toContainEqual({ stream: CORE_STREAM, before: 3, replicas: 1 });
    expect((await manager.streams.info(CORE_STREAM)).state.messages).toBe(1);
  });

  it('prepareStreams names NATS_REPLICAS if the cluster has fewer servers', async () => {
    const refusal = prepare(5);
    await expect(refusal).rejects.toBeInstanceOf(ServerNotReady);
    await expect(refusal).rejects.toThrow(/refuses 5 replicas .* lower NATS_REPLICAS/);
  });

  it('publishing and consuming go on after the leader was killed, and a start without a majority says so', async () => {
    await prepare(3);
    await eventually('three replicas are current', () => cluster.isCurrent(CORE_STREAM));
    const seen: number[] = [];
    const consumer = new BatchConsumer<{ n: number }>(
      connection,
      {
        ...{ stream: CORE_STREAM, consumer: durable, subject, batchSize: 10, expiresMs: 1_000 },
        handle: (batch) => {
          for (const { message, content } of batch) {
            seen.push((content as { n: number }).n);
            message.ack();
          }
          return Promise.resolve();
        },
      },
      silent,
    );
    consumer.start();
    await eventually('the first', () => seen.includes(1));
    const [leader, ...others] = [await cluster.leaderOf(CORE_STREAM), ...cluster.servers.keys()];
    await cluster.servers.get(leader ?? '')?.kill();
    const bus = new EventBus(connection);
    await eventually('an acknowledgement', () => bus.publish(subject, { n: 2 }, 'two'));
    expect((await bus.publish(subject, { n: 2 }, 'two')).duplicate).toBe(true);
    await eventually('the second', () => seen.includes(2));
    await consumer.stop();

    await cluster.servers.get(others.find((name) => name !== leader) ?? '')?.kill();
    await expect(prepare(3)).rejects.toThrow(/does not answer .* a cluster needs the majority/);
  });
});
