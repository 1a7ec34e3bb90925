import { Children } from './children.mjs';
import { tell } from './failure.mjs';
import { lastLines } from './files.mjs';
import { say } from './progress.mjs';

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };
// npm passes on the Ctrl-C that the terminal has already given us: that echo is not a second one.
const ECHO_MS = 1_000;
const PARENT_CHECK_MS = 1_000;

/**
 * Runs a command and ends everything it started, whichever way it goes: done, failed, interrupted, or a child died.
 * `main` answers the exit code, or nothing for 0.
 */
export async function run(main) {
  let endingSince = null;
  let interruptionCode = (name) => SIGNALS[name];

  const children = new Children((child) => finish(1, death(child)));
  const theRun = {
    args: process.argv.slice(2),
    children,
    /** An interruption is from now on the ordinary way to stop. */
    interruptionIsSuccess: () => (interruptionCode = () => 0),
    untilInterrupted: new Promise(() => {}),
  };

  async function finish(code, message) {
    if (endingSince !== null) return;
    endingSince = Date.now();
    if (message) say(message);
    await children.endAll().catch((error) => say(tell(error)));
    process.exit(code);
  }

  async function interrupt(name) {
    if (endingSince === null) return finish(interruptionCode(name));
    if (Date.now() - endingSince < ECHO_MS) return;
    await children.endAll({ atOnce: true });
    process.exit(SIGNALS[name]);
  }

  for (const name of Object.keys(SIGNALS)) process.on(name, () => void interrupt(name));
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {}); // nobody reads any more
  process.on('uncaughtException', (error) => void finish(1, tell(error)));
  followParent(() => void interrupt('SIGTERM'));

  try {
    const code = await main(theRun);
    await finish(code ?? 0);
  } catch (error) {
    await finish(1, tell(error));
  }
}

// npm killed outright cannot pass anything on; without it nobody would ever stop us.
function followParent(stop) {
  if (!process.env.npm_lifecycle_event) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, PARENT_CHECK_MS);
  timer.unref();
}

function death({ name, log }) {
  const lines = lastLines(log);
  return [`${name} ended unexpectedly.`, lines && `The last lines of ${log}:\n${lines}`]
    .filter(Boolean)
    .join(' ');
}
