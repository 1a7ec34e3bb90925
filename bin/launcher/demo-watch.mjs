// Shows the import and the backfill of the demo athlete while they run. All numbers come from Pacekeeper's API.
import { setTimeout as pause } from 'node:timers/promises';
import { call } from './api-call.mjs';
import { hasEnded, historyImport, milestones, progressOf } from './demo-progress.mjs';
import { renderProgress, simulatedClock } from './demo-view.mjs';
import { endBlock, endLine, environment, isTerminal, say, showBlock, step } from './terminal.mjs';

/** Pacekeeper is usable with so many activities: `ready` waits for them. They reach Strava's limit of 100 calls in 15 minutes. */
export const USABLE_WITH = 240;

const POLL_MS = 250;
// After `ready` a pipe shows only milestones.
const LATER_POLL_MS = isTerminal ? 500 : 2_000;

const NOTHING_YET = { hasImported: true, isComplete: false, streams: { done: 0, total: 0 } };

/** On a terminal this is a live block. Elsewhere it is one line for each status of the import and for each milestone of the rest. */
export class DemoWatch {
  #description;
  #children;
  #timeScale;
  #startedAtMs = Date.now();
  #last;
  #start; // compared with the first reading, so that a quick backfill is reported too
  #isAway = false;

  constructor(description, { timeScale, children }) {
    this.#description = description;
    this.#children = children;
    this.#timeScale = timeScale;
  }

  /** Returns when the import has ended; on a terminal already when enough activities are imported. */
  async untilUsable(name) {
    this.#start = NOTHING_YET;
    if (isTerminal) await this.#followOnScreen();
    else await step(name, () => this.#followInLines());
    endLine();
  }

  /** Returns when all streams are fetched, or when the run ends. If there was nothing to wait for, nothing is shown. */
  async untilComplete() {
    for (;;) {
      const before = this.#last ?? this.#start;
      const hasAnswered = await this.#readOrSay();
      if (this.#children.isEnding) return;
      if (hasAnswered) {
        if (before || !this.#last.isComplete) this.#showChange(before);
        if (this.#last.isComplete) return endBlock();
      }
      await pause(LATER_POLL_MS);
    }
  }

  async #followOnScreen() {
    for (;;) {
      if (await this.#readOrSay()) {
        this.#draw();
        if (this.#last.hasImported || this.#last.activities.done >= USABLE_WITH) return;
      }
      await pause(POLL_MS);
    }
  }

  // Reads nothing but the import, because each reading takes CPU time from it and so delays `ready`.
  async #followInLines() {
    let reported;
    for (;;) {
      const { items } = await this.#get('athlete', '/v1/imports?limit=200');
      const job = historyImport(items);
      if (job.status !== reported) say(`  ${job.message}`);
      reported = job.status;
      if (hasEnded(job)) return;
      await pause(POLL_MS);
    }
  }

  #get(role, path) {
    const { api, tokens } = this.#description;
    return call({ api, token: tokens[role] }, 'GET', path);
  }

  async #read() {
    const { athlete_id: athleteId } = this.#description;
    const [imports, overview, nights] = await Promise.all([
      this.#get('athlete', '/v1/imports?limit=200'),
      this.#get('admin', '/admin/observability'),
      this.#get('athlete', '/v1/sleep?limit=400'),
    ]);
    this.#last = progressOf({ imports: imports.items, overview, nights: nights.items, athleteId });
  }

  /** False if Pacekeeper does not answer, for example because it is being restarted. A pause is reported once. */
  async #readOrSay() {
    try {
      await this.#read();
      this.#isAway = false;
      return true;
    } catch (error) {
      if (!this.#isAway && !this.#children.isEnding)
        say(`the demo’s progress cannot be read now: ${error.cause?.message ?? error.message}`);
      this.#isAway = true;
      return false;
    }
  }

  #showChange(before) {
    if (isTerminal) this.#draw();
    else milestones(before, this.#last).forEach((line) => say(line));
  }

  #draw() {
    if (this.#children.isEnding) return; // the lines about the end are the last ones
    const progress = this.#last;
    const clock = simulatedClock(this.#timeScale, this.#startedAtMs);
    const hasColours = !environment.NO_COLOR;
    showBlock(({ columns }) => renderProgress(progress, { clock, nowMs: Date.now(), columns, hasColours }));
  }
}
