#!/usr/bin/env node
// The command of the npm package. Runs with whatever Node the machine has, from 20 on: plain JavaScript, built-in modules
// only. The program needs Node 26, which is a dependency of the package, unless install scripts are not allowed.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NEEDED = 26;
const FLAGS = ['--max-semi-space-size=8', '--heap-growing-percent=150'];
const main = fileURLToPath(new URL('../../program/main.js', import.meta.url));

function findNode() {
  const name = process.platform === 'win32' ? 'node.exe' : 'node';
  try {
    const path = join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin', name);
    if (existsSync(path)) return path;
  } catch {
    // The package is not there.
  }
  return Number(process.versions.node.split('.')[0]) >= NEEDED ? process.execPath : undefined;
}

const node = findNode();
if (node === undefined) {
  console.error(
    `Heliograph needs Node ${NEEDED}; this is ${process.version}, and the package "node" has none, because its install ` +
      `script did not run. Allow it (npm install --allow-scripts=node), or install Node ${NEEDED}.`,
  );
  process.exit(1);
}

const child = spawn(node, [...FLAGS, main, ...process.argv.slice(2)], { stdio: 'inherit' });
// Ctrl+C reaches both; what a supervisor sends reaches this process alone.
process.on('SIGINT', () => undefined);
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`Node cannot be started: ${error.message}`);
  process.exitCode = 1;
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal];
});
