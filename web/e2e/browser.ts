import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sparticuz from '@sparticuz/chromium';
import { type Browser, chromium } from 'playwright-core';
import { isAlive } from '../../src/core/db/embedded-process.ts';
import { until } from '../../test/support/until.ts';

/**
 * Headless Chromium: the one at CHROMIUM_PATH, or the one from npm, which needs no system package. As root it runs
 * without its sandbox; it opens only our own pages.
 */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = process.env['CHROMIUM_PATH'] || (await unpack());
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--font-render-hinting=none'],
  });
}

/** Unpacks it into the temporary folder, once per machine: test files that start together wait for the first. */
async function unpack(): Promise<string> {
  const lock = join(tmpdir(), 'heliograph-chromium.lock');
  await until('the browser to be unpacked', () => take(lock), 60_000);
  try {
    return await sparticuz.executablePath();
  } finally {
    await rm(lock, { force: true });
  }
}

async function take(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    const owner = Number(await readFile(lock, 'utf8').catch(() => ''));
    if (owner > 0 && !isAlive(owner)) await rm(lock, { force: true });
    return false;
  }
}
