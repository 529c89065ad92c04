import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { sabotage } from './replace.ts';

const MESSAGE_TEXT = fileURLToPath(new URL('../../web/src/ui/message/message-text.tsx', import.meta.url));
const FIND = '>\n    {text}\n  </Text>';
const PUT = ' dangerouslySetInnerHTML={{ __html: text }} />';

const source = readFileSync(MESSAGE_TEXT, 'utf8');
if (source.split(FIND).length !== 2)
  throw new Error('The sabotage does not fit web/src/ui/message/message-text.tsx any more');

/** Builds the console with one innerHTML, into the folder of the run, which is removed with it. */
async function buildFaulty(): Promise<string> {
  const outDir = join(String(process.env['DATA_DIR']), '..', 'faulty-console');
  await build({
    configFile: fileURLToPath(new URL('../../web/vite.config.ts', import.meta.url)),
    logLevel: 'error',
    build: { outDir, emptyOutDir: true },
    plugins: [
      {
        name: 'one-inner-html',
        enforce: 'pre',
        transform: (code, id) => (id === MESSAGE_TEXT ? code.replace(FIND, PUT) : null),
      },
    ],
  });
  return outDir;
}

// Only for a program that is about to run: the check that the texts still fit loads this module without arguments.
const folder = process.argv.includes('serve') ? await buildFaulty() : '';
sabotage([
  {
    file: 'src/platform/http/console.ts',
    find: "fileURLToPath(new URL('../../../web/dist', import.meta.url))",
    put: JSON.stringify(folder),
  },
]);
