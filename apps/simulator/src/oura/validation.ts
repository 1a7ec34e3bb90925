/** One entry of FastAPI's 422, in the format of pydantic 2. */
export interface ValidationProblem {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input: unknown;
  readonly ctx?: Readonly<Record<string, unknown>>;
  readonly url?: string;
}

type Complaint = Pick<ValidationProblem, 'type' | 'msg' | 'ctx'>;

export type Check = (value: unknown) => Complaint | undefined;

export interface Field {
  readonly check: Check;
  readonly required: boolean;
}

export function validateBody(body: unknown, fields: Readonly<Record<string, Field>>): ValidationProblem[] {
  if (body === undefined || body === null) return [problemAt(['body'], MISSING, null)];
  if (typeof body !== 'object' || Array.isArray(body)) {
    const msg = 'Input should be a valid dictionary or object to extract fields from';
    return [problemAt(['body'], { type: 'model_attributes_type', msg }, body)];
  }
  return Object.entries(fields).flatMap(([name, field]) => {
    const value = (body as Record<string, unknown>)[name];
    if (value === undefined) return field.required ? [problemAt(['body', name], MISSING, body)] : [];
    return problemsOf(['body', name], field.check, value);
  });
}

export function problemsOf(loc: readonly string[], check: Check, value: unknown): ValidationProblem[] {
  const complaint = check(value);
  return complaint ? [problemAt(loc, complaint, value)] : [];
}

export function problemAt(loc: readonly string[], complaint: Complaint, input: unknown): ValidationProblem {
  const { type, msg, ctx } = complaint;
  const url = `https://errors.pydantic.dev/2.7/v/${type}`;
  return { type, loc, msg, input, ...(ctx && { ctx }), url };
}

const MISSING = { type: 'missing', msg: 'Field required' };

export const isText: Check = (value) =>
  typeof value === 'string' ? undefined : { type: 'string_type', msg: 'Input should be a valid string' };

export const isHttpUrl: Check = (value) => {
  if (typeof value !== 'string') return { type: 'url_type', msg: 'URL input should be a string or URL' };
  if (!URL.canParse(value)) {
    const error = 'relative URL without a base';
    return { type: 'url_parsing', msg: `Input should be a valid URL, ${error}`, ctx: { error } };
  }
  if (/^https?:\/\//.test(value)) return undefined;
  const expected = "'http' or 'https'";
  const ctx = { expected_schemes: expected };
  return { type: 'url_scheme', msg: `URL scheme should be ${expected}`, ctx };
};

export function isOneOf(members: readonly string[]): Check {
  const quoted = members.map((member) => `'${member}'`);
  const expected = `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
  return (value) => {
    if (typeof value === 'string' && members.includes(value)) return undefined;
    return { type: 'enum', msg: `Input should be ${expected}`, ctx: { expected } };
  };
}
