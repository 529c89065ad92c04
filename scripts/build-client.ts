/**
 * Builds the package @heliograph/client: plain JavaScript and declarations, into client/dist or the folder that is named.
 * `npm pack ./client` then makes a package that needs neither this repository nor type stripping.
 */
import { spawnSync } from 'node:child_process';
import { copyFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const root = join(import.meta.dirname, '..');
const target = resolve(process.argv[2] ?? join(root, 'client', 'dist'));

await rm(target, { recursive: true, force: true });
const tsc = join(root, 'node_modules', '.bin', 'tsc');
const { status } = spawnSync(tsc, ['-p', join(root, 'client'), '--outDir', target], { stdio: 'inherit' });
if (status !== 0) throw new Error('the client does not compile');
// Declarations that stand in the sources are no output of the compiler.
await copyFile(join(root, 'client', 'src', 'schema.d.ts'), join(target, 'schema.d.ts'));
await copyFile(join(root, 'LICENSE'), join(target, 'LICENSE'));
