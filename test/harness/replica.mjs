// A replica as a process of its own: asks a gate or shares requests, as the lines on stdin say, and tells on stdout what came of it.
import 'reflect-metadata';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

const dist = (file) => import(new URL(`../../dist/libs/${file}`, import.meta.url).href);
const { createLogger } = await dist('platform/src/index.js');
const { Coalescer, listeningConnection, reliabilityConnection, SessionGate } =
  await dist('reliability/src/index.js');

const config = JSON.parse(process.argv[2]);
const logger = createLogger({ level: 'silent', process: 'replica' });
const redis = reliabilityConnection(config, logger, { commandTimeout: 30_000 });
const ears = listeningConnection(config, logger);
await Promise.all([once(redis, 'ready'), once(ears, 'ready')]);
const coalescer = new Coalescer(redis, ears, logger);
const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const commands = {
  /** Every session asks so often, all at once. */
  async admit({ pool, policy, sessions, times }) {
    const gate = new SessionGate(redis, policy);
    const kinds = {};
    const ask = async (session) => {
      const { kind } = await gate.admit(pool, session);
      kinds[kind] = (kinds[kind] ?? 0) + 1;
    };
    for (let time = 0; time < times; time += 1) await Promise.all(sessions.map(ask));
    return { kinds };
  },
  /** As many identical requests at once, whose work takes so long and answers so. */
  async share({ ask, times, workMs, value }) {
    const work = async (signal) => {
      tell({ working: value });
      try {
        await pause(workMs, undefined, { signal });
      } catch {
        tell({ aborted: value });
        throw signal.reason;
      }
      return value;
    };
    const answers = await Promise.allSettled(Array.from({ length: times }, () => coalescer.share(ask, work)));
    return { answers: answers.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.name)) };
  },
};

tell({ ready: true });
for await (const line of createInterface(process.stdin)) {
  const { command, ...parameters } = JSON.parse(line);
  void commands[command](parameters).then(tell, (error) => tell({ failed: String(error) }));
}
process.exit(0);
