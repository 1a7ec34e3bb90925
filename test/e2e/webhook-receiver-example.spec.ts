import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';
import { World } from '../harness/world.js';

describe('examples/webhook-receiver', () => {
  let world: World;
  let child: ChildProcess | undefined;
  let port: number;
  const printed: string[] = [];
  beforeAll(async () => {
    world = await World.start({ env: { WEBHOOKS_ALLOW_PRIVATE: '1' } });
    port = await freePort();
  }, 180_000);
  afterAll(async () => {
    child?.kill('SIGKILL');
    await world?.stop();
  });

  const call = async <T>(path: string, body?: unknown) => {
    const authorization = `Bearer ${await world.serviceKey('events')}`;
    return world.call<T>(randomUUID(), 'POST', `/v1/webhook-endpoints${path}`, body, { authorization });
  };

  it('the receiver example prints a line for a signed delivery, and answers 400 to a forged one', async () => {
    const url = `http://127.0.0.1:${port}/`;
    const { body } = await call<{ id: string; secret: string }>('', { url, types: ['*'] });
    child = spawn(process.execPath, ['dist/examples/webhook-receiver/main.js'], {
      env: { PATH: process.env.PATH, WEBHOOK_SECRET: body.secret, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    createInterface(child.stdout!).on('line', (line) => printed.push(line));
    const forged = await eventually('the receiver listens', () =>
      fetch(url, {
        method: 'POST',
        headers: {
          'webhook-id': 'c1',
          'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
          'webhook-signature': 'v1,Zm9yZ2Vk',
        },
        body: '{"id":"c1","type":"forged"}',
      }).catch(() => undefined),
    );
    expect(forged.status).toBe(400);

    const { body: test } = await call<{ change_id: string }>(`/${body.id}/test`);
    const line = await eventually('the line', () => printed[0]);
    expect(JSON.parse(line)).toEqual({ id: test.change_id, type: 'test', subject_id: body.id, revision: 0 });

    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
    expect(printed).toHaveLength(1);
  });
});
