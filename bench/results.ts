import { readdirSync, readFileSync } from 'node:fs';
import { type Conditions } from './conditions.js';

export const RESULTS = 'bench/results';

/** One number of several rounds. */
export interface Spread {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  readonly rounds: number;
}

/** A peer that the same run measured in turn with Pacekeeper. */
export interface Comparison {
  readonly peer: string;
  /** Ours divided by the peer's, round by round. */
  readonly ratio: Spread;
  readonly ours: Spread;
  readonly theirs: Spread;
  readonly unit: string;
}

export interface Finding {
  readonly what: string;
  readonly measured: string;
  /** Empty: the figure is only reported. */
  readonly goal: string;
  readonly met: boolean;
  readonly against?: Comparison;
}

/** A number that a run has compared with the number that it must be. */
export interface Check {
  readonly what: string;
  readonly times: number;
}

/** The content of a file in bench/results. */
export interface Result {
  readonly name: string;
  readonly conditions: Conditions;
  readonly findings: readonly Finding[];
  readonly checks: readonly Check[];
  readonly raw: unknown;
}

export function readResults(folder = RESULTS): Result[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return files.sort().map((name) => JSON.parse(readFileSync(`${folder}/${name}`, 'utf8')) as Result);
}

export function median(numbers: readonly number[]): number {
  return percentile(numbers, 0.5);
}

/** The value below which this share of the numbers lies, interpolated between two of them. */
export function percentile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(place)] ?? 0, sorted[Math.ceil(place)] ?? 0];
  return below + (above - below) * (place - Math.floor(place));
}

export function spreadOf(numbers: readonly number[]): Spread {
  return {
    median: median(numbers),
    lowest: Math.min(...numbers),
    highest: Math.max(...numbers),
    rounds: numbers.length,
  };
}

export interface Goal {
  readonly atLeast?: number;
  readonly atMost?: number;
}

interface Compared {
  readonly what: string;
  readonly peer: string;
  /** The figures of each round, ours and the peer's of the same round at the same place. */
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
  readonly unit: string;
  readonly goal?: Goal;
}

/** A figure of ours divided by a peer's of the same round. The goal is judged by the median of the ratios. */
export function compare({ what, peer, ours, theirs, unit, goal = {} }: Compared): Finding {
  const ratio = spreadOf(ours.map((own, round) => own / (theirs[round] ?? NaN)));
  const against: Comparison = { peer, ratio, ours: spreadOf(ours), theirs: spreadOf(theirs), unit };
  const values = `${inUnit(against.ours.median, unit)} of ${inUnit(against.theirs.median, unit)}`;
  return {
    what,
    measured: `${ratioText(ratio)} (${values})`,
    ...judged(ratio.median, goal, (value) => `${value}×`),
    against,
  };
}

interface Figure {
  readonly what: string;
  /** One number for each round. */
  readonly values: readonly number[];
  readonly unit: string;
  readonly goal?: Goal;
}

/** A figure without a peer, judged by its median. */
export function figure({ what, values, unit, goal = {} }: Figure): Finding {
  const spread = spreadOf(values);
  const text = (value: number) => inUnit(value, unit);
  const range =
    spread.rounds > 1 ? ` (${text(spread.lowest)} to ${text(spread.highest)}, n = ${spread.rounds})` : '';
  return { what, measured: `${text(spread.median)}${range}`, ...judged(spread.median, goal, text) };
}

function judged(value: number, { atLeast, atMost }: Goal, text: (value: number) => string) {
  const goals = [
    ...(atLeast === undefined ? [] : [`≥ ${text(atLeast)}`]),
    ...(atMost === undefined ? [] : [`≤ ${text(atMost)}`]),
  ];
  const met = value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity);
  return { goal: goals.join(', '), met };
}

export function ratioText({ median: middle, lowest, highest, rounds }: Spread): string {
  const digits = Math.max(middle, highest) < 10 ? 2 : 1;
  const text = (value: number) => value.toFixed(digits);
  return rounds > 1 ? `${text(middle)}× (${text(lowest)} to ${text(highest)})` : `${text(middle)}×`;
}

/** `unit` is `/s`, or a word that follows the number. */
export function inUnit(value: number, unit: string): string {
  const number = value >= 1_000 ? Math.round(value) : Number(value.toPrecision(3));
  return `${number.toLocaleString('en')}${unit.startsWith('/') ? unit : ` ${unit}`}`.trim();
}

// A longer list of numbers is kept as its percentiles, since a result is read by people.
const MOST_NUMBERS = 60;
const DIGITS = 5;

/** JSON for people: short values on one line, numbers with five digits, long lists of numbers as their percentiles. */
export function compactJson(value: unknown): string {
  return `${lines(shortened(value), '')}\n`;
}

function shortened(value: unknown): unknown {
  if (typeof value === 'number') return Number(value.toPrecision(DIGITS));
  if (Array.isArray(value)) return shortenedList(value as unknown[]);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one)]));
}

function shortenedList(list: readonly unknown[]): unknown {
  if (list.length <= MOST_NUMBERS || !list.every((one) => typeof one === 'number'))
    return list.map(shortened);
  const at = (share: number) => percentile(list, share);
  const summary = { min: at(0), p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
  return shortened({ numbers: list.length, ...summary });
}

const LINE = 110;

function lines(value: unknown, indent: string): string {
  const flat = JSON.stringify(value) ?? 'null';
  const isNested = value !== null && typeof value === 'object';
  if (!isNested || indent.length + flat.length <= LINE) return flat;
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const entries = isList
    ? (value as unknown[]).map((one) => lines(one, inner))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${lines(one, inner)}`);
  const [open, close] = isList ? '[]' : '{}';
  return `${open}\n${entries.map((entry) => inner + entry).join(',\n')}\n${indent}${close}`;
}
