import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, type Sql } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { asker, FAILED, isProcessed, LEASE_MS, newActivity, stateOf, SUCCEEDED } from '../jobs.harness.js';
import { Jobs } from './jobs.js';
import { type Claim } from './run.js';
import { type RunListener } from './run-listener.js';
import { Runs } from './runs.js';

class Notes implements RunListener {
  isOn = true;
  fails = false;

  async succeeded(sql: Sql, runIds: readonly string[]): Promise<void> {
    await sql.query('insert into note select unnest($1::uuid[])', [runIds]);
    if (this.fails) throw new Error('no paper');
  }
}

describe('who listens to runs', () => {
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

  async function begun(): Promise<Claim> {
    await asker(new Jobs(sql), ann).automatic(await newActivity(sql, ann));
    const [claim] = await runs.claim('me', 1, LEASE_MS);
    await runs.start('me', [claim!]);
    return claim!;
  }
  const noted = async () =>
    (await sql.query<{ run_id: string }>('select run_id from note')).rows.map(({ run_id }) => run_id);

  it('hears of those that succeeded and were still their owner’s, and of no others', async () => {
    const [good, bad, lost] = [await begun(), await begun(), await begun()];
    const over = { ...lost, run_id: good.run_id };
    const written = await runs.complete('me', [
      { claim: good, ending: SUCCEEDED },
      { claim: bad, ending: FAILED },
      { claim: over, ending: SUCCEEDED },
    ]);
    expect(written).toEqual(new Set([good.run_id, bad.run_id]));
    expect(await noted()).toEqual([good.run_id]);
  });

  it('writes together with the end of the run, or neither is written', async () => {
    const claim = await begun();
    notes.fails = true;
    await expect(runs.complete('me', [{ claim, ending: SUCCEEDED }])).rejects.toThrow('no paper');
    expect(await noted()).toEqual([]);
    expect([await stateOf(sql, claim.activity_id), await isProcessed(sql, claim.activity_id)]).toEqual([
      'running',
      false,
    ]);
  });

  it('is not asked while it is off', async () => {
    const claim = await begun();
    notes.isOn = false;
    await runs.complete('me', [{ claim, ending: SUCCEEDED }]);
    expect(await noted()).toEqual([]);
  });
});
