/** FastAPI's body of a 422, which Oura's subscription routes send. */
export interface ValidationProblem {
  readonly loc: readonly string[];
  readonly msg: string;
  readonly type: string;
}

export type Check = (value: unknown) => Omit<ValidationProblem, 'loc'> | undefined;

export interface Field {
  readonly check: Check;
  readonly required: boolean;
}

const MISSING = { msg: 'field required', type: 'value_error.missing' };

export function validateBody(body: unknown, fields: Readonly<Record<string, Field>>): ValidationProblem[] {
  if (body === undefined || body === null) return [{ loc: ['body'], ...MISSING }];
  if (typeof body !== 'object' || Array.isArray(body)) {
    return [{ loc: ['body'], msg: 'value is not a valid dict', type: 'type_error.dict' }];
  }
  return Object.entries(fields).flatMap(([name, field]) => {
    const problem = checkField((body as Record<string, unknown>)[name], field);
    return problem ? [{ loc: ['body', name], ...problem }] : [];
  });
}

function checkField(value: unknown, field: Field): Omit<ValidationProblem, 'loc'> | undefined {
  if (value !== undefined) return field.check(value);
  return field.required ? MISSING : undefined;
}

export const isText: Check = (value) => {
  if (typeof value === 'string') return undefined;
  return value === null
    ? { msg: 'none is not an allowed value', type: 'type_error.none.not_allowed' }
    : { msg: 'str type expected', type: 'type_error.str' };
};

export const isHttpUrl: Check = (value) => {
  if (typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value)) return undefined;
  return { msg: 'invalid or missing URL scheme', type: 'value_error.url.scheme' };
};

export function isOneOf(members: readonly string[]): Check {
  const permitted = members.map((member) => `'${member}'`).join(', ');
  return (value) => {
    if (typeof value === 'string' && members.includes(value)) return undefined;
    return {
      msg: `value is not a valid enumeration member; permitted: ${permitted}`,
      type: 'type_error.enum',
    };
  };
}

export const isDate: Check = (value) => {
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) && isCalendarDay(value)) return undefined;
  return { msg: 'invalid date format', type: 'value_error.date' };
};

function isCalendarDay(value: string): boolean {
  const at = Date.parse(`${value}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(value);
}
