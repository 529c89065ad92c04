import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { loadConfig } from '../config.ts';
import type { App } from './app.ts';
import { createConsole } from './pages.ts';
import { createServer } from './server.ts';

const PAGE = '<meta property="csp-nonce" nonce="CSP_NONCE"><script src="/assets/a-1.js" nonce="CSP_NONCE"></script>';
const SCRIPT = 'console.log("the console")';
const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

let app: App;
beforeAll(async () => {
  const folder = await temporaryFolder('heliograph-console-test-');
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'index.html'), PAGE);
  await writeFile(join(folder, 'assets/a-1.js'), SCRIPT);
  await writeFile(join(folder, 'assets/a-1.js.gz'), gzipSync(SCRIPT));
  await writeFile(join(folder, 'assets/a-1.js.br'), brotliCompressSync(SCRIPT));
  app = serve(folder);
});
afterAll(() => app.close());

function serve(folder: string, environment: Readonly<Record<string, string>> = {}): App {
  const config = loadConfig(environment);
  const console = createConsole(config, folder);
  const made = createServer(apiDeps({ config }), console.pages);
  made.register(async (open: App) => {
    console.routes(open);
    open.get('/api/thing', async () => ({}));
    open.post('/api/only-post', async () => ({}));
  });
  return made;
}

const policyOf = (headers: Record<string, unknown>): string => String(headers['content-security-policy']);

test.each(['/', '/campaigns/12', '/sign-in?next=%2Fapi-keys', '/apis', '/healthy'])(
  'a browser gets the page at %s, not to be kept without asking',
  async (url) => {
    const { statusCode, headers, body } = await app.inject({ url, headers: BROWSER });
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' });
    expect(body).toContain('/assets/a-1.js');
  },
);

test.each(['/api/nothing', '/services/x', '/openapi.json/x', '/health/x', '/metrics/x', '/oauth/x', '/assets/x.js'])(
  'an unknown address of the interface, %s, is 404 as JSON for a browser, too',
  async (url) => {
    const { statusCode, headers } = await app.inject({ url, headers: BROWSER });
    expect(statusCode).toBe(404);
    expect(headers['content-type']).toContain('application/json');
  },
);

test('a request that does not accept HTML gets 404 as JSON, and so does any other method', async () => {
  expect((await app.inject({ url: '/campaigns' })).statusCode).toBe(404);
  expect((await app.inject({ url: '/campaigns', method: 'POST', headers: BROWSER })).statusCode).toBe(404);
  const wrongMethod = await app.inject({ url: '/api/only-post', headers: BROWSER });
  expect(wrongMethod.statusCode).toBe(405);
});

test.each([{}, { accept: '*/*' }, { accept: 'application/json' }, BROWSER])(
  'any client gets the page at /, by GET and by HEAD: uptime probes accept %j',
  async (headers) => {
    const page = await app.inject({ url: '/?from=probe', headers });
    expect(page.statusCode).toBe(200);
    expect(page.body).toContain('/assets/a-1.js');
    const { statusCode, body } = await app.inject({ url: '/', method: 'HEAD', headers });
    expect([statusCode, body]).toEqual([200, '']);
  },
);

test('every response has its own nonce, in the policy and in the page', async () => {
  const nonces = new Set<string>();
  for (let turn = 0; turn < 5; turn += 1) {
    const { headers, body } = await app.inject({ url: '/', headers: BROWSER });
    const nonce = /'nonce-([^']+)'/.exec(policyOf(headers))?.[1] ?? '';
    expect(body).not.toContain('CSP_NONCE');
    expect(body.match(new RegExp(`nonce="${nonce.replaceAll('+', '\\+')}"`, 'g'))).toHaveLength(2);
    nonces.add(nonce);
  }
  expect(nonces.size).toBe(5);
});

test('the policy allows only our own scripts, nothing inline, and no framing', async () => {
  const { headers } = await app.inject({ url: '/', headers: BROWSER });
  const policy = policyOf(headers);
  expect(policy).not.toMatch(/unsafe-|\*|data:|https?:/);
  for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
    expect(policy.split('; ')).toContain(rule);
  expect(policy.split('; ')).toContain("require-trusted-types-for 'script'");
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'x-request-id': expect.any(String),
  });
});

test('files in S3 may be displayed and fetched from there, and from nowhere else', async () => {
  const s3 = { STORAGE: 's3', S3_BUCKET: 'files', S3_ENDPOINT: 'https://s3.example.com/base' };
  await using own = serve('/nowhere', s3);
  const policy = policyOf((await own.inject({ url: '/', headers: BROWSER })).headers);
  expect(policy).toContain("img-src 'self' https://s3.example.com;");
  expect(policy).toContain("script-src 'self';");
});

test('a file is cached for a year, and an unknown one is 404', async () => {
  const plain = await app.inject('/assets/a-1.js');
  expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
  expect(plain.headers['content-type']).toMatch(/javascript/);
  expect(plain.body).toBe(SCRIPT);
  expect((await app.inject('/assets/a-2.js')).statusCode).toBe(404);
});

test.each([
  ['gzip, deflate', 'gzip', gunzipSync],
  ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
] as const)('a browser that accepts %s gets a file as %s', async (accepted, encoding, unpack) => {
  const { headers, rawPayload } = await app.inject({ url: '/assets/a-1.js', headers: { 'accept-encoding': accepted } });
  expect(headers).toMatchObject({ 'content-encoding': encoding, vary: expect.stringContaining('accept-encoding') });
  expect(headers['content-type']).toMatch(/javascript/);
  expect(unpack(rawPayload).toString()).toBe(SCRIPT);
});

test.each(['/assets/../index.html', '/assets/..%2findex.html', '/assets/%2e%2e/index.html', '/assets//etc/passwd'])(
  'nothing outside of the folder of assets is served: %s',
  async (url) => {
    const { statusCode, body } = await app.inject({ url });
    expect(statusCode).toBeGreaterThanOrEqual(400);
    expect(body).not.toContain('csp-nonce');
  },
);

test('a missing build of the console is explained, with how to build it', async () => {
  await using unbuilt = serve('/nowhere');
  const { statusCode, body } = await unbuilt.inject({ url: '/', headers: BROWSER });
  expect(statusCode).toBe(200);
  expect(body).toContain('node scripts/build-console.ts');
});
