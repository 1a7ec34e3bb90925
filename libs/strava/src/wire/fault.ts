import { z } from 'zod';
import { parseJson } from '../parse-json.js';

/** How Strava says no: `{"message", "errors": [{"resource", "field", "code"}]}`. */
export interface Fault {
  readonly message: string;
  readonly errors: ReadonlyArray<{
    readonly resource: string;
    readonly field: string;
    readonly code: string;
  }>;
}

const word = z.string().max(100).catch('');
const WireFault = z.object({
  message: word,
  errors: z
    .array(z.object({ resource: word, field: word, code: word }))
    .max(20)
    .catch([]),
});

/** Of whatever came with an error status: a gateway's page has no faults. */
export function faultOf(body: Buffer): Fault {
  try {
    return WireFault.parse(parseJson(body.toString('utf8')));
  } catch {
    return { message: '', errors: [] };
  }
}

export function faultText({ message, errors }: Fault): string {
  const [first] = errors;
  return first ? `${first.resource} ${first.field} ${first.code}`.trim() : message || 'no reason given';
}
