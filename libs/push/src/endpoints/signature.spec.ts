import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { newEndpointSecret, signedHeaders } from './signature.js';

const seconds = () => String(Math.floor(Date.now() / 1_000));

describe('signatures of deliveries', () => {
  it('the official library verifies a signature over any id and body', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.json(), (id, body) => {
        const secret = newEndpointSecret();
        const headers = signedHeaders({ id, timestamp: seconds(), body }, [secret]);
        expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
      }),
    );
  });

  it('the official library verifies with each of two secrets during a rotation, and rejects a third', () => {
    const [current, previous, other] = [newEndpointSecret(), newEndpointSecret(), newEndpointSecret()];
    const body = '{"type":"activity.created","data":{"name":"Abendlauf ü"}}';
    const headers = signedHeaders({ id: 'c', timestamp: seconds(), body }, [current, previous]);
    for (const secret of [current, previous])
      expect(new Webhook(secret).verify(body, headers)).toMatchObject({ type: 'activity.created' });
    expect(() => new Webhook(other).verify(body, headers)).toThrow('No matching signature found');
  });

  it('the official library rejects a changed body and an old time', () => {
    const secret = newEndpointSecret();
    const headers = signedHeaders({ id: 'c', timestamp: seconds(), body: '{}' }, [secret]);
    expect(() => new Webhook(secret).verify('{"a":1}', headers)).toThrow('No matching signature found');
    const old = signedHeaders({ id: 'c', timestamp: '1000000000', body: '{}' }, [secret]);
    expect(() => new Webhook(secret).verify('{}', old)).toThrow('too old');
  });
});
