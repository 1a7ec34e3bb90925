import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type GrowthRaw, growthPlot, growthTable } from './growth-page.js';
import { type Conditions } from './conditions.js';
import { table } from './markdown.js';
import { type Comparison, type Finding, inUnit, ratioText, readResults, type Result } from './results.js';

const PAGE = 'docs/benchmarks.md';
const PLOT = 'docs/images/growth.svg';

/** The generated files, by their path. */
export function generatedFrom(results: readonly Result[]): Readonly<Record<string, string>> {
  const growth = results.find(({ name }) => name === 'growth');
  const raw = growth?.raw as GrowthRaw | undefined;
  const parts = [
    introduction(results),
    comparisons(results),
    ...(raw ? [growthSection(raw)] : []),
    '## All figures',
    ...results.filter(({ name }) => name !== 'growth').map(figures),
    conditions(results),
  ];
  return { [PAGE]: `${parts.join('\n\n')}\n`, ...(raw && { [PLOT]: growthPlot(raw) }) };
}

/** Makes the page and its plot anew from all results. */
export function writePage(): void {
  for (const [file, text] of Object.entries(generatedFrom(readResults()))) {
    mkdirSync(dirname(file), { recursive: true });
    if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
  }
}

function introduction(results: readonly Result[]): string {
  const { cpu, cores, memoryGb } = results[0]?.conditions.machine ?? { cpu: '', cores: 0, memoryGb: 0 };
  return `# Benchmarks

Generated from \`bench/results/*.json\` by \`npm run bench\`; \`npm run bench -- --page\` makes this page anew. Do not edit it.

Pacekeeper, its servers, the peers and the load share one machine (${cpu}, ${cores} cores, ${memoryGb} GB), so rates are small and depend on it. A ratio
compares two figures of the same run: each round measures Pacekeeper and its peers in turn, so a busy moment of the machine affects both. Every
figure names its command. The [conditions](#conditions) list versions, settings and the load of other programs when each benchmark began.
A number in brackets is the range over the rounds.`;
}

function comparisons(results: readonly Result[]): string {
  const rows = results.flatMap(({ name, findings }) =>
    findings.filter(isCompared).map((finding) => comparisonRow(name, finding)),
  );
  const head = ['compared', 'ratio', 'goal', 'Pacekeeper', 'peer', 'n', 'command'];
  return `## Ratios to peers

The ratio is Pacekeeper's figure divided by the peer's. For rates a higher ratio is better, for times and processor time a lower one.

${table(head, rows)}`;
}

type Compared = Finding & { readonly against: Comparison };

function isCompared(finding: Finding): finding is Compared {
  return finding.against !== undefined;
}

function comparisonRow(name: string, { what, goal, met, against }: Compared): string[] {
  const { peer, ratio, ours, theirs, unit } = against;
  const theirFigure = `${peer}: ${inUnit(theirs.median, unit)}`;
  const goalText = goal && (met ? goal : `${goal}, **not met**`);
  return [
    what,
    ratioText(ratio),
    goalText,
    inUnit(ours.median, unit),
    theirFigure,
    `${ratio.rounds}`,
    command(name),
  ];
}

function growthSection(raw: GrowthRaw): string {
  return `## Cost of growth

Medians in ms. ${raw.about} \`npm run bench growth\` measures it. A row is met if its largest size costs at most twice its second smallest, or at most 1 ms.

![Median times over the size of the database](images/growth.svg)

${growthTable(raw)}`;
}

function figures({ name, conditions: { at }, findings, checks }: Result): string {
  const rows = findings.map(({ what, measured, goal, met }) => [
    what,
    measured,
    goal,
    goal && (met ? 'yes' : '**no**'),
  ]);
  const verified = checks.map(({ what, times }) => `${what} (${times}×)`);
  return [
    `### ${name}`,
    `${command(name)}, ${at.slice(0, 10)}`,
    table(['figure', 'measured', 'goal', 'met'], rows),
    ...(verified.length > 0 ? [`Verified in this run: ${verified.join('; ')}.`] : []),
  ].join('\n\n');
}

function conditions(results: readonly Result[]): string {
  const rows = results.map(({ name, conditions: { at, machine, versions } }) => {
    const versionList = Object.entries(versions).map(([what, version]) => `${what} ${version}`);
    const load = machine.loadAtStart.map((value) => value.toFixed(1)).join(' ');
    return [name, at.slice(0, 16).replace('T', ' '), load, versionList.join(', ')];
  });
  const settings = [...new Set(results.map(({ conditions: { settings } }) => settingsText(settings)))];
  return `## Conditions

The load averages are those of 1, 5 and 15 minutes at the start; above the number of cores, other programs took part of the machine.

${table(['benchmark', 'begun (UTC)', 'load', 'versions'], rows)}

Settings of the servers: ${settings.join(' Or: ')} NATS before 2.10 syncs its files every two minutes; for later versions the benchmarks set \`sync_interval: always\`.`;
}

function settingsText(settings: Conditions['settings']): string {
  return `${Object.entries(settings)
    .map(([name, value]) => `\`${name}\` ${value}`)
    .join(', ')}.`;
}

function command(name: string): string {
  return `\`npm run bench ${name}\``;
}
