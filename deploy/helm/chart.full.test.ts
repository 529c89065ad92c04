import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { SETTING_NAMES } from '../../src/core/config.ts';
import { findManifestFaults, type Manifest } from '../../test/support/deployment/manifests.ts';
import { configOf, isCommand, isRoute } from '../../test/support/deployment/program.ts';

// The chart is rendered by the real Helm, where it is installed; .ci/run says how it is had.

const CHART = join(import.meta.dirname, 'heliograph');
const VALUES = ['plain', 'full', 'trial'] as const;
const SECRET = { DATABASE_URL: 'postgres://heliograph:x@db:5432/heliograph', SECRET_KEY: '5e'.repeat(32) };

const helm = (...args: string[]) => spawnSync('helm', args, { encoding: 'utf8' });
const missing = helm('version').status === 0 ? undefined : 'Helm is not installed';
const valuesFile = (name: string): string => join(CHART, 'ci', `${name}-values.yaml`);

/** Renders the chart with the values of a file in `ci/` and further ones. Throws what Helm says when it refuses them. */
function render(name: string, ...more: string[]): Manifest[] {
  const { status, stdout, stderr } = helm('template', 'gw', CHART, '--values', valuesFile(name), ...more);
  if (status !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).map((document): Manifest => document.toJS());
}

type Variable = { readonly name: string; readonly value: string };
type Probe = { readonly httpGet: { readonly path: string; readonly port: string; readonly scheme: string } };
type Container = {
  readonly args: readonly string[];
  readonly env: readonly Variable[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly securityContext: object;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
};
type Pod = {
  readonly metadata: Manifest['metadata'];
  readonly spec: {
    readonly containers: readonly [Container];
    readonly securityContext: object;
    readonly terminationGracePeriodSeconds: number;
  };
};
type Service = {
  readonly selector?: Readonly<Record<string, string>>;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly targetPort?: string }[];
};

/** The `spec` of a manifest, in the form that its kind has: the manifests are checked against the schemas elsewhere. */
const specOf = <T>({ spec }: Manifest): T => spec as T;

const ofKind = (manifests: readonly Manifest[], kind: string): Manifest[] =>
  manifests.filter((manifest) => manifest.kind === kind);

const podsOf = (manifests: readonly Manifest[]): Pod[] =>
  [...ofKind(manifests, 'Deployment'), ...ofKind(manifests, 'StatefulSet')].map(
    (manifest) => specOf<{ template: Pod }>(manifest).template,
  );

/** The environment of a container, with the Secret that the values name. */
function environmentOf(manifests: readonly Manifest[], { env }: Container): Record<string, string> {
  const settings = ofKind(manifests, 'ConfigMap').map(({ data }) => data ?? {});
  const secrets = ofKind(manifests, 'Secret').map(({ stringData }) => stringData ?? {});
  const own = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  return Object.assign({}, ...settings, ...(secrets.length > 0 ? secrets : [SECRET]), own);
}

describe.each(VALUES)('with the values %s', (name) => {
  let manifests: Manifest[];
  beforeEach(({ skip }) => {
    if (missing !== undefined) skip(missing);
    manifests = render(name);
  });

  test('helm lint has nothing to say', () => {
    const { status, stdout, stderr } = helm('lint', '--strict', CHART, '--values', valuesFile(name));
    expect({ status, faults: `${stdout}${stderr}`.match(/\[(ERROR|WARNING)\].*/g) }).toEqual({
      status: 0,
      faults: null,
    });
  });

  test('every manifest is one that Kubernetes takes, without unknown fields', () => {
    // Of another project, whose schemas no package of npm carries with its functions.
    const own = manifests.filter(({ kind }) => kind !== 'ServiceMonitor');
    expect(own.length).toBeGreaterThan(4);
    expect(own.flatMap((manifest) => findManifestFaults(manifest).map((fault) => [manifest.kind, fault]))).toEqual([]);
  });

  test('every process starts with a command that exists, and with settings that it accepts', async () => {
    const pods = podsOf(manifests);
    expect(pods.map(({ spec }) => spec.containers[0].args)).toEqual([['api'], ['worker']]);
    for (const { spec } of pods) {
      const [container] = spec.containers;
      expect(await isCommand(container.args[0] ?? '')).toBe(true);
      const { host, port, workerPort, dataDir, storage, databaseUrl } = configOf(environmentOf(manifests, container));
      expect({ host, dataDir, storage: storage.kind }).toEqual({ host: '0.0.0.0', dataDir: '/data', storage: 's3' });
      expect(databaseUrl).toBeDefined();
      expect(container.ports.map(({ containerPort }) => containerPort)).toEqual([
        container.args[0] === 'api' ? port : workerPort,
      ]);
    }
  });

  test('probes ask paths of the program, at the port of the container and by its protocol', () => {
    for (const { spec } of podsOf(manifests)) {
      const [container] = spec.containers;
      const secure = configOf(environmentOf(manifests, container)).tls !== undefined;
      for (const { httpGet } of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
        expect(isRoute(httpGet.path)).toBe(true);
        expect(httpGet).toMatchObject({ port: container.ports[0]?.name, scheme: secure ? 'HTTPS' : 'HTTP' });
      }
    }
  });

  test('services and policies select the pods of one role, and name a port that these have', () => {
    const pods = podsOf(manifests);
    const selectors = [
      ...ofKind(manifests, 'Service').map((service) => specOf<Service>(service).selector),
      ...ofKind(manifests, 'PodDisruptionBudget').map((budget) => specOf<Selecting>(budget).selector?.matchLabels),
      ...ofKind(manifests, 'NetworkPolicy').map((policy) => specOf<Selecting>(policy).podSelector?.matchLabels),
    ].filter((labels) => labels !== undefined);
    expect(selectors.length).toBeGreaterThan(1);
    for (const selector of selectors) {
      const selected = pods.filter(({ metadata }) =>
        Object.entries(selector).every(([label, value]) => metadata.labels?.[label] === value),
      );
      expect(selected).toHaveLength(1);
    }
    const targets = ofKind(manifests, 'Service').flatMap((service) => specOf<Service>(service).ports);
    expect(new Set(targets.flatMap(({ targetPort }) => targetPort ?? []))).toEqual(new Set(['http']));
  });

  test('pods run without privileges, write only to volumes, and have more time to stop than the program takes', () => {
    for (const { spec } of podsOf(manifests)) {
      const [container] = spec.containers;
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      const writable = container.volumeMounts.filter(({ readOnly }) => readOnly !== true);
      expect(writable.map(({ mountPath }) => mountPath)).toEqual(['/data']);
      expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(15);
    }
  });

  test('metrics and health are not routed to the program from outside', () => {
    for (const manifest of ofKind(manifests, 'Ingress')) {
      const { rules } = specOf<{ rules: readonly { http: { paths: readonly Route[] } }[] }>(manifest);
      const backends = Object.fromEntries(
        rules.flatMap(({ http }) => http.paths.map(({ path, backend }) => [path, backend.service.name])),
      );
      expect(backends).toEqual({ '/': 'gw', '/metrics': 'gw-closed', '/health': 'gw-closed' });
      const closed = ofKind(manifests, 'Service').find(({ metadata }) => metadata.name === 'gw-closed');
      expect(closed && specOf<Service>(closed).selector).toBeUndefined();
    }
  });
});

