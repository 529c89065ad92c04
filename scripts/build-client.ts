/**
 * Builds the package @heliograph/client, as plain JavaScript with declarations, into client/dist or the given folder.
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
// The compiler does not emit declaration files that are among the sources.
await copyFile(join(root, 'client', 'src', 'schema.d.ts'), join(target, 'schema.d.ts'));
await copyFile(join(root, 'LICENSE'), join(target, 'LICENSE'));
