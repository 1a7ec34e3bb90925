import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { dashboards, measuredBy, type Panel, rules } from '../harness/monitoring-files.js';

const GUIDE = 'docs/operations/monitoring.md';

describe('the alerts', () => {
  const alerts = rules().filter(({ kind }) => kind === 'alert');
  const field = (text: string, name: string) =>
    new RegExp(`^ +${name}: '?(.*?)'?$`, 'm').exec(text)?.[1] ?? '';

  it.each(alerts.map(({ name, text }) => [name, text]))(
    'the alert %s has a severity, a summary and a runbook',
    (_, text) => {
      expect(['warning', 'critical']).toContain(field(text, 'severity'));
      expect(field(text, 'summary')).toMatch(/[.]$/);
      expect(field(text, 'runbook_url')).toMatch(/^docs\/operations\/runbooks\/[a-z0-9-]+\.md$/);
    },
  );

  it('docs/operations/monitoring.md lists exactly the alerts, each with its severity and its runbook', () => {
    const documented = [
      ...readFileSync(GUIDE, 'utf8').matchAll(/^\| `(\w+)` +\| (\w+) +\|.*\| \[[^\]]+\]\(([^)]+)\) +\|$/gm),
    ].map(([, name, severity, link]) => ({ name, severity, link }));
    expect(documented).toEqual(
      alerts.map(({ name, text }) => ({
        name,
        severity: field(text, 'severity'),
        link: field(text, 'runbook_url').replace('docs/operations/', ''),
      })),
    );
  });

  it('promtool’s tests have cases for each alert', () => {
    const tested = readFileSync('deploy/prometheus/tests/alerts.yml', 'utf8').matchAll(/alertname: (\w+)/g);
    expect(new Set([...tested].map(([, name]) => name))).toEqual(new Set(alerts.map(({ name }) => name)));
  });

  it('a threshold is removed from an alert’s query, and each side of its `or` is a query', () => {
    expect(measuredBy({ kind: 'alert', expr: 'a > 0.5 and on (x) b{c=">1"} < 2' })).toEqual([
      'a and on (x) b{c=">1"}',
    ]);
    expect(measuredBy({ kind: 'alert', expr: 'a > 0\n  or\n  b > 1' })).toEqual(['a', 'b']);
  });
});

describe('the dashboards', () => {
  const all = dashboards();

  it('the four dashboards have uids of their own', () => {
    expect(all.map(({ uid }) => uid).sort()).toEqual(
      ['budget', 'ingestion', 'runtime', 'sleep'].map((name) => `pacekeeper-${name}`),
    );
  });

  it('Grafana’s provisioning reads the dashboards from the folder that monitoring.md names, and has one Prometheus as the default', () => {
    const provisioning = <T>(file: string) =>
      parse(readFileSync(`deploy/grafana/provisioning/${file}.yml`, 'utf8')) as T;
    const { providers } = provisioning<{ providers: Array<{ type: string; options: { path: string } }> }>(
      'dashboards/pacekeeper',
    );
    expect(providers.map(({ type }) => type)).toEqual(['file']);
    expect(readFileSync(GUIDE, 'utf8')).toContain(
      `Copy \`deploy/grafana/dashboards\` to \`${providers[0]?.options.path}\``,
    );
    const { datasources } = provisioning<{ datasources: object[] }>('datasources/prometheus');
    expect(datasources).toEqual([expect.objectContaining({ type: 'prometheus', isDefault: true })]);
    for (const { templating } of all)
      expect(templating.list.find(({ name }) => name === 'datasource')).toMatchObject({
        type: 'datasource',
        query: 'prometheus',
      });
  });

  it.each(all.map((dashboard) => [dashboard.file, dashboard] as const))(
    'each panel of %s has an id, a title, a unit, a description and the chosen data source',
    (_, { panels, templating, description }) => {
      expect(description).toMatch(/\.$/);
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
      expect(templating.list.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['datasource', 'instance']),
      );
      for (const panel of panels.filter(({ type }) => type !== 'row')) {
        expect(panel).toMatchObject({
          title: expect.stringMatching(/\w/),
          description: expect.stringMatching(/\.$/),
          datasource: { uid: '${datasource}' },
          fieldConfig: { defaults: { unit: expect.stringMatching(/\w/) } },
        });
        expect(panel.targets?.length).toBeGreaterThan(0);
        for (const target of panel.targets ?? []) expect(target.datasource.uid).toBe('${datasource}');
      }
    },
  );

  it.each(all.map((dashboard) => [dashboard.file, dashboard] as const))(
    'no two panels of %s overlap, and none is wider than the page',
    (_, { panels }) => {
      expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
      expect(
        panels.flatMap((one, index) => panels.slice(index + 1).filter((other) => overlap(one, other))),
      ).toEqual([]);
    },
  );
});

function overlap({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}
