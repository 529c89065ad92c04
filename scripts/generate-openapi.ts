/**
 * Writes docs/openapi.json from the routes; with --check it only compares, and exits with 1 when they differ.
 * Needs no database: nothing is asked of it while the server is built.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { buildApi } from '../src/app/api.ts';
import { apiDeps } from '../test/support/api.ts';

const FILE = new URL('../docs/openapi.json', import.meta.url);

const app = buildApi(apiDeps());
await app.ready();
const description = `${JSON.stringify(app.swagger(), null, 2)}\n`;
await app.close();

if (!process.argv.includes('--check')) await writeFile(FILE, description);
else if ((await readFile(FILE, 'utf8').catch(() => '')) !== description) {
  process.stderr.write('docs/openapi.json is not what the routes say: run node scripts/generate-openapi.ts\n');
  process.exitCode = 1;
}
