const QUIET_MS = 1_000; // what is faster needs no announcement
const HEARTBEAT_MS = 10_000;
const isTerminal = Boolean(process.stderr.isTTY);

/** Says what takes long, and afterwards how long it took. On stderr: stdout belongs to the command's result. */
export async function step(name, work) {
  const startedAt = Date.now();
  const elapsed = () => `${((Date.now() - startedAt) / 1000).toFixed(1)} s`;
  const stop = isTerminal ? redraw(name, elapsed) : announce(name, elapsed);
  try {
    const result = await work();
    stop();
    say(`${name}  ${elapsed()}`);
    return result;
  } catch (error) {
    stop();
    say(`${name}  failed after ${elapsed()}`);
    throw error;
  }
}

export const say = (line) => void process.stderr.write(`${line}\n`);

function redraw(name, elapsed) {
  const draw = () => process.stderr.write(`\r${name} … ${elapsed()} `);
  const timer = setInterval(draw, 500);
  return () => {
    clearInterval(timer);
    process.stderr.write('\r\x1b[K');
  };
}

function announce(name, elapsed) {
  let heartbeat;
  const first = setTimeout(() => {
    say(`${name} …`);
    heartbeat = setInterval(() => say(`${name} … ${elapsed()}`), HEARTBEAT_MS);
  }, QUIET_MS);
  return () => {
    clearTimeout(first);
    clearInterval(heartbeat);
  };
}
