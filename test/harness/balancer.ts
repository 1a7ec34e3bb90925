import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP balancer on loopback. Each connection goes to the next server that accepts it, and is reset if none does. */
export class Balancer {
  private readonly sockets = new Set<Socket>();
  private next = 0;

  private constructor(
    private readonly ports: readonly number[],
    private readonly server = createServer(),
  ) {
    this.server.on('connection', (client) => this.accept(client));
  }

  static async before(ports: readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(ports);
    balancer.server.listen(0, '127.0.0.1');
    await once(balancer.server, 'listening');
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private accept(client: Socket): void {
    this.track(client);
    this.next += 1;
    this.forward(client, this.next, this.ports.length);
  }

  private forward(client: Socket, place: number, triesLeft: number): void {
    if (triesLeft === 0 || client.destroyed) return void client.resetAndDestroy();
    const upstream = connect(this.ports[place % this.ports.length] ?? 0, '127.0.0.1');
    const tryNext = () => this.forward(client, place + 1, triesLeft - 1);
    upstream.once('error', tryNext);
    upstream.once('connect', () => {
      upstream.off('error', tryNext);
      this.track(upstream);
      client.on('close', () => upstream.destroy());
      upstream.on('close', () => client.destroy());
      client.pipe(upstream).pipe(client);
    });
  }

  private track(socket: Socket): void {
    this.sockets.add(socket);
    // Resets are expected here; an unhandled `error` would end the test.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.sockets.delete(socket));
  }
}
