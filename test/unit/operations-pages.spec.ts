import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { rules } from '../harness/monitoring-files.js';
import { operationsOf, readDocument } from '../harness/openapi-document.js';

const FOLDER = 'docs/operations';
const RUNBOOKS = `${FOLDER}/runbooks`;
const INDEX = `${RUNBOOKS}/README.md`;
// Neither page has an alert of its own: a person decides to restore a backup, and a vendor's move looks like an outage. These pages link to them.
const WITHOUT_ALERT = { 'restore.md': 'postgres-failover.md', 'vendor-moves.md': 'vendor-outage.md' };

const textOf = (file: string) => readFileSync(file, 'utf8');
const pages = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md') && name !== 'configuration.md')
  .map((name) => `${FOLDER}/${name}`)
  .sort();
const runbooks = readdirSync(RUNBOOKS).filter((name) => name !== 'README.md');

const source = ['libs', 'apps']
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .filter((file) => /\.(ts|sql|lua)$/.test(file) && !/\.(spec|harness)\.ts$/.test(file))
  .map(textOf)
  .join('\n');
const known = [
  source,
  ...['.env.example', 'docs/openapi.json', 'deploy/k8s/secret.env.example', 'docker-compose.yml'].map(textOf),
  ...['recording.yml', 'alerts.yml'].map((file) => textOf(`deploy/prometheus/rules/${file}`)),
  textOf('deploy/k8s/large/prometheus-adapter.yaml'),
  textOf('deploy/k8s/small/postgres.yaml'),
].join('\n');
const isKnown = (name: string) => new RegExp(`(?<![A-Za-z0-9_])${name}(?![A-Za-z0-9_])`).test(known);

/** The names in backticks that this pattern describes. */
const named = (file: string, pattern: string) =>
  [...textOf(file).matchAll(new RegExp(`\`(${pattern})(?:\\{[^\`]*\\}|=[^\`]*)?\``, 'g'))].map(
    ([, name = '']) => name,
  );

describe('the runbooks', () => {
  it('the index of the runbooks lists each runbook, and nothing else', () => {
    const listed = [...textOf(INDEX).matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, file]) => file);
    expect(listed.sort()).toEqual([...runbooks].sort());
  });

  it.each(runbooks)('%s says how one notices, what it means, what to do and what not to do', (file) => {
    const text = textOf(`${RUNBOOKS}/${file}`);
    for (const part of ['**You notice.**', '**It means.**', '**Do.**', '**Do not**'])
      expect(text).toContain(part);
  });

  it('each runbook is linked from an alert, or from a runbook that is linked from an alert', () => {
    const linked = rules().flatMap(
      ({ text }) => /runbook_url: .*\/([\w-]+\.md)$/m.exec(text)?.slice(1) ?? [],
    );
    const unlinked = runbooks.filter((file) => !linked.includes(file));
    expect(unlinked).toEqual(Object.keys(WITHOUT_ALERT));
    for (const [file, from] of Object.entries(WITHOUT_ALERT))
      expect(textOf(`${RUNBOOKS}/${from}`)).toContain(`](${file})`);
  });
});

describe('the pages of docs/operations', () => {
  const operations = operationsOf(readDocument()).map(([place]) => place);
  const patterns = operations.map((place) => new RegExp(`^${place.replaceAll(/\{\w+\}/g, '[^/]+')}$`));
  const doesExist = (request: string) => patterns.some((pattern) => pattern.test(request));

  /** Requests as in `POST /v1/x`, and as in `curl -X POST … $API/v1/x`. */
  function requestsIn(text: string): string[] {
    const written = text.matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (\/[\w/{}:.-]+[\w}])/g);
    const curls = text.matchAll(/curl (.*?)"?\$API(\/[\w/{}-]+)/g);
    return [
      ...[...written].map(([, method, path]) => `${method} ${path}`),
      ...[...curls].map(([, options = '', path]) => `${/-X ([A-Z]+)/.exec(options)?.[1] ?? 'GET'} ${path}`),
    ];
  }

  it('the check of routes finds a request that does not exist, in a sentence and in a command', () => {
    const found = requestsIn('`GET /v1/nothing`, `curl -X POST -H "$ADMIN" $API/admin/dlq/SEQ/replay`');
    expect(found).toEqual(['GET /v1/nothing', 'POST /admin/dlq/SEQ/replay']);
    expect(found.map(doesExist)).toEqual([false, true]);
  });

  it.each(pages)('%s names only routes of the API document', (file) => {
    // The document describes neither the metrics nor the simulator.
    const requests = requestsIn(textOf(file)).filter((request) => !/\/metrics$|\/__sim\//.test(request));
    expect(requests.filter((request) => !doesExist(request))).toEqual([]);
  });

  it.each(pages)('%s names only metrics, fields, variables and codes that exist', (file) => {
    const lower = named(file, '[a-z]+(?:_[a-z0-9]+)+')
      .filter((name) => !/^(process|nodejs|pg)_/.test(name))
      .map((name) => name.replace(/_(count|bucket|sum)$/, ''));
    // OpenTelemetry reads its own variables.
    const upper = named(file, '[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+').filter((name) => !name.startsWith('OTEL_'));
    expect([...lower, ...upper].filter((name) => !isKnown(name))).toEqual([]);
  });

  it.each(pages)('%s names only scripts of package.json', (file) => {
    const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
    const run = [...textOf(file).matchAll(/npm run ([\w:-]+)/g)].map(([, script = '']) => script);
    expect(run.filter((script) => !(script in scripts))).toEqual([]);
  });

  it.each(pages)('the links of %s lead to files', (file) => {
    const links = [...textOf(file).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !existsSync(join(dirname(file), link)))).toEqual([]);
  });
});
