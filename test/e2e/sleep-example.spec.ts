import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { eventually } from '../harness/eventually.js';
import { NatsServer } from '../harness/nats-server.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const DURABLE = 'sleep-example';

describe('examples/sleep-consumer', () => {
  let server: NatsServer;
  let connection: NatsConnection;
  const printed: Array<{ date: string; advice: string }> = [];
  const running = new Set<ChildProcess>();
  beforeAll(async () => {
    server = await NatsServer.start();
    connection = await connect({ servers: server.url, maxReconnectAttempts: -1 });
    await (
      await jetstreamManager(connection)
    ).streams.add({ name: 'AA_CORE_HOT', subjects: ['athlete-ally.>'] });
  });
  afterAll(async () => {
    for (const child of running) child.kill('SIGKILL');
    await connection?.close();
    await server?.stop();
  });

  const start = () => {
    const child = spawn(process.execPath, ['dist/examples/sleep-consumer/main.js'], {
      env: { PATH: process.env.PATH, NATS_URL: server.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    running.add(child);
    createInterface(child.stdout).on('line', (line) =>
      printed.push(JSON.parse(line) as (typeof printed)[number]),
    );
    return child;
  };
  const end = async (child: ChildProcess, signal: NodeJS.Signals) => {
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    running.delete(child);
  };
  const night = (day: number, qualityScore: number) => {
    const date = `2025-10-0${day}`;
    const record = {
      userId: 'u',
      date,
      durationMinutes: 450,
      qualityScore,
      vendor: 'oura',
      capturedAt: `${date}T08:00:00Z`,
    };
    return jetstream(connection).publish('athlete-ally.sleep.normalized-stored', JSON.stringify({ record }));
  };
  const prints = (date: string) => eventually(date, () => printed.find((one) => one.date === date), 90_000);

  it('the sleep example continues with the next night after its process is killed, and after the NATS server is killed', async () => {
    const first = start();
    await night(1, 85);
    expect(await prints('2025-10-01')).toMatchObject({ advice: 'train as planned' });
    // If the process were killed before the acknowledgement, NATS would deliver the message again.
    await eventually('the acknowledgement has arrived', async () => {
      const jsm = await jetstreamManager(connection);
      return (await jsm.consumers.info('AA_CORE_HOT', DURABLE)).num_ack_pending === 0;
    });
    await end(first, 'SIGKILL');
    await night(2, 40);
    const second = start();
    expect(await prints('2025-10-02')).toMatchObject({ advice: 'take it easy' });
    expect(printed.filter(({ date }) => date === '2025-10-01')).toHaveLength(1);

    // NATS writes acknowledgements to its disk with a delay, so from here on a night may come twice.
    await server.kill();
    await server.start();
    await eventually('a publish', () => night(3, 85).catch(() => null));
    await prints('2025-10-03');
    await end(second, 'SIGTERM');
  });
});
