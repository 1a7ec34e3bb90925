import { Failure } from '../failure.mjs';
import { lastLines } from '../files.mjs';
import { until } from '../waiting.mjs';

const READY_MS = 60_000;

/** Waits for a server to answer; its last words when it does not. (A server that dies meanwhile ends the run by itself.) */
export async function waitUntilReady(title, child, isReady) {
  if (await until(isReady, { withinMs: READY_MS })) return;
  throw new Failure(
    `${title} did not come up within ${READY_MS / 1000} s. The last lines of ${child.log}:\n${lastLines(child.log)}`,
  );
}
