import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * Stands between a process and a server and misbehaves on request: `cut` refuses and resets, `freeze` keeps connections
 * open but lets nothing through, `heal` ends both. `forget` freezes the connections there are for good while new ones work: a
 * half-open link, as a router leaves it that has lost its table. `swallow` lets everything through but, from a client's chunk
 * on that has that text, what the client says.
 */
export class Proxy {
  private readonly sockets = new Set<Socket>();
  private state: 'open' | 'cut' | 'frozen' = 'open';
  private unwanted: string | undefined;
  /** How many chunks have been swallowed. */
  swallowed = 0;

  private constructor(
    private readonly target: URL,
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

  /** The target's URL, by way of this proxy. */
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

  forget(): void {
    for (const socket of this.sockets) socket.pause();
  }

  swallow(text: string): void {
    this.unwanted = text;
  }

  heal(): void {
    this.state = 'open';
    // What was held back while frozen is stale: a real half-open link would have lost it.
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private accept(client: Socket): void {
    this.track(client);
    if (this.state === 'cut') return void client.resetAndDestroy();
    if (this.state === 'frozen') return void client.pause();
    const upstream = connect(Number(this.target.port), this.target.hostname);
    this.track(upstream);
    let isSwallowing = false;
    client.on('data', (bytes: Buffer) => {
      isSwallowing ||= this.unwanted !== undefined && bytes.includes(this.unwanted);
      if (isSwallowing) this.swallowed += 1;
      else upstream.write(bytes);
    });
    upstream.on('data', (bytes) => client.write(bytes));
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  }

  private track(socket: Socket): void {
    this.sockets.add(socket);
    // A reset by the other side is what this is for.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.sockets.delete(socket));
  }
}
