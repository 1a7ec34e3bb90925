import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { loadProductConfig } from '#vendors';
import { composed } from '../harness/compose.js';
import { kubectl, withKubectl } from '../harness/kubectl.js';
import {
  type Container,
  kustomize,
  type Manifest,
  ofKind,
  type Selector,
  selects,
  workloadsOf,
} from '../harness/kustomize.js';

// The process gives each dependency this long (libs/platform/src/health/health.controller.ts), and exits this long after its delay
// (libs/platform/src/process/stopping.ts).
const DEPENDENCY_SECONDS = 2;
const EXIT_SECONDS = 25;
const OVERLAYS = ['small', 'large'] as const;
const PROCESSES = ['api', 'worker'] as const;

const built = new Map<string, readonly Manifest[]>();
function overlay(name: string): readonly Manifest[] {
  const manifests = built.get(name) ?? kustomize(kubectl, `deploy/k8s/${name}`);
  built.set(name, manifests);
  return manifests;
}

function workload(manifests: readonly Manifest[], name: string) {
  const found = workloadsOf(manifests).find(({ metadata }) => metadata.name === `pacekeeper-${name}`);
  if (!found) throw new Error(`there is no pacekeeper-${name}`);
  return found;
}

const podOf = (manifests: readonly Manifest[], name: string) => workload(manifests, name).spec.template.spec;
const containerOf = (manifests: readonly Manifest[], name: string) => podOf(manifests, name).containers[0];

/** The workloads whose pods the selector selects. */
const selected = (manifests: readonly Manifest[], selector: Selector) =>
  workloadsOf(manifests).filter(({ spec }) => selects(selector, spec.template.metadata.labels));

const portsOf = ({ ports = [] }: Container) => ports.map(({ containerPort }) => containerPort);
const configMap = (manifests: readonly Manifest[], name = 'pacekeeper') =>
  ofKind(manifests, 'ConfigMap').find(({ metadata }) => metadata.name === name)?.data ?? {};

/** The secrets of an installation, by the names that secret.env.example lists. */
const secret: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgres://pacekeeper:pacekeeper@pacekeeper-postgres:5432/pacekeeper',
  DATABASE_DIRECT_URL: '',
  DATABASE_READ_URL: '',
  REDIS_URL: 'redis://default:pacekeeper@pacekeeper-redis:6379',
  NATS_URL: 'nats://pacekeeper:pacekeeper@pacekeeper-nats:4222',
  ENCRYPTION_KEYS: '1:qFVQZ0kL1q7Yl8m2mJtUoH3xG5wKc9eRb4sVn6uTzXA=',
  JWT_SECRET: 'Tq3vZ8mW1xK6pR9sL4bN7cF2dG5hJ0yA',
  JWKS_URL: '',
  INGEST_API_KEYS: 'h7Kq2mZx9LwB4vTn',
  STRAVA_CLIENT_ID: '1',
  STRAVA_CLIENT_SECRET: 'b',
  STRAVA_WEBHOOK_VERIFY_TOKEN: 'Zr8nQ5tY2wE7uP1k',
  STRAVA_WEBHOOK_PATH_SECRET: 'Mj4xC9vB6nL3kH8g',
  OURA_CLIENT_ID: 'a',
  OURA_CLIENT_SECRET: 'b',
  WHOOP_CLIENT_ID: 'a',
  WHOOP_CLIENT_SECRET: 'b',
  POLAR_CLIENT_ID: 'a',
  POLAR_CLIENT_SECRET: 'b',
};

function configurationOf(manifests: readonly Manifest[], name: string) {
  const { env = [] } = containerOf(manifests, name);
  const direct = Object.fromEntries(env.map((variable) => [variable.name, variable.value]));
  return loadProductConfig({ ...configMap(manifests), ...secret, ...direct });
}

