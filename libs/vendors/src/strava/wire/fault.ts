import { z } from 'zod';
import { parseJson } from '../../call/parse-json.js';
import { type ReadFault } from '../../call/vendor-answer.js';

/** The body of an error from Strava: `{"message", "errors": [{"resource", "field", "code"}]}`. */
interface Fault {
  readonly message: string;
  readonly errors: ReadonlyArray<{
    readonly resource: string;
    readonly field: string;
    readonly code: string;
  }>;
}

const shortText = z.string().max(100).catch('');
const WireFault = z.object({
  message: shortText,
  errors: z
    .array(z.object({ resource: shortText, field: shortText, code: shortText }))
    .max(20)
    .catch([]),
});

/** Reads the body of any error answer. An HTML page of a gateway gives an empty fault. */
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

/** A missing scope comes with a 401, an inactive app with a 403. */
export const readStravaFault: ReadFault = ({ body }) => {
  const fault = faultOf(body);
  const scope = fault.errors.find(({ code }) => code === 'missing')?.field;
  if (scope) return { means: 'missing scope', text: `${scope} is missing` };
  const isInactive = fault.errors.some(
    ({ resource, code }) => resource === 'Application' && code === 'Inactive',
  );
  return { means: isInactive ? 'app inactive' : undefined, text: faultText(fault) };
};
