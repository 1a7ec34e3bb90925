import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const DASHBOARDS = 'deploy/grafana/dashboards';
const RULES = 'deploy/prometheus/rules';

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: ReadonlyArray<{
    readonly expr: string;
    readonly refId: string;
    readonly datasource: { readonly uid: string };
  }>;
}

interface Dashboard {
  readonly file: string;
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: ReadonlyArray<{
      readonly name: string;
      readonly type: string;
      readonly definition?: string;
    }>;
  };
}

export function dashboards(): Dashboard[] {
  return readdirSync(DASHBOARDS).map((file) => ({
    ...(JSON.parse(readFileSync(join(DASHBOARDS, file), 'utf8')) as Omit<Dashboard, 'file'>),
    file,
  }));
}

interface Rule {
  readonly kind: 'record' | 'alert';
  readonly name: string;
  readonly expr: string;
  readonly text: string;
}

/** The rules of a file, read without a YAML parser: each rule begins with `- record:` or `- alert:`, and has `expr:` on one line or as a block. */
export function rules(): Rule[] {
  return ['recording.yml', 'alerts.yml'].flatMap((file) =>
    readFileSync(join(RULES, file), 'utf8')
      .split(/^ {6}- (?=record:|alert:)/m)
      .slice(1)
      .map((text) => {
        const [, kind, name] = /^(record|alert): (\S+)$/m.exec(text) ?? [];
        const [, line, block] = /^ {8}expr: (?:\|2\n((?: {10}.*\n)+)|(.*)$)/m.exec(text) ?? [];
        const expr = (line ?? block ?? '').trim();
        if ((kind !== 'record' && kind !== 'alert') || !name || !expr)
          throw new Error(`${file} has a rule that cannot be read: ${text}`);
        return { kind, name, expr, text };
      }),
  );
}

/** The queries of a rule that have data on a healthy product: an alert without its thresholds, and each side of its `or`. */
export function measuredBy({ kind, expr }: Pick<Rule, 'kind' | 'expr'>): string[] {
  if (kind === 'record') return [expr];
  return expr.split(/\sor\s/).map((part) => part.replace(/ [<>] [\d.]+(?=\s|$)/g, '').trim());
}

/** A query of a dashboard with all values chosen. Rates need two samples, so the interval is longer than two of the test's scrapes. */
export function withAllChosen(query: string): string {
  return query.replaceAll('$__rate_interval', '10s').replaceAll(/\$(instance|vendor)\b/g, '.*');
}
