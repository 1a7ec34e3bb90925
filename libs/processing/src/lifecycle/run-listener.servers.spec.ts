import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, type Sql } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import {
  requestsOf,
  FAILED,
  isProcessed,
  LEASE_MS,
  newActivity,
  stateOf,
  SUCCEEDED,
} from '../processing.harness.js';
import { Jobs } from './jobs.js';
import { type RunClaim } from './run.js';
import { type RunKey, type RunListener } from './run.js';
import { Runs } from './runs.js';

class Notes implements RunListener {
  isOn = true;
  fails = false;

  async succeeded(sql: Sql, runs: readonly RunKey[]): Promise<void> {
    await sql.query('insert into note select unnest($1::uuid[])', [runs.map(({ run_id }) => run_id)]);
    if (this.fails) throw new Error('the listener failed');
  }
}

describe('RunListener', () => {
  let open: OpenDatabase;
  let sql: Database;
  let notes: Notes;
  let runs: Runs;
  let ann: string;
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    await sql.query('create table note (run_id uuid)');
    ann = await newAthlete(sql);
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    await sql.query('truncate note');
    notes = new Notes();
    runs = new Runs(sql, notes);
  });

  async function begun(): Promise<RunClaim> {
    await requestsOf(new Jobs(sql), ann).automatic(await newActivity(sql, ann));
    const [claim] = await runs.claim('me', 1, LEASE_MS);
    await runs.start('me', [claim!]);
    return claim!;
  }
  const noted = async () =>
    (await sql.query<{ run_id: string }>('select run_id from note')).rows.map(({ run_id }) => run_id);

  it('a run listener gets only the runs that succeeded under a valid claim', async () => {
    const [good, bad, lost] = [await begun(), await begun(), await begun()];
    const over = { ...lost, run_id: good.run_id };
    const written = await runs.complete('me', [
      { claim: good, outcome: SUCCEEDED },
      { claim: bad, outcome: FAILED },
      { claim: over, outcome: SUCCEEDED },
    ]);
    expect(written).toEqual(new Set([good.run_id, bad.run_id]));
    expect(await noted()).toEqual([good.run_id]);
  });

  it('the end of a run is rolled back when its run listener fails', async () => {
    const claim = await begun();
    notes.fails = true;
    await expect(runs.complete('me', [{ claim, outcome: SUCCEEDED }])).rejects.toThrow('the listener failed');
    expect(await noted()).toEqual([]);
    expect([await stateOf(sql, claim.activity_id), await isProcessed(sql, claim.activity_id)]).toEqual([
      'running',
      false,
    ]);
  });

  it('a run listener is not called while it is off', async () => {
    const claim = await begun();
    notes.isOn = false;
    await runs.complete('me', [{ claim, outcome: SUCCEEDED }]);
    expect(await noted()).toEqual([]);
  });
});
