export const TEMPLATE = 'pacekeeper_template';

export function required(name: 'DATABASE_URL' | 'REDIS_URL' | 'NATS_URL'): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests with npm test`);
  return value;
}

export function serverUrl(database: string): string {
  const url = new URL(required('DATABASE_URL'));
  url.pathname = `/${database}`;
  return url.toString();
}
