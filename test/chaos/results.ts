import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';

const FOLDER = 'test/chaos/results';

/** Where a run was measured. The load at the beginning tells whether the machine had other work. */
export const MACHINE = {
  cores: cpus().length,
  model: cpus()[0]?.model,
  load: loadavg(),
  node: process.version,
};

/** Keeps the raw numbers of a run, for docs/reliability.md. */
export function keepResults(name: string, results: object): void {
  const at = new Date().toISOString();
  const file = `${FOLDER}/${name}-${at.slice(0, 16).replaceAll(':', '')}.json`;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(file, `${JSON.stringify({ at, ...results }, undefined, 2)}\n`);
  console.log(`the raw numbers are in ${file}`);
}
