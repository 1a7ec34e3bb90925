/** One value of the configuration, by its path: `gate.capacity`. */
export interface SettingLine {
  readonly name: string;
  readonly value: string;
  readonly isSecret: boolean;
}

/** `origin_0000000000042` → `0042_origin`, as the file in migrations/ is named. */
export function migrationName(name: string): string {
  return name.replace(/^(\w+?)_0*(\d{4,})$/, '$2_$1');
}

const SECRET = '[redacted]';

/** The configuration as lines. Objects are opened; lists of plain values are one line; `warnings` are shown elsewhere. */
export function linesOf(config: Readonly<Record<string, unknown>>): SettingLine[] {
  return Object.entries(config).flatMap(([name, value]) =>
    name === 'warnings' ? [] : linesBelow(name, value),
  );
}

function linesBelow(name: string, value: unknown): SettingLine[] {
  if (Array.isArray(value) && !value.some(isObject)) return [lineOf(name, value.map(String).join(', '))];
  if (!isObject(value)) return [lineOf(name, String(value))];
  return Object.entries(value).flatMap(([key, below]) => linesBelow(`${name}.${key}`, below));
}

function lineOf(name: string, value: string): SettingLine {
  return { name, value: value === '' ? '–' : value, isSecret: value === SECRET };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
