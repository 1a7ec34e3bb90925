// Draws the demo's progress as lines of text. Everything here is pure: the terminal is terminal.mjs.
import { nightsInWords, sumOf } from './demo-progress.mjs';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const LABEL_WIDTH = 12;
const SHORTEST_BAR = 8;
const LONGEST_BAR = 32;
// Below so many columns, notes get lines of their own.
const WIDE = 76;
// Room beside a bar for `   done by Wednesday 09:30, 12 failed`.
const NOTE_WIDTH = 38;
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const COLOURS = { strong: '1', done: '32', quiet: '2' };

/**
 * The time of the simulated vendors, which runs `scale` times as fast as ours. Their windows end at each quarter of an hour and their
 * days at midnight, both UTC. The first simulated day has today's name.
 */
export function simulatedClock(scale, startedAtMs) {
  const dayOf = (ms) => Math.floor(ms / DAY_MS);
  const offsetMs = (dayOf(startedAtMs * scale) - dayOf(startedAtMs)) * DAY_MS;
  const wordsOf = (ms) => {
    // Vendors report whole seconds, or milliseconds of our time. So an end of a window may be some seconds too early.
    const at = new Date(Math.round((ms * scale - offsetMs) / MINUTE_MS) * MINUTE_MS);
    return { day: DAYS[at.getUTCDay()], time: at.toISOString().slice(11, 16) };
  };
  return {
    scale,
    /** `Thursday 09:30` for a date or a number of ms */
    dayAndTime(when) {
      const { day, time } = wordsOf(new Date(when).getTime());
      return `${day} ${time}`;
    },
    /** `09:30`, with the day if it is not that of `nowMs`. */
    time(when, nowMs) {
      const { day, time } = wordsOf(Date.parse(when));
      return day === wordsOf(nowMs).day ? time : `${day} ${time}`;
    },
  };
}

/** The live block: lines as `{ text, length }` of at most `columns` characters; `length` does not count colours. */
export function renderProgress(progress, { clock, nowMs, columns, hasColours }) {
  const { activities, streams, nights, window, day } = progress;
  const context = { clock, nowMs, columns };
  const rows = [
    [],
    [strong('  demo athlete'), quiet(`   ${titleOf(progress, context)}`)],
    ...barRows('activities', activities, importNote(progress, context), context),
    ...barRows('streams', streams, streamNote(progress, context), context),
    ...noteRows([plain(label('nights')), plain(count(sumOf(nights)))], nightsInWords(nights), context),
    ...noteRows(
      [plain(label('calls left'))],
      `${callsLeft(window, context)} · ${callsLeft(day, context)}`,
      context,
    ),
  ];
  return rows.map((parts) => lineOf(parts, columns, hasColours));
}

function titleOf({ isComplete }, { clock, nowMs, columns }) {
  if (isComplete) return 'complete';
  const now = clock.dayAndTime(nowMs);
  if (clock.scale === 1) return `${now} UTC`;
  const simulated = `simulated time: ${now}`;
  return columns < WIDE ? simulated : `${simulated}, ${clock.scale} times as fast as ours`;
}

function barRows(name, { done, total }, note, context) {
  const text = total === null ? count(done) : `${count(done)} of ${count(total)}`;
  const room =
    context.columns - label('').length - text.length - 1 - (context.columns >= WIDE ? NOTE_WIDTH : 0);
  const width = Math.min(LONGEST_BAR, Math.max(0, room));
  const filled = total ? Math.floor((width * Math.min(done, total)) / total) : 0;
  const bar =
    width < SHORTEST_BAR
      ? []
      : [{ text: '█'.repeat(filled), style: 'done' }, quiet('░'.repeat(width - filled)), plain(' ')];
  return noteRows([plain(label(name)), ...bar, plain(text)], note, context);
}

/** One row with the note at its end, or two rows if the terminal is narrow. */
function noteRows(parts, note, { columns }) {
  if (note === '') return [parts];
  if (columns >= WIDE) return [[...parts, quiet(lengthOf(parts) > label('').length ? `   ${note}` : note)]];
  return lengthOf(parts) + note.length < columns
    ? [[...parts, quiet(` ${note}`)]]
    : [parts, [quiet(`    ${note}`)]];
}

function importNote({ hasImported, importStatus, importMessage, activities }, context) {
  if (hasImported) return importStatus === 'completed' ? 'all here' : (importMessage ?? 'no import');
  if (activities.resumesAt) return `goes on ${context.clock.dayAndTime(activities.resumesAt)}`;
  return doneBy(activities, context);
}

function streamNote({ streams, hasImported }, context) {
  const failed = streams.failed > 0 ? `, ${count(streams.failed)} failed` : '';
  if (streams.left === 0 && hasImported) return `all here${failed}`;
  return `${doneBy(streams, context)}${failed}`;
}

function doneBy({ eta }, { clock, nowMs }) {
  if (!eta) return 'no estimate yet';
  // An estimate is up to 15 s old, which are hours of simulated time.
  return Date.parse(eta) > nowMs ? `done by ${clock.dayAndTime(eta)}` : 'done soon';
}

const callsLeft = ({ remaining, limit, resets_at: resetsAt }, { clock, nowMs }) =>
  `${count(remaining)} of ${count(limit)} until ${clock.time(resetsAt, nowMs)}`;

const label = (name) => `  ${name.padEnd(LABEL_WIDTH)}`;
const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ',');
const plain = (text) => ({ text });
const quiet = (text) => ({ text, style: 'quiet' });
const strong = (text) => ({ text, style: 'strong' });
const lengthOf = (parts) => parts.reduce((sum, { text }) => sum + text.length, 0);

/** Joins the parts and cuts the line at `columns`. */
function lineOf(parts, columns, hasColours) {
  let text = '';
  let length = 0;
  for (const part of parts) {
    const shown = part.text.slice(0, columns - length);
    length += shown.length;
    text += hasColours && part.style ? `\x1b[${COLOURS[part.style]}m${shown}\x1b[0m` : shown;
  }
  return { text, length };
}
