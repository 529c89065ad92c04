import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, inject, test } from 'vitest';
import { databaseUrl } from '../../test/support/cluster.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { workOf } from './probe.ts';

const ARRAYS = 500_000;
/** 100 small integers of 8 bytes, the header of their store and the array itself: two and four words. */
const BYTES = 100 * 8 + 6 * 8;
const STATEMENTS = 1234;

/** Does this much work, reports that it is done, and waits for the next line. */
const SOURCE = `
  import { createInterface } from 'node:readline';
  import pg from 'pg';
  const client = new pg.Client(process.argv[1]);
  await client.connect();
  const last = Array.from({ length: 100 });
  console.log('started');
  for await (const _ of createInterface({ input: process.stdin })) {
    for (let i = 0; i < ${ARRAYS}; i++) last[i % 100] = new Array(100).fill(i);
    await client.query('SELECT 1; '.repeat(${STATEMENTS}));
    console.log('done');
  }
  await client.end();
`;

test('the probe counts what a process allocates, to a tenth, and every statement that it completes', async () => {
  const dataDir = await temporaryFolder('heliograph-test-');
  const args = ['--import', join(import.meta.dirname, 'probe.ts'), '--input-type=module', '--eval', SOURCE];
  const child = spawn(process.execPath, [...args, databaseUrl(inject('clusterUrl'), 'postgres')], {
    cwd: import.meta.dirname,
    env: { ...process.env, DATA_DIR: dataDir },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  await once(lines, 'line');
  const before = await workOf(dataDir);
  child.stdin.write('\n');
  await once(lines, 'line');
  const after = await workOf(dataDir);
  child.stdin.end();
  await once(child, 'exit');
  await rm(dataDir, { recursive: true });
  expect(after.statements - before.statements).toBe(STATEMENTS);
  const share = (after.allocatedBytes - before.allocatedBytes) / (ARRAYS * BYTES);
  expect(share).toBeGreaterThan(0.98);
  expect(share).toBeLessThan(1.1);
});
