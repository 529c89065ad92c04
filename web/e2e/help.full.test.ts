import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { loadConfig } from '../../src/core/config.ts';
import type { App } from '../../src/core/http/app.ts';
import { helpRoutes } from '../../src/core/http/pages.ts';
import { createServer } from '../../src/core/http/server.ts';
import { apiDeps } from '../../test/support/http/api.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { launchBrowser } from './browser.ts';

const BUILD = join(import.meta.dirname, '../../scripts/build-docs.ts');

let app: App;
let browser: Browser;
let origin: string;
beforeAll(async () => {
  await promisify(execFile)(process.execPath, [BUILD]);
  app = createServer(apiDeps({ config: loadConfig({}) }));
  app.register(async (open: App) => helpRoutes(open));
  await app.listen({ host: '127.0.0.1', port: 0 });
  origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser.close();
  await app.close();
});

type Visit = AsyncDisposable & { readonly page: Page; readonly faults: readonly string[] };

/** A page in its own window, and everything that went wrong in it: errors, violations, requests to others. */
async function visit(path: string): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => !request.url().startsWith(origin) && faults.push(request.url()));
  page.on('response', (response) => response.status() >= 400 && faults.push(`${response.status()} ${response.url()}`));
  await page.goto(`${origin}${path}`, { waitUntil: 'networkidle' });
  return { page, faults, [Symbol.asyncDispose]: () => context.close() };
}

test('pages follow one another under the policy, with nothing from elsewhere', async () => {
  await using window = await visit('/help');
  const { page, faults } = window;
  await page.getByRole('link', { name: 'Concepts and glossary' }).click();
  await page.getByRole('heading', { level: 1, name: 'Concepts' }).waitFor();
  expect(page.url()).toBe(`${origin}/help/concepts.html`);
  await page.getByRole('link', { name: 'Install and send your first SMS' }).click();
  await page.getByRole('img', { name: /The overview/ }).waitFor();
  expect(faults).toEqual([]);
});

test('the menu of versions leads to the changes and, on its own web server, to other versions', async () => {
  await using window = await visit('/help/concepts.html');
  const { page, faults } = window;
  await page.getByRole('button', { name: `Version ${packageJson.version}` }).hover();
  await page.getByRole('link', { name: 'Changes', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Changelog' }).waitFor();
  expect(faults).toEqual([]);

  const folder = join(await temporaryFolder('heliograph-help-'), '0.3');
  const args = [BUILD, '--to', folder, '--base', '/0.3/', '--version', '0.2=https://docs.example.com/0.2/'];
  await promisify(execFile)(process.execPath, args);
  const html = await readFile(join(folder, 'concepts.html'), 'utf8');
  expect(html.includes('href="https://docs.example.com/0.2/"')).toBe(true);
  const own = [...html.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, address]) => address);
  expect(own.filter((address) => !address?.startsWith('/0.3/'))).toEqual([]);
  // What is there already is not overwritten.
  await expect(promisify(execFile)(process.execPath, args)).rejects.toThrow('already exists');
});

test('a link to a heading that is opened directly shows that heading', async () => {
  await using window = await visit('/help/concepts.html#contacts-lists-and-consent');
  const heading = window.page.getByRole('heading', { name: 'Contacts, lists and consent' });
  await expect.poll(async () => (await heading.boundingBox())?.y ?? -1).toBeLessThan(200);
  expect(window.faults).toEqual([]);
});

test('the search finds a word that only one section has, and leads to it', async () => {
  await using window = await visit('/help/');
  const { page, faults } = window;
  await page.getByRole('button', { name: 'Search' }).first().click();
  await page.getByRole('searchbox').fill('nginx');
  const result = page.locator('a.result').first();
  await result.waitFor();
  await result.click();
  await expect.poll(() => page.url()).toMatch(/\/help\/[\w-]+(\/[\w-]+)?\.html/);
  expect(faults).toEqual([]);
});

test('the site is dark when asked, and stays so', async () => {
  await using window = await visit('/help/');
  const { page, faults } = window;
  const isDark = () => page.evaluate(() => document.documentElement.classList.contains('dark'));
  expect(await isDark()).toBe(false);
  await page.getByRole('switch').first().click();
  await expect.poll(isDark).toBe(true);
  await page.reload();
  expect(await isDark()).toBe(true);
  expect(faults).toEqual([]);
});
