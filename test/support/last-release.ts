import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import releases from '../last-release.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '../..');
/** The commit that last changed this file is the last release (RELEASING.md): a commit cannot contain its own hash. */
const FILE = 'test/last-release.json';

/** Commit of the last release, or the reason why this clone does not have it. */
export type LastRelease = { readonly commit: string } | { readonly missing: string };

export function findLastRelease(): LastRelease {
  if (releases.length === 0) return { missing: 'nothing has been released' };
  const git = (...args: string[]): string | null => {
    const { status, stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
    return status === 0 ? stdout.trim() : null;
  };
  const isShallow = git('rev-parse', '--is-shallow-repository');
  if (isShallow === null) return { missing: 'this is no clone' };
  // The oldest commit of a shallow clone seems to have changed every file.
  if (isShallow === 'true') return { missing: 'this clone has no history' };
  const commit = git('log', '-1', '--format=%H', '--', FILE);
  return commit ? { commit } : { missing: `${FILE} is not committed` };
}

/** Unpacks the program of a commit into a folder, with the packages of this clone. Returns its main file. */
export async function unpackProgram(commit: string, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const archive = execFileSync('git', ['archive', commit, 'package.json', 'src', 'db/migrations'], {
    cwd: ROOT,
    maxBuffer: 256 * 1024 * 1024,
  });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return join(folder, 'src/main.ts');
}
