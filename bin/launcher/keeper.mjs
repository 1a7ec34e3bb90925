// A separate program that ends the children of a launcher after the launcher was killed with SIGKILL.
// The launcher reports each start and end over stdin. A pipe that closes without `goodbye` means that the launcher was killed.
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { endInOrder } from './processes.mjs';

const processes = new Map();
const discards = new Set();
let saidGoodbye = false;

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.started) processes.set(message.started.pid, message.started);
  if (message.ended) processes.delete(message.ended);
  if (message.discard) discards.add(message.discard);
  if (message.discarded) discards.delete(message.discarded);
  if (message.goodbye) saidGoodbye = true;
}

if (!saidGoodbye) {
  await endInOrder([...processes.values()]);
  for (const discard of discards) rmSync(discard, { recursive: true, force: true });
}
