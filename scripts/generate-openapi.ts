/**
 * Writes docs/openapi.json from the routes; with --check it only compares, and exits with 1 if they differ.
 * Needs no database: building the server sends no query.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { buildApi } from '../src/api.ts';
import { apiDeps } from '../test/support/http/api.ts';

const FILE = new URL('../docs/openapi.json', import.meta.url);

const app = buildApi(apiDeps());
await app.ready();
const description = `${JSON.stringify(app.swagger(), null, 2)}\n`;
await app.close();

if (!process.argv.includes('--check')) await writeFile(FILE, description);
else if ((await readFile(FILE, 'utf8').catch(() => '')) !== description) {
  process.stderr.write('docs/openapi.json does not match the routes: run node scripts/generate-openapi.ts\n');
  process.exitCode = 1;
}
