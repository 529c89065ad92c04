// What a production installation consists of, taken from a checkout. The Dockerfile has the same list.
import { constants, existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, readlink, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** Files and folders of the program, in a checkout. The two that are built have to be built before. */
const PROGRAM = [
  'package.json',
  'LICENSE',
  'THIRD-PARTY-NOTICES.md',
  'CHANGELOG.md',
  'scripts/ensure-installed.mjs',
  'db/migrations',
  'db/directory',
  'src',
  'web/dist',
  'help/dist',
  'docs',
  'deploy',
];

/** Files that only tests, builds and readers of the repository need. */
const LEFT_OUT = [
  'src/smpp/fixtures',
  'docs/decisions',
  'docs/images',
  'docs/pages-that-run.ts',
  'deploy/debian',
  'deploy/npm',
].map((path) => join(ROOT, path));

/** Returns true if an installation needs this file or folder of the checkout. */
export const isProductionFile = (path: string): boolean => !path.endsWith('.test.ts') && !LEFT_OUT.includes(path);

type Lock = { readonly packages: Readonly<Record<string, { readonly dev?: boolean }>> };

/**
 * Copies what a production installation consists of into a new folder: the program with its console and, where it is built,
 * its documentation, and the packages of this checkout without those of development. Packages of other platforms are not
 * there unless the checkout has them. All files are readable by all users, whatever the umask of the checkout was.
 * Rejects when the console is not built or packages are missing.
 */
export async function copyProductionFiles(folder: string): Promise<void> {
  if (!existsSync(join(ROOT, 'web/dist/index.html'))) throw new Error('web/dist is missing: npm run build:console');
  for (const path of PROGRAM) if (existsSync(join(ROOT, path))) await copy(join(ROOT, path), join(folder, path));
  for (const path of await productionPackages()) await copy(join(ROOT, path), join(folder, path), isOfPackage);
  await mkdir(join(folder, 'node_modules/.bin'), { recursive: true });
  await symlink('../node/bin/node', join(folder, 'node_modules/.bin/node'));
}

/** Packages inside a package count separately. */
const isOfPackage = (path: string): boolean => basename(path) !== 'node_modules';

async function productionPackages(): Promise<string[]> {
  const { packages }: Lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'));
  const paths = Object.keys(packages).filter((path) => path !== '' && packages[path]?.dev !== true);
  if (!existsSync(join(ROOT, 'node_modules/node/bin/node'))) throw new Error('node_modules is incomplete: npm ci');
  return paths.filter((path) => existsSync(join(ROOT, path)));
}

/** Copies a file, a symbolic link or a folder. Never a hard link: modes would change in the checkout, too. */
export async function copy(from: string, to: string, wanted = isProductionFile): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  const { mode } = await stat(from);
  if ((mode & constants.S_IFMT) !== constants.S_IFDIR) return copyOne(from, to, mode);
  for (const entry of await readdir(from, { recursive: false, withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (!wanted(source)) continue;
    if (entry.isDirectory()) await copy(source, target, wanted);
    else if (entry.isSymbolicLink()) await copyLink(source, target);
    else await copy(source, target, wanted);
  }
}

async function copyOne(from: string, to: string, mode: number): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await chmod(to, (mode & 0o100) === 0 ? 0o644 : 0o755);
}

async function copyLink(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await symlink(await readlink(from), to);
}

/** The files below a folder, by their path in it, in order. Symbolic links are left out. */
export async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => relative(folder, join(entry.parentPath, entry.name))).toSorted();
}
