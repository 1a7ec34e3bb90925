import { createServer, type IncomingMessage } from 'node:http';
import { Webhook } from 'standardwebhooks';

// Prints one line for each change that Pacekeeper posts here: node dist/examples/webhook-receiver/main.js, with WEBHOOK_SECRET and PORT.
const MOST_BYTES = 1_000_000;
const secret = process.env.WEBHOOK_SECRET;
if (!secret)
  throw new Error('WEBHOOK_SECRET is required: the `secret` in the answer to POST /v1/webhook-endpoints');
const webhook = new Webhook(secret);

interface Change {
  readonly id: string;
  readonly type: string;
  readonly athlete_id: string;
  readonly subject_id: string;
  readonly revision: number;
}

// A delivery may come twice, for example if the answer to the first one was lost. A real app keeps these ids in its database, and adds
// them in the transaction that stores the change.
const seen = new Set<string>();

const server = createServer((request, response) => {
  textOf(request)
    .then((body) => {
      const { id, type, subject_id, revision } = webhook.verify(body, headersOf(request)) as Change;
      if (!seen.has(id)) console.log(JSON.stringify({ id, type, subject_id, revision }));
      seen.add(id);
      response.writeHead(204).end();
    })
    // Nothing of a forged request is printed. Pacekeeper tries again after any answer but 2xx.
    .catch(() => response.writeHead(400).end());
});
server.listen(Number(process.env.PORT ?? 4_500), '127.0.0.1');
process.once('SIGTERM', () => server.close(() => process.exit()));

/** The body byte for byte: the signature covers it, so it is not parsed before. */
async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
    size += (chunk as Buffer).length;
    if (size > MOST_BYTES) throw new Error('too large');
  }
  return Buffer.concat(chunks).toString();
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
  return Object.fromEntries(names.map((name) => [name, String(headers[name] ?? '')]));
}
