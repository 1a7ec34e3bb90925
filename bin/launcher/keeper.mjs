// Outlives a launcher that was killed outright: told over stdin what was started, it ends all of it
// when the pipe closes without a goodbye.
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { endInOrder } from './ending.mjs';

const processes = new Map();
const leftovers = new Set();
let saidGoodbye = false;

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.started) processes.set(message.started.pid, message.started);
  if (message.ended) processes.delete(message.ended);
  if (message.discard) leftovers.add(message.discard);
  if (message.discarded) leftovers.delete(message.discarded);
  if (message.goodbye) saidGoodbye = true;
}

if (!saidGoodbye) {
  await endInOrder([...processes.values()]);
  for (const leftover of leftovers) rmSync(leftover, { recursive: true, force: true });
}