describe.each(OVERLAYS)('deploy/k8s/%s', (name) => {
  withKubectl(`the configuration of api and worker in ${name} is accepted in production`, () => {
    const manifests = overlay(name);
    expect(configMap(manifests)).toMatchObject({ NODE_ENV: 'production' });
    for (const each of PROCESSES) {
      expect(configurationOf(manifests, each).warnings).toEqual([]);
      expect(containerOf(manifests, each).envFrom).toEqual([
        { configMapRef: { name: 'pacekeeper' } },
        { secretRef: { name: 'pacekeeper' } },
      ]);
    }
    expect(Object.keys(configMap(manifests)).filter((variable) => variable in secret)).toEqual([]);
  });

  withKubectl(`the migration of ${name} gets the URLs of Postgres and no other secret`, () => {
    const fromSecret = (key: string, more: object = {}) => ({
      name: key,
      valueFrom: { secretKeyRef: { name: 'pacekeeper', key, ...more } },
    });
    const { env, envFrom } = containerOf(overlay(name), 'migrate');
    expect(env).toEqual([fromSecret('DATABASE_URL'), fromSecret('DATABASE_DIRECT_URL', { optional: true })]);
    expect(envFrom).toBeUndefined();
  });

  withKubectl(`the ports of ${name} are those on which the processes listen`, () => {
    const manifests = overlay(name);
    const { http } = configurationOf(manifests, 'api');
    expect(portsOf(containerOf(manifests, 'api'))).toEqual([http.port, http.metricsPort]);
    expect(portsOf(containerOf(manifests, 'worker'))).toEqual([http.workerPort, http.metricsPort]);
  });

  withKubectl(`each selector of ${name} selects the pods that it is for`, () => {
    const manifests = overlay(name);
    for (const { metadata, spec } of workloadsOf(manifests))
      if (spec.selector)
        expect(selected(manifests, spec.selector).map((one) => one.metadata.name)).toEqual([metadata.name]);
    for (const { metadata, spec } of ofKind<{ selector: Selector }>(manifests, 'PodDisruptionBudget'))
      expect(selected(manifests, spec.selector).map((one) => one.metadata.name)).toEqual([metadata.name]);
    const services = ofKind<Service>(manifests, 'Service');
    expect(services.length).toBeGreaterThan(0);
    for (const { spec } of services) {
      const pods = selected(manifests, { matchLabels: spec.selector });
      const wanted = spec.ports.map(({ targetPort }) => targetPort);
      expect(pods.length).toBeGreaterThan(0);
      for (const pod of pods)
        expect(pod.spec.template.spec.containers[0].ports?.map((port) => port.name)).toEqual(
          expect.arrayContaining(wanted),
        );
    }
  });

  withKubectl(`the network policies of ${name} open only ports that the selected pods have`, () => {
    const manifests = overlay(name);
    for (const { metadata, spec } of ofKind<NetworkPolicy>(manifests, 'NetworkPolicy')) {
      const pods = selected(manifests, spec.podSelector);
      expect([metadata.name, pods.length]).not.toEqual([metadata.name, 0]);
      const has = pods.flatMap((pod) => portsOf(pod.spec.template.spec.containers[0]));
      for (const { from = [], ports } of spec.ingress ?? []) {
        expect(has).toEqual(expect.arrayContaining(ports.map(({ port }) => port)));
        expect(from).not.toEqual([]);
      }
    }
    const [deny] = ofKind<NetworkPolicy>(manifests, 'NetworkPolicy').filter(({ metadata }) =>
      metadata.name.endsWith('default-deny'),
    );
    expect(deny?.spec).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
  });

  withKubectl(
    `the probes of ${name} wait longer than the process, and only readiness asks other servers`,
    () => {
      const manifests = overlay(name);
      const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as { paths: object };
      for (const each of PROCESSES) {
        const { startupProbe, livenessProbe, readinessProbe } = containerOf(manifests, each);
        for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
          expect(paths).toHaveProperty([probe?.httpGet?.path ?? '']);
          expect(probe?.httpGet?.port).toBe('http');
        }
        expect(startupProbe?.httpGet?.path).toBe('/health/live');
        expect(livenessProbe?.httpGet?.path).toBe('/health/live');
        expect(readinessProbe?.httpGet?.path).toBe('/health/ready');
        expect(readinessProbe?.timeoutSeconds).toBeGreaterThan(DEPENDENCY_SECONDS);
        const { periodSeconds = 0, failureThreshold = 0 } = startupProbe ?? {};
        const { startWaitMs } = configurationOf(manifests, each);
        expect(periodSeconds * failureThreshold).toBeGreaterThan(startWaitMs / 1_000);
      }
    },
  );

  withKubectl(`the pods of ${name} have the time that a process takes to stop`, () => {
    const manifests = overlay(name);
    for (const each of PROCESSES) {
      const { http } = configurationOf(manifests, each);
      const beforeSignal = containerOf(manifests, each).lifecycle?.preStop.sleep.seconds ?? 0;
      expect(podOf(manifests, each).terminationGracePeriodSeconds).toBeGreaterThanOrEqual(
        beforeSignal + http.shutdownDelaySeconds + EXIT_SECONDS + 5,
      );
    }
    expect(containerOf(manifests, 'api').lifecycle?.preStop.sleep.seconds).toBeGreaterThan(0);
    expect(configurationOf(manifests, 'api').http.shutdownDelaySeconds).toBeGreaterThan(0);
  });

  withKubectl(
    `all pods of ${name} satisfy the restricted pod security standard and have a memory limit`,
    () => {
      for (const { metadata, spec } of workloadsOf(overlay(name))) {
        const { containers, ...pod } = spec.template.spec;
        expect([metadata.name, pod.securityContext]).toEqual([
          metadata.name,
          expect.objectContaining({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }),
        ]);
        expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
        expect(containers).toHaveLength(1);
        expect(containers[0].securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(containers[0].resources).toMatchObject({
          requests: { cpu: expect.any(String), memory: expect.any(String) },
          limits: { memory: expect.any(String) },
        });
      }
    },
  );

  withKubectl(
    `all processes of ${name} run the same image, of this version, with programs that exist`,
    () => {
      const manifests = overlay(name);
      const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
      for (const each of [...PROCESSES, 'migrate']) {
        const { image, args = [] } = containerOf(manifests, each);
        expect(image).toBe(`registry.example/pacekeeper:${version}`);
        expect(args[0]).toBe('node');
        expect(existsSync(String(args[1]).replace(/^dist\/(.*)\.js$/, '$1.ts'))).toBe(true);
      }
    },
  );
});

