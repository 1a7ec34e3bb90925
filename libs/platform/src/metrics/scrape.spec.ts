import { expect, it } from '@jest/globals';
import { Gauge, Registry } from 'prom-client';
import { scrape } from './scrape.js';

const READ_MS = 20;

function registryWith(reads: Readonly<Record<string, () => void | Promise<void>>>): Registry {
  const registry = new Registry();
  for (const [name, read] of Object.entries(reads)) {
    const labelNames = name.startsWith('by_') ? ['kind'] : [];
    const gauge = new Gauge({
      ...{ name, help: name, labelNames, registers: [registry] },
      collect() {
        if (labelNames.length > 0) this.set({ kind: 'a' }, 7);
        else this.set(7);
        return read();
      },
    });
    if (labelNames.length === 0) gauge.set(1);
  }
  return registry;
}

const hangs = () => new Promise<void>(() => undefined);
const valuesOf = async (registry: Registry) =>
  (await scrape(registry, READ_MS)).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

it('a scrape leaves out the metrics that cannot be read in time, with and without labels, at each scrape', async () => {
  const registry = registryWith({
    at_once: () => undefined,
    soon: () => Promise.resolve(),
    never: hangs,
    by_kind_soon: () => Promise.resolve(),
    by_kind_never: hangs,
  });
  const readable = ['at_once 7', 'soon 7', 'by_kind_soon{kind="a"} 7'];
  expect(await valuesOf(registry)).toEqual(readable);
  expect(await valuesOf(registry)).toEqual(readable);
});

it('a scrape has a metric again once it can be read, and one that was made later', async () => {
  let isAway = true;
  const registry = registryWith({ server: () => (isAway ? hangs() : Promise.resolve()) });
  expect(await valuesOf(registry)).toEqual([]);
  isAway = false;
  new Gauge({ name: 'later', help: 'later', registers: [registry], collect: hangs });
  expect(await valuesOf(registry)).toEqual(['server 7']);
});

it('a scrape fails with the error of a metric that fails in time', async () => {
  const registry = registryWith({ broken: () => Promise.reject(new Error('a bug')) });
  await expect(scrape(registry, READ_MS)).rejects.toThrow('a bug');
});
