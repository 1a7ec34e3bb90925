// A replica as a separate process. It reads commands from stdin, runs each at a session gate or a coalescer, and prints JSON lines.
import 'reflect-metadata';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

const dist = (file) => import(new URL(`../../dist/libs/${file}`, import.meta.url).href);
const { createLogger } = await dist('platform/src/index.js');
const { Coalescer, subscriberConnection, reliabilityConnection, SessionGate } =
  await dist('reliability/src/index.js');

const config = JSON.parse(process.argv[2]);
const logger = createLogger({ level: 'silent', process: 'replica' });
const redis = reliabilityConnection(config, logger, { commandTimeout: 30_000 });
const subscriber = subscriberConnection(config, logger);
await Promise.all([once(redis, 'ready'), once(subscriber, 'ready')]);
const coalescer = new Coalescer(redis, subscriber, logger);
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const commands = {
  /** Requests admission for all sessions at once, and repeats this `times` times. Prints the number of each outcome. */
  async admit({ pool, policy, sessions, times }) {
    const gate = new SessionGate(redis, policy);
    const kinds = {};
    const admit = async (session) => {
      const { kind } = await gate.admit(pool, session);
      kinds[kind] = (kinds[kind] ?? 0) + 1;
    };
    for (let time = 0; time < times; time += 1) await Promise.all(sessions.map(admit));
    return { kinds };
  },
  /** Sends `times` identical requests at once and prints the results. The work of a request takes `workMs` and returns `value`. */
  async share({ request, times, workMs, value }) {
    const work = async (signal) => {
      print({ working: value });
      try {
        await pause(workMs, undefined, { signal });
      } catch {
        print({ aborted: value });
        throw signal.reason;
      }
      return value;
    };
    const answers = await Promise.allSettled(
      Array.from({ length: times }, () => coalescer.share(request, work)),
    );
    return { answers: answers.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.name)) };
  },
};

print({ ready: true });
for await (const line of createInterface(process.stdin)) {
  const { command, ...parameters } = JSON.parse(line);
  void commands[command](parameters).then(print, (error) => print({ failed: String(error) }));
}
process.exit(0);
