import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { assertDocumentedCode } from '../../harness/error-codes.js';
import { AnswerValidator } from '../../harness/openapi-document.js';
import { type Caller, type FuzzRequest } from './requests.js';

const CORPUS = 'test/chaos/corpus';
const ANSWERED_MS = 5_000;
// `?wait=` and `Prefer: wait` ask the api to wait.
const LONGEST_WAIT_MS = 30_000;
const NO_ANSWER_MS = 45_000;

/** A request whose answer breaks a promise. */
export interface Found {
  readonly sent: FuzzRequest;
  readonly problem: string;
}

type Headers = Readonly<Record<string, string>>;

/** Sends requests, and checks that each is answered in time and as docs/openapi.json says. Cases that fail are kept in test/chaos/corpus. */
export class Fuzzer {
  readonly found: Found[] = [];
  readonly byStatus: Record<string, number> = {};
  longestMs = 0;
  private readonly described = new AnswerValidator();

  constructor(
    private readonly url: string,
    private readonly callers: Readonly<Record<Caller, Headers>>,
  ) {}

  /** All cases that were ever found. */
  static corpus(): FuzzRequest[] {
    if (!existsSync(CORPUS)) return [];
    const files = readdirSync(CORPUS).filter((name) => name.endsWith('.json'));
    return files.map((name) => JSON.parse(readFileSync(join(CORPUS, name), 'utf8')) as FuzzRequest);
  }

  async send(sent: FuzzRequest): Promise<void> {
    const begunAtMs = performance.now();
    try {
      const { status, body } = await this.answerTo(sent);
      const tookMs = performance.now() - begunAtMs;
      this.byStatus[status] = (this.byStatus[status] ?? 0) + 1;
      if (!mayWait(sent)) this.longestMs = Math.max(this.longestMs, tookMs);
      if (tookMs > ANSWERED_MS + (mayWait(sent) ? LONGEST_WAIT_MS : 0))
        throw new Error(`answered ${status} after ${Math.round(tookMs)} ms`);
      if (status === 500) throw new Error(`answered 500 ${JSON.stringify(body)}`);
      this.described.assert({ method: sent.method, path: sent.path, status, body });
      // Answers of the add-on have a reason in place of a code.
      if (status >= 400 && hasCode(body)) assertDocumentedCode(`${sent.method} ${sent.path}`, body);
    } catch (error) {
      this.keep(sent, (error as Error).message);
    }
  }

  private keep(sent: FuzzRequest, problem: string): void {
    this.found.push({ sent, problem: problem.slice(0, 1_000) });
    const text = `${JSON.stringify(sent, undefined, 2)}\n`;
    const name = createHash('sha256').update(text).digest('hex').slice(0, 12);
    mkdirSync(CORPUS, { recursive: true });
    writeFileSync(join(CORPUS, `${name}.json`), text);
  }

  /** `fetch` would change some paths, so the request is sent as it is. */
  private answerTo({ method, path, as, headers, body }: FuzzRequest) {
    return new Promise<{ status: number; body: unknown }>((resolve, reject) => {
      const length: Headers = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const all = { accept: 'application/json', ...this.callers[as], ...headers, ...length };
      const { hostname, port } = new URL(this.url);
      const sending = request({ hostname, port, method, path, headers: all, timeout: NO_ANSWER_MS });
      sending.on('timeout', () => sending.destroy(new Error('no answer in 45 s')));
      sending.on('error', reject);
      sending.on('response', (answer) => {
        readBody(answer).then((read) => resolve({ status: answer.statusCode ?? 0, body: read }), reject);
      });
      sending.end(body);
    });
  }
}

/** The JSON of an answer; undefined for another type and for a stream of events, which does not end. */
async function readBody(answer: IncomingMessage): Promise<unknown> {
  const type = answer.headers['content-type'] ?? '';
  if (type.startsWith('text/event-stream')) {
    answer.destroy();
    return undefined;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return type.startsWith('application/json') && text ? (JSON.parse(text) as unknown) : undefined;
}

const hasCode = (body: unknown) => typeof body === 'object' && body !== null && 'code' in body;

const mayWait = ({ path, headers }: FuzzRequest) => /[?&]wait=/.test(path) || 'Prefer' in headers;