describe('deploy/k8s', () => {
  it('secret.env.example lists each secret', () => {
    const names = [...readFileSync('deploy/k8s/secret.env.example', 'utf8').matchAll(/^([A-Z_]+)=$/gm)];
    expect(names.map(([, variable]) => variable).sort()).toEqual(Object.keys(secret).sort());
  });

  withKubectl(
    'small runs one replica of each, with the images and the configuration of docker-compose.yml',
    () => {
      const manifests = overlay('small');
      const replicas = workloadsOf(manifests).filter(({ kind }) => kind !== 'Job');
      expect(replicas.map(({ spec }) => spec.replicas)).toEqual(replicas.map(() => 1));
      const { services } = composed();
      for (const server of ['postgres', 'redis', 'nats'])
        expect(containerOf(manifests, server).image).toBe(services[server]?.image);
      expect(configMap(manifests, 'pacekeeper-nats')['nats.conf']).toBe(
        readFileSync('deploy/nats.conf', 'utf8'),
      );
    },
  );

  withKubectl(
    'large runs three replicas of api and worker at least, and leaves their number to the autoscaler',
    () => {
      const manifests = overlay('large');
      for (const each of PROCESSES) {
        expect(workload(manifests, each).spec.replicas).toBeUndefined();
        const scaler = ofKind<Autoscaler>(manifests, 'HorizontalPodAutoscaler').find(
          ({ spec }) => spec.scaleTargetRef.name === `pacekeeper-${each}`,
        );
        expect(scaler?.spec).toMatchObject({ minReplicas: 3, scaleTargetRef: { kind: 'Deployment' } });
      }
    },
  );

  withKubectl('the worker’s autoscaler reads a metric that the adapter’s rule makes of one of ours', () => {
    const { externalRules } = parse(readFileSync('deploy/k8s/large/prometheus-adapter.yaml', 'utf8')) as {
      externalRules: ReadonlyArray<{ seriesQuery: string; name: { as: string } }>;
    };
    const metrics = ofKind<Autoscaler>(overlay('large'), 'HorizontalPodAutoscaler').flatMap(
      ({ spec }) => spec.metrics,
    );
    expect(metrics.flatMap(({ external }) => external?.metric.name ?? [])).toEqual(
      externalRules.map(({ name }) => name.as),
    );
    expect(externalRules.map(({ seriesQuery }) => /^\w+/.exec(seriesQuery)?.[0])).toEqual(['runtime_jobs']);
    expect(readFileSync('docs/metrics.md', 'utf8')).toContain('`runtime_jobs{status}`');
  });

  withKubectl('the ServiceMonitor reads the metrics port of api and worker', () => {
    const manifests = overlay('large');
    const [monitor] = ofKind<ServiceMonitor>(manifests, 'ServiceMonitor');
    const services = ofKind<Service>(manifests, 'Service').filter(({ metadata }) =>
      selects(monitor?.spec.selector ?? {}, metadata.labels),
    );
    expect(services.map(({ metadata }) => metadata.name)).toEqual(['pacekeeper-metrics']);
    const { selector = {}, ports = [] } = services[0]?.spec ?? {};
    expect(ports.map((port) => port.name)).toEqual(monitor?.spec.endpoints.map(({ port }) => port));
    expect(selected(manifests, { matchLabels: selector }).map(({ metadata }) => metadata.name)).toEqual([
      'pacekeeper-api',
      'pacekeeper-worker',
    ]);
  });
});

interface Service {
  readonly selector: Readonly<Record<string, string>>;
  readonly ports: ReadonlyArray<{ readonly name: string; readonly targetPort: string }>;
}

interface NetworkPolicy {
  readonly podSelector: Selector;
  readonly ingress?: ReadonlyArray<{
    readonly from?: readonly object[];
    readonly ports: ReadonlyArray<{ readonly port: number }>;
  }>;
}

interface Autoscaler {
  readonly scaleTargetRef: { readonly name: string };
  readonly metrics: ReadonlyArray<{ readonly external?: { readonly metric: { readonly name: string } } }>;
}

interface ServiceMonitor {
  readonly selector: Selector;
  readonly endpoints: ReadonlyArray<{ readonly port: string }>;
}
