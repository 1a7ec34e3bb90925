import { readFileSync } from 'node:fs';

const DOCUMENT = 'docs/errors.md';

/** The codes of docs/errors.md: those in answers of the API, and those only in logs. */
export function documentedCodes(): {
  readonly answered: readonly string[];
  readonly logged: readonly string[];
} {
  const [answered = '', logged = ''] = readFileSync(DOCUMENT, 'utf8').split('## Codes that only');
  return { answered: codesIn(answered), logged: codesIn(logged) };
}

/** Throws if the code of an error answer is not in docs/errors.md. */
export function assertDocumentedCode(request: string, body: unknown): void {
  const code = (body as { code?: unknown } | null | undefined)?.code;
  if (typeof code !== 'string' || !documentedCodes().answered.includes(code))
    throw new Error(`${request} answered ${JSON.stringify(body)}: its code is not in ${DOCUMENT}`);
}

function codesIn(text: string): string[] {
  return [...text.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, code = '']) => code);
}
