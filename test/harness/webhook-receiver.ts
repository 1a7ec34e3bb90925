import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';

interface Received {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly atMs: number;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export const answers = (status: number, text = ''): Answer => {
  return (_, response) => void response.writeHead(status).end(text);
};

/** An app's endpoint: a real HTTP server that notes each delivery and then answers as it is told. */
export class Receiver {
  readonly received: Received[] = [];
  mostAtOnce = 0;
  private atOnce = 0;

  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    public answer: Answer,
  ) {}

  static async start(answer: Answer = answers(204)): Promise<Receiver> {
    const server = createServer((request, response) => void receiver.take(request, response));
    const receiver = new Receiver(server, answer);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hooks`;
  }

  get ids(): string[] {
    return this.received.map(({ id }) => id);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce);
    response.on('close', () => (this.atOnce -= 1));
    request.on('error', () => undefined);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = request.headers as Record<string, string>;
    const id = headers['webhook-id'] ?? '';
    this.received.push({ id, headers, body: Buffer.concat(chunks).toString(), atMs: performance.now() });
    this.answer(request, response);
  }
}
