import { execFile, spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { findBinaries, findServerUser, type ServerUser } from '../../../src/core/db/embedded-settings.ts';
import { freePort } from '../free-port.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { loadComposeFile, ROOT, type Service } from './compose-file.ts';
import { startVersionProxy } from './version-proxy.ts';

const run = promisify(execFile);

const FILE = 'deploy/compose/ha.yaml';
const ENTRYPOINT = join(import.meta.dirname, 'image-entrypoint.sh');
/** Folder of the image with scripts that prepare a new database. */
const INIT_DIR = 'docker-entrypoint-initdb.d';
const MAJOR = '18';
const DEBIAN = '/usr/lib/postgresql';
const ABORT_MS = 5000;

/** Returns why there can be no containers, or undefined if there can. */
export function containersAreMissing(): string | undefined {
  if (process.platform !== 'linux') return 'only Linux has many loopback addresses';
  return findClient('psql') !== undefined && findClient('pg_basebackup') !== undefined
    ? undefined
    : "psql and pg_basebackup are not installed: the Debian package is 'postgresql-client'";
}

/** The newest one that Debian has installed: what it puts into the PATH chooses by the clusters of the machine. */
function findClient(name: string): string | undefined {
  const installed = listFolder(DEBIAN)
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(DEBIAN, version, 'bin', name));
  return [...installed, name].find((program) => spawnSync(program, ['--version']).status === 0);
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** A container while it runs. */
export type Run = {
  /** Resolves with its exit code, or null after a kill. */
  readonly ended: Promise<number | null>;
  output(): string;
  /** Stops it as `docker stop` does: sends the signal that the image names, and waits. */
  stop(): Promise<void>;
  /** Ends it as a power cut would. */
  kill(): Promise<void>;
  /** Ends it soon, whatever it does, and leaves no shared memory behind if it is a server. */
  abort(): Promise<void>;
};

/** One of the database servers of `ha.yaml`. */
export type Container = {
  readonly name: string;
  /** `docker compose up`. */
  up(): Run;
  /** `docker compose run NAME ARGUMENTS`. */
  run(...args: readonly string[]): Run;
  /** `docker compose exec NAME COMMAND`; resolves with what it prints. */
  exec(...command: readonly string[]): Promise<string>;
  /** `docker volume rm`. */
  removeVolume(): Promise<void>;
  ask<R extends pg.QueryResultRow>(statement: string): Promise<R[]>;
};

export type Containers = AsyncDisposable & {
  readonly containers: readonly Container[];
  /** DATABASE_URL of the program, with the addresses of the containers. */
  readonly url: string;
};

type Place = {
  readonly folder: string;
  readonly user: ServerUser | undefined;
  /** The folder of the built-in PostgreSQL's programs. */
  readonly programs: string;
  readonly port: number;
  /** Port at which older copies of pg_basebackup reach the servers (`version-proxy.ts`). */
  readonly copyPort: number;
  /** The address of each service. */
  readonly addresses: ReadonlyMap<string, string>;
  /** Ends what still runs. */
  readonly runs: Set<Run>;
};

/**
 * Makes the database servers of `ha.yaml` without Docker. The scripts, their environment, arguments and mounts are those of
 * the file; a script of the tests stands for the entry point of the image. Instead of a machine each server has a folder and a loopback address;
 * the programs are those of the built-in PostgreSQL and of Debian.
 */
export async function openContainers(): Promise<Containers> {
  const project = loadComposeFile(FILE);
  const services = Object.entries(project.services).filter(([name]) => name.startsWith('postgres-'));
  const folder = await temporaryFolder('heliograph-ha-');
  const user = await findServerUser(folder);
  const network = `127.${randomInt(1, 255)}.${randomInt(256)}`;
  const place: Place = {
    folder,
    user,
    programs: dirname((await findBinaries(user)).postgres),
    port: await freePort(),
    copyPort: await freePort(),
    addresses: new Map(services.map(([name], i) => [name, `${network}.${i + 1}`])),
    runs: new Set(),
  };
  const proxies = await Promise.all(
    [...place.addresses.values()].map((address) => startVersionProxy(address, place.copyPort, place.port)),
  );
  const containers = await Promise.all(services.map(([name, service]) => makeContainer(place, name, service)));
  const url = project.services['api-1']?.environment?.['DATABASE_URL'] ?? '';
  return {
    containers,
    url: url.replaceAll(/(postgres-\d):5432/g, (_, name: string) => `${place.addresses.get(name)}:${place.port}`),
    async [Symbol.asyncDispose]() {
      await Promise.all([...place.runs].map((each) => each.abort()));
      for (const proxy of proxies) await proxy[Symbol.asyncDispose]();
      // The processes of a server end a moment after it.
      await rm(folder, { recursive: true, maxRetries: 10 });
    },
  };
}

async function makeContainer(place: Place, name: string, service: Service): Promise<Container> {
  const { user, port, addresses } = place;
  const root = join(place.folder, name);
  const [volume, sockets] = [join(root, 'var/lib/postgresql'), join(root, 'var/run/postgresql')];
  const dataDir = join(volume, MAJOR, 'docker');
  const address = addresses.get(name) ?? '';
  for (const dir of [volume, sockets]) {
    await mkdir(dir, { recursive: true });
    if (user !== undefined) await chown(dir, user.uid, user.gid);
  }
  await installPrograms(root, place.copyPort);
  await mountFiles(root, service);

  const env = {
    PATH: [join(root, 'usr/local/bin'), place.programs, '/usr/bin', '/bin'].join(':'),
    LANG: 'C.UTF-8',
    PG_MAJOR: MAJOR,
    PGDATA: dataDir,
    INIT_DIR: join(root, INIT_DIR),
    ...service.environment,
    // Instead of names that Docker resolves.
    PEERS: (service.environment?.['PEERS'] ?? '')
      .split(',')
      .map((peer) => addresses.get(peer))
      .join(','),
    PGPORT: String(port),
    // On a separate machine, a server would trust only clients at 127.0.0.1.
    POSTGRES_INITDB_ARGS: `--auth-host=scram-sha-256 --set=unix_socket_directories=${sockets}`,
  };
  const start = (...args: readonly string[]): Run => {
    const [program = '', ...words] = service.entrypoint ?? [];
    const command = [...words.map((word) => (word.startsWith('/') ? join(root, word) : word)), ...args];
    const started = startRun(program, command, { ...user, env, cwd: root });
    place.runs.add(started);
    return started;
  };
  const own = { listen_addresses: address, unix_socket_directories: sockets };
  const settings = Object.entries(own).flatMap(([key, value]) => ['-c', `${key}=${value}`]);

  return {
    name,
    up: () => start(...(service.command ?? []), ...settings),
    run: start,
    async exec(program, ...args) {
      const { stdout } = await run(program ?? '', args, { ...user, env, cwd: root });
      return stdout.trim();
    },
    async removeVolume() {
      for (const each of await readdir(volume)) await rm(join(volume, each), { recursive: true });
    },
    async ask<R extends pg.QueryResultRow>(statement: string): Promise<R[]> {
      const { POSTGRES_USER: owner, POSTGRES_PASSWORD: password, POSTGRES_DB: database } = service.environment ?? {};
      const client = new pg.Client({ host: address, port, user: owner, password, database });
      client.on('error', () => undefined);
      await client.connect();
      try {
        return (await client.query<R>(statement)).rows;
      } finally {
        await client.end();
      }
    },
  };
}

function startRun(program: string, args: readonly string[], options: Parameters<typeof spawn>[2]): Run {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  const ended = once(child, 'exit').then(() => child.exitCode);
  const endBy = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await ended;
  };
  return {
    ended,
    output: () => output,
    stop: () => endBy('SIGINT'),
    kill: () => endBy('SIGKILL'),
    async abort() {
      // Bash ignores it.
      await Promise.race([endBy('SIGQUIT'), delay(ABORT_MS, undefined, { ref: false })]);
      await endBy('SIGKILL');
    },
  };
}

