import { spawnSync } from 'node:child_process';
import { parseAllDocuments } from 'yaml';

/** A container of a manifest, as far as the tests read it. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: ReadonlyArray<{ readonly name: string; readonly value?: string }>;
  readonly envFrom?: readonly object[];
  readonly ports?: ReadonlyArray<{ readonly name: string; readonly containerPort: number }>;
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly startupProbe?: ContainerProbe;
  readonly livenessProbe?: ContainerProbe;
  readonly readinessProbe?: ContainerProbe;
  readonly securityContext: object;
  readonly resources: Record<'requests' | 'limits', Record<string, string>>;
}

interface ContainerProbe {
  readonly httpGet?: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly failureThreshold: number;
}

interface PodSpec {
  readonly containers: readonly [Container];
  readonly securityContext: Record<string, unknown>;
  readonly terminationGracePeriodSeconds: number;
  readonly automountServiceAccountToken: boolean;
  readonly enableServiceLinks: boolean;
}

type Labels = Readonly<Record<string, string>>;

export interface Selector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: ReadonlyArray<{
    readonly key: string;
    readonly operator: string;
    readonly values: readonly string[];
  }>;
}

/** An object of Kubernetes. `spec` has another form for each kind, so a test says which one it expects. */
export interface Manifest<Spec = unknown> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Labels };
  readonly spec: Spec;
  readonly data?: Readonly<Record<string, string>>;
}

interface Workload {
  readonly replicas?: number;
  readonly selector?: Selector;
  readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
}

/** Builds a folder of deploy/k8s with `kubectl kustomize`. Throws with its message if it fails. */
export function kustomize(kubectl: string, folder: string): readonly Manifest[] {
  const { status, stdout, stderr } = spawnSync(kubectl, ['kustomize', folder], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`kubectl kustomize ${folder}: ${stderr}`);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
}

/** The objects of these kinds. */
export function ofKind<Spec>(manifests: readonly Manifest[], ...kinds: string[]): Array<Manifest<Spec>> {
  return manifests.filter(({ kind }) => kinds.includes(kind)) as Array<Manifest<Spec>>;
}

export const workloadsOf = (manifests: readonly Manifest[]) =>
  ofKind<Workload>(manifests, 'Deployment', 'StatefulSet', 'Job');

/** True if the selector selects these labels; an empty selector selects all. */
export function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  const isEqual = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return (
    isEqual &&
    matchExpressions.every(({ key, operator, values }) => {
      if (operator !== 'In') throw new Error(`this harness does not know the operator ${operator}`);
      return values.includes(labels[key] ?? '');
    })
  );
}
