// Builds the Debian package: `npm run package:deb -- --to FOLDER`. It contains the packages of this checkout
// (scripts/production-files.ts), hence those of this machine's platform. Two builds of one commit differ only in what npm
// and the builds of console and documentation differ in: times come from SOURCE_DATE_EPOCH, or from the commit.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import { copy, copyProductionFiles, listFiles } from './production-files.ts';

const ROOT = join(import.meta.dirname, '..');
const HERE = join(ROOT, 'deploy/debian');
const HOME = 'opt/heliograph';
const SCRIPTS = ['postinst', 'prerm', 'postrm'];
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Places of files of the checkout in the package, apart from the program itself. */
const PLACES: Readonly<Record<string, string>> = {
  'deploy/systemd/heliograph.service': 'usr/lib/systemd/system/heliograph.service',
  'deploy/systemd/heliograph-api@.service': 'usr/lib/systemd/system/heliograph-api@.service',
  'deploy/systemd/heliograph-worker@.service': 'usr/lib/systemd/system/heliograph-worker@.service',
  'deploy/systemd/heliograph.env': 'usr/share/heliograph/heliograph.env',
  'deploy/bin/heliograph': 'usr/bin/heliograph',
  LICENSE: 'usr/share/doc/heliograph/copyright',
  'THIRD-PARTY-NOTICES.md': 'usr/share/doc/heliograph/THIRD-PARTY-NOTICES.md',
};

type Build = {
  readonly version: string;
  /** The folder of the package. */
  readonly to: string;
  /** Compression of dpkg-deb: `xz`, `none`. */
  readonly compression: string;
};

/** Builds the package, and returns its path. Needs dpkg-deb, and the console in web/dist. */
export async function buildDeb({ version, to, compression }: Build): Promise<string> {
  const architecture = ARCHITECTURES[process.arch];
  if (process.platform !== 'linux' || architecture === undefined)
    throw new Error(`there is no Debian package for ${process.platform}-${process.arch}`);
  const stage = await mkdtemp(join(tmpdir(), 'heliograph-deb-'));
  try {
    const tree = join(stage, 'tree');
    await fill(tree);
    await control(tree, debianVersion(version), architecture);
    await mkdir(to, { recursive: true });
    const file = join(to, `heliograph_${debianVersion(version)}_${architecture}.deb`);
    pack(tree, file, compression);
    return file;
  } finally {
    await rm(stage, { recursive: true });
  }
}

/** A preview sorts before its release: 0.3.0-rc.1 is 0.3.0~rc.1 to dpkg. */
const debianVersion = (version: string): string => version.replace('-', '~');

async function fill(tree: string): Promise<void> {
  await copyProductionFiles(join(tree, HOME));
  for (const [from, to] of Object.entries(PLACES)) await copy(join(ROOT, from), join(tree, to));
  run('chmod', ['755', join(tree, 'usr/bin/heliograph')]);
}

async function control(tree: string, version: string, architecture: string): Promise<void> {
  const folder = join(tree, 'DEBIAN');
  const files = await listFiles(tree);
  const sums: string[] = [];
  let bytes = 0;
  for (const file of files) {
    bytes += (await stat(join(tree, file))).size;
    sums.push(`${await md5(join(tree, file))}  ${file}\n`);
  }
  await mkdir(folder);
  const fields = [`Version: ${version}`, `Architecture: ${architecture}`, `Installed-Size: ${Math.ceil(bytes / 1024)}`];
  const text = await readFile(join(HERE, 'control'), 'utf8');
  await writeFile(join(folder, 'control'), text.replace('\n', `\n${fields.join('\n')}\n`));
  // For `dpkg --verify`, which knows nothing else.
  await writeFile(join(folder, 'md5sums'), sums.join(''));
  for (const name of SCRIPTS) await copy(join(HERE, name), join(folder, name));
  run('chmod', ['755', ...SCRIPTS.map((name) => join(folder, name))]);
}

const md5 = async (file: string): Promise<string> =>
  createHash('md5')
    .update(await readFile(file))
    .digest('hex');

function pack(tree: string, file: string, compression: string): void {
  // Folders are readable by all users, whatever the umask is here; files have their modes already.
  run('find', [tree, '-type', 'd', '-exec', 'chmod', '755', '{}', '+']);
  run('dpkg-deb', ['--root-owner-group', `-Z${compression}`, '--build', tree, file], {
    ...process.env,
    SOURCE_DATE_EPOCH: process.env['SOURCE_DATE_EPOCH'] ?? commitTime(),
  });
}

/** Seconds since 1970 of the commit; of now in an archive without history. */
function commitTime(): string {
  try {
    return execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' }).trim();
  } catch {
    return String(Math.floor(Date.now() / 1000));
  }
}

function run(command: string, args: readonly string[], env = process.env): void {
  execFileSync(command, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      to: { type: 'string', default: '.' },
      version: { type: 'string', default: packageJson.version },
      compression: { type: 'string', default: 'xz' },
    },
  });
  console.log(await buildDeb({ ...values, to: resolve(values.to) }));
}
