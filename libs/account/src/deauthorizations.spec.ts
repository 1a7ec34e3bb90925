import { describe, expect, it } from '@jest/globals';
import { NO_ORIGIN } from '#platform';
import { type Aspect, type CallOutcome, ok, type Sources } from '#vendors';
import { done, type EventGroup } from '#webhooks';
import { type Account } from './account.js';
import { Deauthorizations } from './deauthorizations.js';

const ann = { athleteId: 'ann', generation: 1, connectedAt: '2026-11-18 12:00:00.123456+00' };

function about(aspect: Aspect): EventGroup {
  const event = { id: '1', aspect, eventTime: new Date(0), attempts: 1 };
  return {
    vendor: 'strava',
    ownerId: '7',
    objectType: 'athlete',
    objectId: '7',
    events: [event],
    latest: event,
    claimedAt: new Date(0),
    origin: NO_ORIGIN,
  };
}

/** A handler with a scripted answer of the vendor; records the calls and the ended connections. */
function setting(answer: CallOutcome<unknown>, isBack = false) {
  const seen: string[] = [];
  const account: Pick<Account, 'deauthorized'> = {
    deauthorized: (athleteId, vendor, connectedAt) => {
      seen.push(`${athleteId} ${vendor} ${connectedAt}`);
      return Promise.resolve(!isBack);
    },
  };
  const sources = {
    account: () => ({
      athlete: () => {
        seen.push('call');
        return Promise.resolve(answer);
      },
    }),
  } as unknown as Sources;
  const handler = new Deauthorizations(account as Account, sources);
  return { seen, handle: (aspect: Aspect) => handler.handle(ann, about(aspect)) };
}

describe('webhook events about athletes', () => {
  const revoked: CallOutcome<unknown> = { kind: 'revoked', reason: 'refused' };

  it('an event about an ended access deletes the data if the vendor refuses the athlete’s token', async () => {
    const { handle, seen } = setting(revoked);
    expect(await handle('delete')).toEqual(done('deauthorized'));
    expect(seen).toEqual(['call', `ann strava ${ann.connectedAt}`]);
  });

  it('an event about an ended access is superseded if the athlete has connected again', async () => {
    expect(await setting(revoked, true).handle('delete')).toEqual(done('superseded'));
  });

  it('an event about an ended access is ignored while the athlete’s token works', async () => {
    const { handle, seen } = setting(ok({ id: '7' }));
    expect(await handle('delete')).toEqual(done('ignored'));
    expect(seen).toEqual(['call']);
  });

  it('an event about an ended access is repeated while the vendor cannot confirm it', async () => {
    const outage: CallOutcome<unknown> = { kind: 'broken', because: 'outage', reason: 'away' };
    const { handle, seen } = setting(outage);
    expect(await handle('delete')).toEqual(outage);
    expect(seen).toEqual(['call']);
  });

  it('another event about an athlete is ignored without a call', async () => {
    const { handle, seen } = setting(revoked);
    expect(await handle('update')).toEqual(done('ignored'));
    expect(seen).toEqual([]);
  });
});
