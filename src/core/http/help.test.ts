import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { loadConfig } from '../config.ts';
import type { App } from './app.ts';
import { createConsole, helpRoutes } from './pages.ts';
import { createServer } from './server.ts';

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const PAGE = '<title>Home</title>';

let app: App;
beforeAll(async () => {
  const folder = await temporaryFolder('heliograph-help-test-');
  const site = join(folder, 'site');
  await mkdir(join(site, 'assets'), { recursive: true });
  await mkdir(join(site, 'runbooks'));
  await writeFile(join(folder, 'secret.html'), 'secret');
  await writeFile(join(site, 'index.html'), PAGE);
  await writeFile(join(site, 'index.html.gz'), gzipSync(PAGE));
  await writeFile(join(site, '404.html'), '<title>No such page</title>');
  await writeFile(join(site, 'runbooks/rcs.html'), '<title>RCS</title>');
  await writeFile(join(site, 'assets/app.1.js'), 'start()');
  app = serve(site);
});
afterAll(() => app.close());

function serve(folder: string): App {
  const config = loadConfig({});
  const made = createServer(apiDeps({ config }), createConsole(config, '/nowhere').pages);
  made.register(async (open: App) => helpRoutes(open, folder));
  return made;
}

test('/help leads to /help/, and the first page is there', async () => {
  const { statusCode, headers } = await app.inject({ url: '/help', headers: BROWSER });
  expect([statusCode, headers.location]).toEqual([308, '/help/']);
  const page = await app.inject({ url: '/help/', headers: BROWSER });
  expect([page.statusCode, page.body]).toEqual([200, PAGE]);
  expect(page.headers['content-type']).toContain('text/html');
});

test('a page is sent compressed if accepted', async () => {
  const packed = await app.inject({ url: '/help/', headers: { ...BROWSER, 'accept-encoding': 'gzip' } });
  expect(packed.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(packed.rawPayload).toString()).toBe(PAGE);
});

test('a page is asked for again each time, and costs nothing while it is the same; an asset is kept for a year', async () => {
  const page = await app.inject({ url: '/help/runbooks/rcs.html', headers: BROWSER });
  expect(page.headers['cache-control']).toBe('no-cache');
  const again = await app.inject({
    url: '/help/runbooks/rcs.html',
    headers: { ...BROWSER, 'if-none-match': String(page.headers.etag) },
  });
  expect(again.statusCode).toBe(304);
  const asset = await app.inject('/help/assets/app.1.js');
  expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable');
  expect(asset.headers['content-type']).toContain('javascript');
});

test.each(['/help/', '/help/assets/app.1.js', '/help/nothing.html'])(
  '%s has a policy that allows no inline script and nothing from elsewhere, and no framing',
  async (url) => {
    const { headers } = await app.inject({ url, headers: BROWSER });
    const rules = String(headers['content-security-policy']).split('; ');
    expect(rules).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]),
    );
    expect(rules.filter((rule) => /unsafe|https?:|\*/.test(rule))).toEqual(["style-src-attr 'unsafe-inline'"]);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
  },
);

test.each(['/help/nothing', '/help/nothing.html', '/help/runbooks/nothing.html', '/help/assets/nothing.js'])(
  'an unknown page, %s, is 404 with the page for it, not the console',
  async (url) => {
    const { statusCode, body } = await app.inject({ url, headers: BROWSER });
    expect(statusCode).toBe(404);
    expect(body).toContain('No such page');
  },
);

test('a program that asks for an unknown page gets the error form of the API', async () => {
  const { statusCode, headers } = await app.inject('/help/nothing');
  expect([statusCode, headers['content-type']]).toEqual([404, expect.stringContaining('application/json')]);
});

test.each([
  '/help/../secret.html',
  '/help/..%2fsecret.html',
  '/help/%2e%2e/secret.html',
  '/help/runbooks/..%2f..%2fsecret.html',
  '/help//etc/passwd',
  '/help/..%5csecret.html',
  '/help/%00',
])('nothing outside of the folder of the site is served: %s', async (url) => {
  const { body } = await app.inject({ url, headers: BROWSER });
  expect(body).not.toMatch(/secret<|^secret|root:/);
});

test('a site that is not built is explained, with where the pages are and how to build it', async () => {
  await using unbuilt = serve('/nowhere');
  const { statusCode, body } = await unbuilt.inject({ url: '/help/api.html', headers: BROWSER });
  expect(statusCode).toBe(404);
  expect(body).toContain('docs/README.md');
  expect(body).toContain('npm run build:docs');
});