/** Selector of the pods that a policy applies to. */
type Selecting = {
  readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly podSelector?: { readonly matchLabels: Readonly<Record<string, string>> };
};
type Route = { readonly path: string; readonly backend: { readonly service: { readonly name: string } } };

describe('the chart', () => {
  beforeEach(({ skip }) => {
    if (missing !== undefined) skip(missing);
  });

  test('scrapes the metrics of both roles over HTTPS', () => {
    const manifests = render('full');
    const [monitor] = ofKind(manifests, 'ServiceMonitor');
    expect(monitor).toMatchObject({
      spec: { endpoints: [{ port: 'https', path: '/metrics', scheme: 'https', interval: '30s' }] },
    });
    const scraped = ofKind(manifests, 'Service').filter((service) =>
      specOf<Service>(service).ports.some(({ name }) => name === 'https'),
    );
    expect(scraped.map(({ metadata }) => metadata.name)).toEqual(['gw', 'gw-worker']);
  });

  test('restarts the pods when a setting changes', () => {
    const sums = (...more: string[]) => podsOf(render('plain', ...more)).map(({ metadata }) => metadata.annotations);
    expect(sums()).toEqual(sums());
    expect(sums('--set', 'settings.RETENTION_DAYS=30')).not.toEqual(sums());
  });

  test.each([
    ['image.repository=', 'image.repository must be set'],
    ['settings.TRUST_PROXY=', 'settings.TRUST_PROXY or tls.secretName must be set'],
    ['settings.S3_BUCKET=', 'settings.S3_BUCKET must be set'],
    ['secret.existing=', 'secret.existing must name a Secret'],
    ['ingress.host=', 'ingress.host must be set'],
    ['serviceMonitor.enabled=true', 'serviceMonitor needs tls.secretName'],
    ['api.replica=3', "additional properties 'replica' not allowed"],
    ['worker.port=80', 'minimum: got 80'],
    ['settings.retention=3', 'does not match pattern'],
  ])('refuses %s, and says what to do', (value, sentence) => {
    expect(() => render('plain', '--set', value)).toThrow(sentence);
  });
});

test('what Kubernetes would refuse is found', () => {
  const service: Manifest = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'gw', labels: { any: 'label' } },
    spec: { ports: [{ port: 80, targetPort: 'http' }] },
  };
  expect(findManifestFaults(service)).toEqual([]);
  expect(findManifestFaults({ ...service, spec: { ports: [{ port: 80, targetport: 'http' }] } })).toEqual([
    '/spec/ports/0/targetport is an unknown field',
  ]);
  expect(findManifestFaults({ ...service, spec: { ports: [{ port: 'http' }] } })).toEqual([
    expect.stringContaining('/spec/ports/0/port'),
  ]);
  expect(findManifestFaults({ ...service, kind: 'Sevrice' })).toEqual(['there is no schema for v1 Sevrice']);
});

test('the settings of the values exist', () => {
  const names = ['values', ...VALUES.map((name) => `ci/${name}-values`)].flatMap((file) => {
    const { settings, secret } = parse(readFileSync(join(CHART, `${file}.yaml`), 'utf8'));
    return Object.keys({ ...settings, ...secret?.values });
  });
  expect(names).toContain('TRUST_PROXY');
  expect(names.filter((name) => !SETTING_NAMES.has(name))).toEqual([]);
});

test('the chart is that of this version of the program', () => {
  const { version, appVersion } = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8'));
  expect({ version, appVersion }).toEqual({ version: packageJson.version, appVersion: packageJson.version });
});
