import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

type Direction = 'to the server' | 'to the client';

interface Shape {
  readonly latencyMs?: number;
  readonly bytesPerSecond?: number;
}

const DRIP_MS = 20;

/** One direction of a connection. Keeps the order of the bytes, also when its shape changes. */
class Line {
  private readonly waiting: Array<{ readonly bytes: Buffer; readonly atMs: number }> = [];
  private freeAtMs = 0;

  constructor(private readonly to: Socket) {}

  send(bytes: Buffer, { latencyMs = 0, bytesPerSecond }: Shape): void {
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

  private flush(): void {
    const nowMs = performance.now();
    while ((this.waiting[0]?.atMs ?? Infinity) <= nowMs) this.to.write(this.waiting.shift()?.bytes ?? '');
    const [next] = this.waiting;
    if (next && !this.to.destroyed) setTimeout(() => this.flush(), next.atMs - nowMs);
  }
}

/**
 * A TCP proxy in front of a server, for failures of the network:
 * - `cut` resets connections and refuses new ones. `freeze` keeps connections open and passes no data.
 * - `heal` ends `cut`, `freeze`, `shape` and `mute`. It breaks the present connections; new connections work.
 * - `forget` freezes the present connections for good, and new ones work: a half-open link, as behind a router that has lost its table.
 * - `shape` delays each chunk, or passes on so many bytes a second.
 * - `mute` drops all bytes in one direction; those in the other direction still pass.
 * - `swallow` drops the bytes of a client from the first chunk on that contains the given text. The server's data still passes.
 * - `cutAfter` passes on a client's chunk that contains the given text, and breaks the connection when the server answers it: the client
 *   does not learn whether its statement was executed. Once per call.
 */
export class Proxy {
  private readonly sockets = new Set<Socket>();
  private state: 'open' | 'cut' | 'frozen' = 'open';
  private swallowedText: string | undefined;
  private lastText: string | undefined;
  private connectionsBeforeFreeze = Infinity;
  private shaped: Shape = {};
  private muted: Direction | undefined;
  /** The number of chunks that `swallow` has dropped. */
  swallowed = 0;
  /** The number of answers that `cutAfter` has kept from clients. */
  cutAnswers = 0;
  /** The number of connections that clients have opened, refused ones included. */
  connectionCount = 0;

  private constructor(
    private target: URL,
    private readonly server = createServer(),
  ) {
    this.server.on('connection', (client) => this.accept(client));
  }

  static async before(target: string): Promise<Proxy> {
    const proxy = new Proxy(new URL(target));
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  /** The target's URL with the port of this proxy. */
  get url(): string {
    const url = new URL(this.target);
    url.port = String((this.server.address() as AddressInfo).port);
    return url.toString();
  }

  cut(): void {
    this.state = 'cut';
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  freeze(): void {
    this.state = 'frozen';
    for (const socket of this.sockets) socket.pause();
  }

  /** Accepts `count` more connections, and freezes later ones. */
  freezeAfter(count: number): void {
    this.connectionsBeforeFreeze = count;
  }

  /** Breaks all connections and connects new ones to another server, as after a fail-over. */
  moveTo(target: string): void {
    this.target = new URL(target);
    for (const socket of this.sockets) socket.destroy();
  }

  forget(): void {
    for (const socket of this.sockets) socket.pause();
  }

  shape(shape: Shape): void {
    this.shaped = shape;
  }

  mute(direction: Direction): void {
    this.muted = direction;
  }

  swallow(text: string): void {
    this.swallowedText = text;
  }

  cutAfter(text: string): void {
    this.lastText = text;
  }

  heal(): void {
    this.state = 'open';
    this.connectionsBeforeFreeze = Infinity;
    this.shaped = {};
    this.muted = undefined;
    // The proxy drops the data that it held back, as a real half-open link does.
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private accept(client: Socket): void {
    this.track(client);
    this.connectionCount += 1;
    if (this.state === 'cut') return void client.resetAndDestroy();
    if (this.state === 'frozen' || this.connectionsBeforeFreeze <= 0) return void client.pause();
    this.connectionsBeforeFreeze -= 1;
    const upstream = connect(Number(this.target.port), this.target.hostname);
    this.track(upstream);
    const [toServer, toClient] = [new Line(upstream), new Line(client)];
    let isSwallowing = false;
    let isLast = false;
    client.on('data', (bytes: Buffer) => {
      isSwallowing ||= this.swallowedText !== undefined && bytes.includes(this.swallowedText);
      if (this.lastText !== undefined && bytes.includes(this.lastText)) {
        isLast = true;
        this.lastText = undefined;
        this.cutAnswers += 1;
      }
      if (isSwallowing) this.swallowed += 1;
      else if (this.muted !== 'to the server') toServer.send(bytes, this.shaped);
    });
    upstream.on('data', (bytes: Buffer) => {
      if (isLast) client.resetAndDestroy();
      else if (this.muted !== 'to the client') toClient.send(bytes, this.shaped);
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  }

  private track(socket: Socket): void {
    this.sockets.add(socket);
    // Resets are expected here; an unhandled `error` would end the test file.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.sockets.delete(socket));
  }
}
