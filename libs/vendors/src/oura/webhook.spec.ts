import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { InvalidInput } from '#platform';
import { ouraWebhook, readOuraEvent, signedByOuraAtMs } from './webhook.js';

const SECRET = 'oura-client-secret';
const AT_MS = 1_795_000_000_000;
const body =
  '{"event_type":"update","data_type":"sleep","object_id":"6f1c9a52-0d5e-4b0e-9a3e-3b1f6c2d7e11","event_time":"2026-11-18T06:30:00+00:00","user_id":"u-7c1"}';
const genuine = {
  body,
  timestamp: '1795000000000',
  signature: 'BFE84BD4825D8D8455D4151B68619DDE4FF95EECEA86EF1665D0F208ABAF194F',
};

describe('signedByOuraAtMs', () => {
  it('returns the time of the signature in Oura’s published example, in upper and lower case', () => {
    expect(signedByOuraAtMs(genuine, SECRET)).toBe(AT_MS);
    const lower = { ...genuine, signature: genuine.signature.toLowerCase() };
    expect(signedByOuraAtMs(lower, SECRET)).toBe(AT_MS);
  });

  it('reads a timestamp of ten digits as seconds, as Oura documents it', () => {
    const timestamp = String(AT_MS / 1_000);
    const signature = createHmac('sha256', SECRET).update(timestamp).update(body).digest('hex');
    expect(signedByOuraAtMs({ body, timestamp, signature }, SECRET)).toBe(AT_MS);
  });

  it.each([
    ['another body', { ...genuine, body: body.replace('update', 'delete') }],
    ['another timestamp', { ...genuine, timestamp: '1795000000001' }],
    ['a truncated signature', { ...genuine, signature: genuine.signature.slice(2) }],
    ['a signature that is not hex', { ...genuine, signature: 'z'.repeat(64) }],
    ['a timestamp that is no number', { ...genuine, timestamp: 'now' }],
    ['an empty signature', { ...genuine, signature: '' }],
  ])('rejects a delivery of Oura with %s', (_, delivery) => {
    expect(signedByOuraAtMs(delivery, SECRET)).toBeUndefined();
  });

  it('rejects a signature of Oura made with another secret', () => {
    expect(signedByOuraAtMs(genuine, 'another-secret')).toBeUndefined();
  });
});

describe('readOuraEvent', () => {
  const wire = {
    event_type: 'update',
    data_type: 'sleep',
    object_id: '6f1c9a52-0d5e-4b0e-9a3e-3b1f6c2d7e11',
    event_time: '2026-11-18T06:30:00+00:00',
    user_id: 'u-7c1',
  };

  it('parses an event of Oura, and gives a repeated event the same dedupe key', () => {
    const event = readOuraEvent(JSON.stringify(wire));
    expect(event).toMatchObject({
      type: 'update',
      dataType: 'sleep',
      objectId: wire.object_id,
      userId: 'u-7c1',
    });
    const again = { ...wire, event_time: '2026-11-18T07:30:00+01:00' };
    expect(readOuraEvent(JSON.stringify(again)).dedupeKey).toBe(event.dedupeKey);
  });

  it.each([['event_type'], ['object_id'], ['event_time'], ['user_id']])(
    'returns different dedupe keys for two Oura events that differ in %s',
    (field) => {
      const other = { ...wire, [field]: field === 'event_time' ? '2026-11-18T06:30:01Z' : 'delete' };
      expect(readOuraEvent(JSON.stringify(other)).dedupeKey).not.toBe(
        readOuraEvent(JSON.stringify(wire)).dedupeKey,
      );
    },
  );

  it.each(['', 'null', '[]', '{}', JSON.stringify({ ...wire, event_time: 'now' })])(
    'rejects %j as an event of Oura',
    (raw) => {
      expect(() => readOuraEvent(raw)).toThrow(InvalidInput);
    },
  );
});

describe('ouraWebhook', () => {
  const wire = {
    event_type: 'update',
    object_id: 'x',
    event_time: '2026-11-18T06:30:00+00:00',
    user_id: 'u',
  };

  it('reads the events of Oura about sleeps and daily scores, and none about other data', () => {
    const objectOf = (data_type: string) =>
      ouraWebhook.read(JSON.stringify({ ...wire, data_type })).map(({ objectType }) => objectType);
    expect(objectOf('sleep')).toEqual(['sleep']);
    expect(objectOf('daily_sleep')).toEqual(['sleep_score']);
    expect(objectOf('workout')).toEqual([]);
  });
});
