import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** A service of docker-compose.yml, with the merges of `<<` done. */
export interface ComposeService {
  readonly image: string;
  readonly command?: string;
  readonly ports?: readonly string[];
  readonly profiles?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly env_file?: ReadonlyArray<{ readonly path: string; readonly required: boolean }>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly volumes?: readonly string[];
  readonly networks?: Readonly<Record<string, { readonly aliases: readonly string[] }>>;
  readonly stop_grace_period?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
}

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** docker-compose.yml as Docker reads it, with the variables of `env` and their defaults in place. */
export function composed(env: Readonly<Record<string, string>> = {}): Compose {
  const text = readFileSync('docker-compose.yml', 'utf8');
  return parse(interpolated(text, env), { merge: true }) as Compose;
}

/** `${NAME:-default}` is the only form that the file uses; any other `$` throws. */
function interpolated(text: string, env: Readonly<Record<string, string>>): string {
  const done = text.replaceAll(
    /\$\{([A-Z_]+):-([^}]*)\}/g,
    (_, name: string, fallback: string) => env[name] || fallback,
  );
  const code = done.replaceAll(/^\s*#.*$/gm, '');
  if (code.includes('$')) throw new Error('docker-compose.yml uses a variable without a default');
  return done;
}
