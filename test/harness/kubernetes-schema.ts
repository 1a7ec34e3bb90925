import { type Manifest } from './kustomize.js';

interface Model {
  readonly prototype: { validate(): void };
}

// The packages validate one kind in each module. They do not complain about a field that they do not know.
const packages: Readonly<Record<string, string>> = {
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
};

/** The problems of a manifest: what its schema forbids, and each field that the schema does not have. */
export async function problemsOf(manifest: Manifest): Promise<readonly string[]> {
  const { apiVersion, kind } = manifest;
  const from = packages[apiVersion.split('/')[0] ?? ''] ?? 'kubernetes-models';
  const models = (await import(`${from}/${apiVersion}/${kind}`)) as Readonly<Record<string, Model>>;
  const unread = new Set<string>();
  const at = `${kind} ${manifest.metadata.name}`;
  try {
    models[kind]?.prototype.validate.call(watched(manifest, at, unread));
  } catch (error) {
    return [`${at}: ${(error as Error).message}`];
  }
  return [...unread].map((field) => `${field} is unknown`);
}

/** A validator reads each field that it knows. So a field that it leaves unread is misspelt, or at the wrong place. */
function watched<T extends object>(value: T, at: string, unread: Set<string>): T {
  const children = new Map<string, unknown>();
  for (const [key, child] of Object.entries(value)) {
    const place = `${at}.${key}`;
    unread.add(place);
    children.set(key, typeof child === 'object' && child !== null ? watched(child, place, unread) : child);
  }
  return new Proxy(value, {
    get(target, key) {
      if (typeof key !== 'string' || !children.has(key)) return Reflect.get(target, key) as unknown;
      unread.delete(`${at}.${key}`);
      return children.get(key);
    },
  });
}
