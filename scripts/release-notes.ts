// Prints the release notes of a version, from its section of CHANGELOG.md: `npm run -s release:notes -- v0.2.0`. Fails
// when the packages do not have this version, or when the changelog has nothing to say about it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import clientJson from '../client/package.json' with { type: 'json' };
import packageJson from '../package.json' with { type: 'json' };

/** The versions of the packages that a release publishes together. */
const PACKAGES = { 'package.json': packageJson.version, 'client/package.json': clientJson.version };

/**
 * Returns what a changelog says about a version (`0.2.0`), without its heading. Throws an Error when there is no such
 * section, when it has no date, or when it is empty.
 */
export function notesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## )/m);
  const section = sections.find((each) => each.startsWith(`## [${version}]`));
  if (section === undefined) throw new Error(`CHANGELOG.md has no section for ${version}`);
  const [heading = '', ...lines] = section.split('\n');
  if (!/ - \d{4}-\d{2}-\d{2}$/.test(heading)) throw new Error(`the section for ${version} has no date: "${heading}"`);
  const notes = lines.join('\n').trim();
  if (notes === '') throw new Error(`the section for ${version} is empty`);
  return `${notes}\n`;
}

/** Returns the version that a tag names; throws an Error unless every given package has it. */
export function versionOfTag(tag: string, packages: Readonly<Record<string, string>>): string {
  const version = /^v?(\d+\.\d+\.\d+(?:-[\w.]+)?)$/.exec(tag)?.[1];
  if (version === undefined) throw new Error(`"${tag}" is not a tag like v0.2.0`);
  const others = Object.entries(packages).filter(([, its]) => its !== version);
  if (others.length > 0)
    throw new Error(`the tag is ${tag}, but ${others.map(([file, its]) => `${file} has ${its}`).join(' and ')}`);
  return version;
}

if (import.meta.main) {
  const changelog = readFileSync(join(import.meta.dirname, '../CHANGELOG.md'), 'utf8');
  process.stdout.write(notesOf(changelog, versionOfTag(process.argv[2] ?? '', PACKAGES)));
}