/** Puts the programs of the image into `root`: its entry point, and the clients of PostgreSQL. */
async function installPrograms(root: string, copyPort: number): Promise<void> {
  const dir = join(root, 'usr/local/bin');
  await mkdir(dir, { recursive: true });
  const [psql = '', pgBasebackup = ''] = ['psql', 'pg_basebackup'].map(findClient);
  const scripts: Record<string, string> = {
    psql: `PGHOST=\${PGHOST:-${join(root, 'var/run/postgresql')}} exec ${psql} "$@"`,
    pg_basebackup:
      (await majorOf(pgBasebackup)) >= Number(MAJOR)
        ? `exec ${pgBasebackup} "$@"`
        : `PGPORT=${copyPort} ${pgBasebackup} "$@" &&
  sed -i "s/port=${copyPort}/port=$PGPORT/" "$PGDATA.new/postgresql.auto.conf"`,
  };
  for (const [name, script] of Object.entries(scripts)) scripts[name] = `#!/bin/sh\n${script}\n`;
  for (const name of ['docker-entrypoint.sh', 'docker-ensure-initdb.sh'])
    scripts[name] = await readFile(ENTRYPOINT, 'utf8');
  for (const [name, text] of Object.entries(scripts)) {
    await writeFile(join(dir, name), text);
    await chmod(join(dir, name), 0o755);
  }
}

async function majorOf(program: string): Promise<number> {
  const { stdout } = await run(program, ['--version']);
  return Number(/\d+/.exec(stdout)?.[0]);
}

/** Copies the files that Compose mounts to their places below `root`. */
async function mountFiles(root: string, { volumes = [] }: Service): Promise<void> {
  for (const [source = '', target = ''] of volumes.map((volume) => volume.split(':'))) {
    if (!source.startsWith('.')) continue;
    const file = join(root, target);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, await readFile(resolve(ROOT, dirname(FILE), source)));
    // As a checkout has it: the image runs what is executable, and reads the rest into its own shell.
    await chmod(file, 0o644);
  }
}
