// Writes the program as JavaScript into program/, for the npm package: Node strips no types from files below node_modules.
// Types become blanks, so lines and columns stay. `npm pack` runs it, and removes the folder afterwards (`--remove`).
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { isProductionFile } from './production-files.ts';

const ROOT = join(import.meta.dirname, '..');
const PROGRAM = join(ROOT, 'program');

/** Relative paths of modules, in imports and in `new URL`. */
const MODULE = /(?<=')(\.{1,2}\/[^'\n]*)\.ts(?=')/g;

/** Returns a module of the program as JavaScript, which names other modules by what they are called there. */
export const toJavaScript = (text: string): string => stripTypeScriptTypes(text).replace(MODULE, '$1.js');

async function build(): Promise<void> {
  await rm(PROGRAM, { recursive: true, force: true });
  await cp(join(ROOT, 'src'), PROGRAM, { recursive: true, filter: isProductionFile });
  const files = await readdir(PROGRAM, { recursive: true });
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const path = join(PROGRAM, file);
    await writeFile(path.replace(/\.ts$/, '.js'), toJavaScript(await readFile(path, 'utf8')));
    await rm(path);
  }
}

if (import.meta.main) {
  if (process.argv.includes('--remove')) await rm(PROGRAM, { recursive: true, force: true });
  else await build();
}
