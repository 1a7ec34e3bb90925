import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

const HEADER_BYTES = 12;
const A = 1;
const AAAA = 28;
const ANSWERED = 0x8180;
const NO_SUCH_NAME = 0x8183;

/** A DNS server. It answers the addresses of the names that it has, and never answers a question about a name below `silent.example`. */
export class DnsServer {
  /** The names that were asked for. */
  readonly questions: string[] = [];

  private constructor(
    private readonly socket: Socket,
    private readonly names: Readonly<Record<string, readonly string[]>>,
  ) {}

  static async start(names: Readonly<Record<string, readonly string[]>>): Promise<DnsServer> {
    const socket = createSocket('udp4');
    const server = new DnsServer(socket, names);
    socket.on('message', (message, sender) => server.take(message, sender));
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return server;
  }

  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  async stop(): Promise<void> {
    await new Promise<void>((closed) => this.socket.close(() => closed()));
  }

  private take(message: Buffer, { port, address }: RemoteInfo): void {
    const { name, type, end } = questionIn(message);
    this.questions.push(name);
    if (name.endsWith('silent.example')) return;
    const known = this.names[name];
    const records = (known ?? []).filter((one) => (isIPv6(one) ? AAAA : A) === type).map(recordOf);
    const header = Buffer.alloc(HEADER_BYTES);
    message.copy(header, 0, 0, 2);
    header.writeUInt16BE(known ? ANSWERED : NO_SUCH_NAME, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    this.socket.send([header, message.subarray(HEADER_BYTES, end), ...records], port, address);
  }
}

function questionIn(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

/** A record with the name of the question, and without a lifetime. */
function recordOf(address: string): Buffer {
  const bytes = isIPv6(address) ? bytesOf6(address) : Buffer.from(address.split('.').map(Number));
  const fields = Buffer.alloc(HEADER_BYTES);
  fields.writeUInt16BE(0xc000 | HEADER_BYTES, 0);
  fields.writeUInt16BE(isIPv6(address) ? AAAA : A, 2);
  fields.writeUInt16BE(1, 4);
  fields.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([fields, bytes]);
}

function bytesOf6(address: string): Buffer {
  const [before = '', after = ''] = address.split('::');
  const groups = (text: string) => text.split(':').filter(Boolean);
  const zeros = Array.from({ length: 8 - groups(before).length - groups(after).length }, () => '0');
  const all = [...groups(before), ...zeros, ...groups(after)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
