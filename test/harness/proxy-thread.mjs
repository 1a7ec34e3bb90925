// The thread of a `Proxy` (proxy.ts): it has the connections, and carries out the commands that the test's thread sends.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const DRIP_MS = 20;

/** One direction of a connection. Keeps the order of the bytes, also when its shape changes. */
class Line {
  waiting = [];
  freeAtMs = 0;

  constructor(to) {
    this.to = to;
  }

  send(bytes, { latencyMs = 0, bytesPerSecond }) {
    const nowMs = performance.now();
    const piece = bytesPerSecond ? Math.ceil((bytesPerSecond * DRIP_MS) / 1_000) : bytes.length;
    this.freeAtMs = Math.max(this.freeAtMs, nowMs + latencyMs);
    const isIdle = this.waiting.length === 0;
    for (let from = 0; from < bytes.length; from += piece) {
      this.waiting.push({ bytes: bytes.subarray(from, from + piece), atMs: this.freeAtMs });
      if (bytesPerSecond) this.freeAtMs += DRIP_MS;
    }
    if (isIdle) this.flush();
  }

  flush() {
    const nowMs = performance.now();
    while ((this.waiting[0]?.atMs ?? Infinity) <= nowMs) this.to.write(this.waiting.shift()?.bytes ?? '');
    const [next] = this.waiting;
    if (next && !this.to.destroyed) setTimeout(() => this.flush(), next.atMs - nowMs);
  }
}

const { counts, places } = workerData;
let target = new URL(workerData.target);
const sockets = new Set();
let state = 'open';
let swallowedText;
let lastText;
let connectionsBeforeFreeze = Infinity;
let shaped = {};
let muted;

const commands = {
  cut() {
    state = 'cut';
    for (const socket of sockets) socket.resetAndDestroy();
  },
  freeze() {
    state = 'frozen';
    for (const socket of sockets) socket.pause();
  },
  freezeAfter(count) {
    connectionsBeforeFreeze = count;
  },
  moveTo(url) {
    target = new URL(url);
    for (const socket of sockets) socket.destroy();
  },
  forget() {
    for (const socket of sockets) socket.pause();
  },
  shape(shape) {
    shaped = shape;
  },
  mute(direction) {
    muted = direction;
  },
  swallow(text) {
    swallowedText = text;
  },
  cutAfter(text) {
    lastText = text;
  },
  heal() {
    state = 'open';
    connectionsBeforeFreeze = Infinity;
    shaped = {};
    muted = undefined;
    // The proxy drops the data that it held back, as a real half-open link does.
    for (const socket of sockets) socket.destroy();
  },
};

const server = createServer((client) => {
  track(client);
  Atomics.add(counts, places.connections, 1);
  if (state === 'cut') return void client.resetAndDestroy();
  if (state === 'frozen' || connectionsBeforeFreeze <= 0) return void client.pause();
  connectionsBeforeFreeze -= 1;
  const upstream = connect(Number(target.port), target.hostname);
  track(upstream);
  const [toServer, toClient] = [new Line(upstream), new Line(client)];
  let isSwallowing = false;
  let isLast = false;
  client.on('data', (bytes) => {
    isSwallowing ||= swallowedText !== undefined && bytes.includes(swallowedText);
    if (lastText !== undefined && bytes.includes(lastText)) {
      isLast = true;
      lastText = undefined;
      Atomics.add(counts, places.cutAnswers, 1);
    }
    if (isSwallowing) Atomics.add(counts, places.swallowed, 1);
    else if (muted !== 'to the server') toServer.send(bytes, shaped);
  });
  upstream.on('data', (bytes) => {
    if (isLast) client.resetAndDestroy();
    else if (muted !== 'to the client') toClient.send(bytes, shaped);
  });
  client.on('close', () => upstream.destroy());
  upstream.on('close', () => client.destroy());
});

function track(socket) {
  sockets.add(socket);
  // Resets are expected here; an unhandled `error` would end the thread.
  socket.on('error', () => socket.destroy());
  socket.on('close', () => sockets.delete(socket));
}

parentPort.on('message', ({ command, parameters }) => {
  commands[command](...parameters);
  Atomics.add(counts, places.commands, 1);
  Atomics.notify(counts, places.commands);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
parentPort.postMessage(server.address().port);
