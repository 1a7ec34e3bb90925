import { type Database, type Sql } from '../../libs/platform/src/database/database.js';

export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** The plan for these values and the generic plan: Postgres may use either for a prepared statement. Rolls the statement back. */
export async function plansOf(
  database: Database,
  text: string,
  values: readonly unknown[],
): Promise<PlanNode[]> {
  const plans: PlanNode[] = [];
  for (const mode of ['force_custom_plan', 'force_generic_plan'])
    await database
      .transaction(async (inside) => {
        await inside.query(`set local plan_cache_mode = ${mode}`);
        plans.push(await explain(inside, text, values));
        throw new RolledBack();
      })
      .catch((error: unknown) => {
        if (!(error instanceof RolledBack)) throw error;
      });
  return plans;
}

export function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** How the plan reads the table: the indexes whose names contain the table's name, and `all of …` if there is a sequential scan. */
export function waysInto(table: string, plan: PlanNode): string[] {
  const found = nodesOf(plan).flatMap((node) => {
    if (node['Node Type'].startsWith('Seq Scan') && node['Relation Name'] === table)
      return [`all of ${table}`];
    return node['Index Name']?.includes(table) ? [node['Index Name']] : [];
  });
  return [...new Set(found)].sort();
}

/** The number of pages that the plan has read, from the cache or the disk. */
export function blocksOf(plan: PlanNode): number {
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
}

async function explain(inside: Sql, text: string, values: readonly unknown[]): Promise<PlanNode> {
  await inside.query(`prepare explained as ${text}`);
  const list = values.length > 0 ? `(${values.map(literal).join(', ')})` : '';
  const { rows } = await inside.query<{ 'QUERY PLAN': Array<{ Plan: PlanNode }> }>(
    `explain (analyze, buffers, format json) execute explained ${list}`,
  );
  await inside.query('deallocate explained');
  return rows[0]!['QUERY PLAN'][0]!.Plan;
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (value instanceof Date) return `'${value.toISOString()}'`;
  const text = Array.isArray(value)
    ? `{${value.map((one) => `"${one}"`).join(',')}}`
    : `${value as string | number}`;
  return `'${text.replaceAll("'", "''")}'`;
}

class RolledBack extends Error {}
