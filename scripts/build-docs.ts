// Builds the site of the documentation into help/dist, from the Markdown of the repository, if that has changed since the
// last build: `npm run build:docs`, and the build of a package or an image. It fails if a link leads to a page that does not
// exist, and leaves the existing site alone where the development packages are missing. The program serves the site at /help
// (src/core/http/pages.ts).
//
// For your own web server, `npm run build:docs -- --to FOLDER --base /0.3/ --version 0.2=https://docs.example.com/0.2/`
// builds it into a new folder, for the path `--base`. Its menu of versions also leads to these addresses.
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { replaceLinks } from '../help/markdown.ts';
import { listDecisions } from '../help/navigation.ts';
import { type Plan, placeLink, planPages } from '../help/plan.ts';
import { buildOnce, withLock } from './build-once.ts';

const root = join(import.meta.dirname, '..');
const help = join(root, 'help');
const pages = join(help, '.pages');
const made = join(help, '.made');
const dist = join(help, 'dist');
const { values: wanted } = parseArgs({
  options: {
    to: { type: 'string', default: dist },
    base: { type: 'string', default: '/help/' },
    version: { type: 'string', multiple: true, default: [] },
  },
});
const compress = promisify(gzip);

/** Scripts that the generator writes into each page. The content security policy allows scripts in files only. */
const INLINE_SCRIPT = /<script(?: id="[\w-]+")?>([^<]+)<\/script>/g;

/** Output of builds in the folder of the site. */
const MADE = /\/(?:dist|\.made|\.pages|\.cache)\/|\/\.building$/;

async function write(path: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}

/** Writes the pages into a folder, with the links that they have in the site, and the files that they link to. */
async function stage(plan: Plan): Promise<void> {
  await rm(pages, { recursive: true, force: true });
  for (const [source, place] of plan.pages) {
    const text = await readFile(join(root, source), 'utf8');
    await write(
      join(pages, place),
      replaceLinks(text, (link) => placeLink(plan, source, link)),
    );
  }
  await write(join(pages, 'decisions/index.md'), await listOfDecisions(plan));
  // Pictures are found next to the pages, everything else is copied as it is.
  for (const [source, place] of plan.files)
    await write(join(pages, place.endsWith('.png') ? '' : 'public', place), await readFile(join(root, source)));
  await cp(join(root, 'web/src/ui/icon.svg'), join(pages, 'public/icon.svg'));
}

async function listOfDecisions({ pages: places }: Plan): Promise<string> {
  const rows = (await listDecisions()).map(({ source, title }) => `- [${title}](../${places.get(source)})`);
  return `# Design decisions\n\nWhy things are the way they are, with measurements.\n\n${rows.join('\n')}\n`;
}

/** Moves the inline scripts of all pages into files. */
async function moveScripts(files: readonly string[]): Promise<void> {
  const scripts = new Map<string, string>();
  for (const file of files.filter((name) => name.endsWith('.html'))) {
    const html = await readFile(file, 'utf8');
    const moved = html.replace(INLINE_SCRIPT, (_whole, code: string) => {
      const name = `inline.${createHash('sha256').update(code).digest('hex').slice(0, 8)}.js`;
      scripts.set(name, code);
      return `<script src="${wanted.base}assets/${name}"></script>`;
    });
    if (/<script(?![^>]* src=)[^>]*>/.test(moved)) throw new Error(`${file} has an inline script`);
    await writeFile(file, moved);
  }
  for (const [name, code] of scripts) await writeFile(join(made, 'assets', name), code);
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function precompress(files: readonly string[]): Promise<void> {
  for (const file of files.filter((name) => /\.(html|js|css|svg|json|txt)$/.test(name)))
    await writeFile(`${file}.gz`, await compress(await readFile(file), { level: 9 }));
}

/** Everything that the result depends on: the pages, what they link to, and how they are shown. */
async function listSources(): Promise<readonly string[]> {
  const plan = await planPages();
  for (const source of plan.pages.keys())
    replaceLinks(await readFile(join(root, source), 'utf8'), (link) => placeLink(plan, source, link));
  const shown = (await listFiles(help)).filter((file) => !MADE.test(file));
  const written = [...plan.pages.keys(), ...plan.files.keys(), 'web/src/ui/icon.svg', 'package-lock.json'];
  return [...shown, ...written.map((file) => join(root, file))];
}

/** Reads `NAME=URL`. A path alone would be taken for one of this site. */
function toLink(version: string): { text: string; link: string; target: string } {
  const [text = '', link = ''] = version.split('=', 2);
  if (text === '' || !URL.canParse(link)) throw new Error(`--version ${version} is not NAME=URL`);
  return { text, link, target: '_self' };
}

async function build(): Promise<boolean> {
  const vitepress = await import('vitepress').catch(() => undefined);
  if (vitepress === undefined) return false;
  const start = performance.now();
  await stage(await planPages());
  process.env['OTHER_VERSIONS'] = JSON.stringify(wanted.version.map(toLink));
  await vitepress.build(help, { outDir: made, base: wanted.base });
  await moveScripts(await listFiles(made));
  await precompress(await listFiles(made));
  if (wanted.to === dist) await rm(dist, { recursive: true, force: true });
  // Another folder may be on another disk, and what is in it may not be ours.
  await cp(made, resolve(wanted.to), { recursive: true, errorOnExist: true, force: false });
  await rm(made, { recursive: true });
  console.log(`Built the documentation in ${((performance.now() - start) / 1000).toFixed(1)} s.`);
  return true;
}

const lock = join(help, '.building');
if (wanted.to !== dist) await withLock(lock, build);
else await buildOnce({ stamp: join(dist, 'built-from'), lock, sources: listSources, build });
