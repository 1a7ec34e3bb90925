// Every command runs inside `run`, which ends all processes of the command, however the command ends.
import { Children } from './children.mjs';
import { lastLines } from './files.mjs';
import { endBlock, messageOf, say } from './terminal.mjs';

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };
// On Ctrl-C the terminal and npm each send SIGINT. So a second signal within this time is not a second Ctrl-C.
const SAME_INTERRUPT_MS = 1_000;
const PARENT_CHECK_MS = 1_000;

/**
 * Runs a command, ends its children in order, and exits:
 *
 * | event                                        | exit code                                          |
 * | `main` returns                               | its result, or 0                                   |
 * | `main` throws, a child ends unexpectedly     | 1                                                  |
 * | SIGHUP, SIGINT, SIGTERM                      | 129, 130, 143; 0 after `treatInterruptAsSuccess`   |
 * | the same, 1 s or more after the end began    | 129, 130, 143; the children are killed at once     |
 */
export async function run(main) {
  let endingSince = null;
  let codeOfInterrupt = (name) => SIGNALS[name];
  let stoppedMessage;

  const children = new Children((child) => finish(1, { message: unexpectedEnd(child) }));
  const context = {
    args: process.argv.slice(2),
    children,
    /** After this call an interrupt exits with 0, and `message` is shown once all children have ended. */
    treatInterruptAsSuccess: (message) => {
      codeOfInterrupt = () => 0;
      stoppedMessage = message;
    },
    untilInterrupted: new Promise(() => {}),
  };

  async function finish(code, { message, finalMessage } = {}) {
    if (endingSince !== null) return;
    endingSince = performance.now();
    endBlock();
    if (message) say(message);
    await children.endAll().catch((error) => say(messageOf(error)));
    if (finalMessage) say(finalMessage);
    process.exit(code);
  }

  function stop(signal) {
    const message = children.areRunning && 'stopping …';
    return finish(codeOfInterrupt(signal), { message, finalMessage: stoppedMessage });
  }

  async function interrupt(name) {
    if (endingSince === null) return stop(name);
    if (performance.now() - endingSince < SAME_INTERRUPT_MS) return;
    await children.endAll({ atOnce: true });
    process.exit(SIGNALS[name]);
  }

  for (const name of Object.keys(SIGNALS)) process.on(name, () => void interrupt(name));
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {}); // the reader of a pipe may end first
  process.on('uncaughtException', (error) => void finish(1, { message: messageOf(error) }));
  followParent(() => void interrupt('SIGTERM'));

  try {
    const code = await main(context);
    await finish(code ?? 0);
  } catch (error) {
    await finish(1, { message: messageOf(error) });
  }
}

// If npm is killed with SIGKILL, it passes no signal on to us. But our parent process changes, and then we stop ourselves.
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

function unexpectedEnd({ name, log }) {
  const lines = lastLines(log);
  return [`${name} ended unexpectedly.`, lines && `The last lines of ${log}:\n${lines}`]
    .filter(Boolean)
    .join(' ');
}
