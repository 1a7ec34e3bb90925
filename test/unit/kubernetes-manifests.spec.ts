import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { problemsOf } from '../harness/kubernetes-schema.js';
import { kustomize, type Manifest } from '../harness/kustomize.js';
import { kubectl, kubectls, withKubectl } from '../harness/kubectl.js';

const FOLDERS = ['base', 'small', 'large', 'monitoring'];
const OVERLAYS = ['small', 'large'];
// Kustomize 2.0 knows no others of the fields that we would need, and 5 builds these as well.
const FIELDS = ['resources', 'bases', 'patchesStrategicMerge', 'images'];

const common = [
  'ConfigMap pacekeeper',
  'ServiceAccount pacekeeper',
  'Job pacekeeper-migrate',
  'Deployment pacekeeper-api',
  'Deployment pacekeeper-worker',
  'Service pacekeeper-api',
  'PodDisruptionBudget pacekeeper-api',
  'PodDisruptionBudget pacekeeper-worker',
  'NetworkPolicy pacekeeper-default-deny',
  'NetworkPolicy pacekeeper-api',
  'NetworkPolicy pacekeeper-metrics',
  'NetworkPolicy pacekeeper-dns',
  'NetworkPolicy pacekeeper-internet',
  'NetworkPolicy pacekeeper-to-servers',
];
const expected: Readonly<Record<string, readonly string[]>> = {
  small: [
    ...common,
    ...['postgres', 'redis', 'nats'].flatMap((name) => [
      `StatefulSet pacekeeper-${name}`,
      `Service pacekeeper-${name}`,
    ]),
    'ConfigMap pacekeeper-nats',
    'NetworkPolicy pacekeeper-servers',
  ],
  large: [
    ...common,
    'HorizontalPodAutoscaler pacekeeper-api',
    'HorizontalPodAutoscaler pacekeeper-worker',
    'Service pacekeeper-metrics',
    'ServiceMonitor pacekeeper',
  ],
};

const nameOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`;
const inOrder = (manifests: readonly Manifest[]) =>
  manifests.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));

describe('deploy/k8s', () => {
  it.each(FOLDERS)('the kustomization of %s uses only fields that kustomize 2.0 and 5 know', (folder) => {
    const kustomization = parse(readFileSync(`deploy/k8s/${folder}/kustomization.yaml`, 'utf8')) as object;
    expect(FIELDS).toEqual(expect.arrayContaining(Object.keys(kustomization)));
  });

  withKubectl.each(OVERLAYS)(
    '%s builds to the expected objects, the same with each kubectl that was found (skipped without kubectl)',
    (overlay) => {
      const [built = [], ...others] = kubectls.map((each) =>
        inOrder(kustomize(each, `deploy/k8s/${overlay}`)),
      );
      expect(built.map(nameOf)).toEqual([...(expected[overlay] ?? [])].sort());
      for (const other of others) expect(other).toEqual(built);
    },
  );

  withKubectl.each([...OVERLAYS, 'monitoring'])(
    'every object of %s is valid and has no unknown field (skipped without kubectl)',
    async (overlay) => {
      for (const manifest of kustomize(kubectl, `deploy/k8s/${overlay}`))
        expect(await problemsOf(manifest)).toEqual([]);
    },
  );

  it('problemsOf names a wrong value and a misspelt field', async () => {
    const service = (spec: object): Manifest => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'x', labels: {} },
      spec,
    });
    expect(await problemsOf(service({ ports: [{ port: 80, targetPort: 'http' }] }))).toEqual([]);
    expect(await problemsOf(service({ ports: [{ port: '80' }] }))).toEqual([
      expect.stringContaining('/spec/ports/0/port'),
    ]);
    expect(await problemsOf(service({ ports: [{ port: 80, targetport: 'http' }] }))).toEqual([
      'Service x.spec.ports.0.targetport is unknown',
    ]);
  });
});
