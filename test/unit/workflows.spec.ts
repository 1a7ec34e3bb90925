import { readdirSync, readFileSync } from 'node:fs';
import { NoOperationTraceWriter, parseWorkflow } from '@actions/workflow-parser';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';

const FOLDER = '.github/workflows';
const files = readdirSync(FOLDER);

/** The errors that GitHub's own parser finds in a workflow. */
function problemsOf(content: string): string[] {
  const { context } = parseWorkflow({ name: 'workflow', content }, new NoOperationTraceWriter());
  return context.errors.getErrors().map(({ message }) => message);
}

const read = (file: string) => readFileSync(`${FOLDER}/${file}`, 'utf8');

interface Workflow {
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Job {
  readonly strategy: {
    readonly matrix: {
      readonly node: readonly string[];
      readonly proof: readonly string[];
      readonly include: readonly object[];
    };
  };
  readonly steps: ReadonlyArray<{ readonly uses?: string; readonly run?: string }>;
  readonly 'timeout-minutes': number;
}

describe('.github/workflows', () => {
  it.each(files)(
    '%s satisfies GitHub’s schema, limits its time and its token, and pins each action by its commit',
    (file) => {
      expect(problemsOf(read(file))).toEqual([]);
      const { permissions, jobs } = parse(read(file)) as Workflow;
      expect(permissions).toBeDefined();
      for (const job of Object.values(jobs)) {
        expect(job['timeout-minutes']).toBeLessThanOrEqual(90);
        for (const { uses } of job.steps) if (uses) expect(uses).toMatch(/^actions\/[\w-]+@[0-9a-f]{40}$/);
      }
    },
  );

  it('GitHub’s parser names a wrong key', () => {
    expect(problemsOf('on: push\njobs:\n  a:\n    runs-on: x\n    stepz: []\n').join()).toContain('stepz');
  });

  it('ci.yml runs .ci/run on each Node that package.json and the Dockerfile name', () => {
    const { jobs } = parse(read('ci.yml')) as Workflow;
    expect(jobs.run?.strategy.matrix.node).toEqual(['20.19', '22', '24']);
    expect(jobs.run?.steps.map(({ run }) => run)).toContain('.ci/run');
    expect(readFileSync('package.json', 'utf8')).toContain('"node": ">=20.19"');
    expect(readFileSync('Dockerfile', 'utf8')).toContain('NODE_IMAGE=node:24-');
  });

  it('nightly.yml runs each test of faults, the week also on clusters, the guards and the drill', () => {
    const suffix = '.chaos.ts';
    const faults = readdirSync('test/chaos').filter((name) => name.endsWith(suffix));
    const { jobs } = parse(read('nightly.yml')) as Workflow;
    const { proof, include } = jobs.proof?.strategy.matrix ?? {};
    expect(proof).toEqual([
      ...['guards', 'drill'],
      ...faults.map((name) => `chaos ${name.slice(0, -suffix.length)}`).sort(),
    ]);
    expect(include).toEqual([{ proof: 'chaos week', engines: 'clusters' }]);
  });
});
