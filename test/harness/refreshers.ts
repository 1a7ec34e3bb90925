import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { SHORT_LIVED } from './process.js';

const REFRESHER = new URL('./refresher.mjs', import.meta.url).pathname;
const INSTANCES = 4;

interface Order {
  readonly env: Readonly<Record<string, string>>;
  readonly athleteId: string;
  readonly provider: string;
}

/** Requests an access token eight times at once, in two processes. Returns the tokens; undefined for a request without a token. */
export async function eightAccessTokens(order: Order): Promise<Array<string | undefined>> {
  const processes = await Promise.all([started(order), started(order)]);
  const tokens = await Promise.all(processes.map((run) => run()));
  return tokens.flat();
}

/** Starts a process. The returned function lets it begin, and resolves with its tokens. */
async function started(order: Order): Promise<() => Promise<Array<string | undefined>>> {
  const child = spawn(
    process.execPath,
    [...SHORT_LIVED, REFRESHER, JSON.stringify({ ...order, instances: INSTANCES })],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  await lines.next();
  return async () => {
    const ended = once(child, 'exit');
    child.stdin.write('\n');
    const { value } = await lines.next();
    await ended;
    return (JSON.parse(String(value)) as Array<{ token?: string }>).map(({ token }) => token);
  };
}
