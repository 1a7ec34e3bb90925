// Input from the user (arguments, environment) and output to the user (errors, progress).
// Progress and errors go to stderr; stdout is for the result of the command.
import { parseArgs } from 'node:util';

const REDRAW_MS = 500;
const CLEAR = '\r\x1b[K';
const CLEAR_BELOW = '\r\x1b[J';
const USUAL_SIZE = { columns: 80, rows: 24 };
// A dumb terminal cannot move its cursor. So it gets plain lines, like a pipe.
export const isTerminal = Boolean(process.stderr.isTTY) && process.env.TERM !== 'dumb';
let isLineOpen = false; // `step` has printed its name and not yet its duration
let block = null; // the function that renders the live block, and the lengths of the lines on the screen

/** The environment variables that the user has set. An empty value counts as not set. */
export const environment = Object.fromEntries(
  Object.entries(process.env).filter(([, value]) => value !== ''),
);

/** An error that the user can act on. Its message is shown as it stands, without a stack. */
export class Failure extends Error {
  name = 'Failure';
}

/** The text shown for an error: the message of a Failure, else `unexpected: …`. With DEBUG=1 it is the stack instead. */
export function messageOf(error) {
  if (process.env.DEBUG) return error.stack;
  if (error instanceof Failure) return error.message;
  return `unexpected: ${error?.message ?? error} (DEBUG=1 shows the stack)`;
}

/** Parses the options of a command. If the options are wrong, this throws a Failure that ends with the usage. */
export function readArguments(args, options, usage) {
  try {
    return parseArgs({ args, options, allowPositionals: false });
  } catch (error) {
    const [sentence] = error.message.split('. ');
    throw new Failure(`${sentence}. Usage: ${usage}`);
  }
}

/** Runs `work` and prints one line: the name at once, the duration at the end. On a terminal the line counts the seconds meanwhile. */
export async function step(name, work) {
  const startedAt = performance.now();
  const elapsed = () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  const end = isTerminal ? redraw(name, elapsed) : printName(name);
  try {
    const result = await work();
    end(elapsed());
    return result;
  } catch (error) {
    end(`failed after ${elapsed()}`);
    throw error;
  }
}

/** Prints a separate line, even while a step runs or a live block is shown. */
export function say(line) {
  endLine();
  process.stderr.write(`${line}\n`);
  if (block) drawBlock();
}

/** Ends the line of a step that is still running, or erases the live block until it is drawn again. Call it before any other output, on stdout too. */
export function endLine() {
  process.stderr.write(lineEnd());
  isLineOpen = false;
}

function lineEnd() {
  if (block) return eraseBlock();
  if (isTerminal) return CLEAR;
  return isLineOpen ? '\n' : '';
}

/**
 * Draws the live block: lines below all other output, replaced in place by the next call. Only for terminals. `render` gets the
 * columns and returns lines as `{ text, length }`, no longer than that; `text` may have colours, which `length` does not count.
 */
export function showBlock(render) {
  if (!block) process.stderr.on('resize', drawBlock);
  block = { render, lengths: block?.lengths ?? [] };
  drawBlock();
}

/** Leaves the lines of the live block on the screen as they are. Later output goes below them. */
export function endBlock() {
  block = null;
  process.stderr.off('resize', drawBlock);
}

// One write, and no line is erased before it is written again. So nothing flickers.
function drawBlock() {
  const { columns, rows } = sizeOf(process.stderr);
  const up = cursorUp(rowsOnScreen(block.lengths, columns));
  // A terminal breaks a line that fills its last column. A block that is higher than the screen could not be reached by the cursor.
  const lines = block.render({ columns: columns - 1 }).slice(0, rows - 1);
  process.stderr.write(`${up}${lines.map(({ text }) => `${text}\x1b[K\n`).join('')}\x1b[J`);
  block.lengths = lines.map(({ length }) => length);
}

function eraseBlock() {
  const up = cursorUp(rowsOnScreen(block.lengths, sizeOf(process.stderr).columns));
  block.lengths = [];
  return `${up}${CLEAR_BELOW}`;
}

// A terminal that has become narrower has broken the long lines, so the block takes more rows than it has lines.
export function rowsOnScreen(lengths, columns) {
  return lengths.reduce((rows, length) => rows + Math.max(1, Math.ceil(length / columns)), 0);
}

const cursorUp = (rows) => (rows > 0 ? `\r\x1b[${rows}A` : '\r');

// A terminal whose size is unknown reports 0.
function sizeOf({ columns, rows }) {
  return { columns: columns || USUAL_SIZE.columns, rows: rows || USUAL_SIZE.rows };
}

function redraw(name, elapsed) {
  const draw = () => process.stderr.write(`${CLEAR}${name} … ${elapsed()} `);
  draw();
  const timer = setInterval(draw, REDRAW_MS);
  return (time) => {
    clearInterval(timer);
    process.stderr.write(`${CLEAR}${name} … ${time}\n`);
  };
}

function printName(name) {
  endLine();
  process.stderr.write(`${name} …`);
  isLineOpen = true;
  return (time) => {
    process.stderr.write(isLineOpen ? ` ${time}\n` : `${name} … ${time}\n`);
    isLineOpen = false;
  };
}
