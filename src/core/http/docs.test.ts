import { runInNewContext, Script } from 'node:vm';
import { expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { describeApi } from './openapi.ts';
import { docsRoutes } from './pages.ts';
import { createServer } from './server.ts';

const app = createServer(apiDeps());
describeApi(app);
docsRoutes(app);

test('the page has no inline scripts and refers to no other host', async () => {
  const { body, headers } = await app.inject('/docs');
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  expect(body).not.toMatch(/<script(?![^>]*\ssrc=)/);
  expect(body).not.toMatch(/\son\w+=|javascript:|https?:\/\//i);
});

test('its policy allows scripts only from our origin', async () => {
  const { headers } = await app.inject('/docs');
  const policy = Object.fromEntries(
    String(headers['content-security-policy'])
      .split(';')
      .map((rule) => [rule.split(' ')[0], rule.split(' ').slice(1).join(' ')]),
  );
  expect(policy).toMatchObject({ 'default-src': "'self'", 'object-src': "'none'", 'frame-ancestors': "'none'" });
  expect(policy['script-src'] ?? policy['default-src']).toBe("'self'");
});

test('every script of the page is served by us, as a script', async () => {
  const sources = [...(await app.inject('/docs')).body.matchAll(/src="([^"]+)"/g)].map((match) => match[1] ?? '');
  expect(sources).toHaveLength(2);
  for (const url of sources) {
    const { statusCode, headers, body } = await app.inject(url);
    expect(statusCode).toBe(200);
    expect(headers['content-type']).toMatch(/javascript/);
    expect(() => new Script(body)).not.toThrow();
  }
});

test('the page loads our description, with fonts and telemetry off', async () => {
  const { body } = await app.inject('/docs/init.js');
  const settings: unknown[] = [];
  const Scalar = { createApiReference: (...given: unknown[]) => settings.push(...given) };
  runInNewContext(body, { Scalar, location: { origin: 'https://gateway.test' } });
  expect(settings[0]).toBe('#app');
  expect(settings[1]).toMatchObject({
    url: '/openapi.json',
    withDefaultFonts: false,
    telemetry: false,
    servers: [{ url: 'https://gateway.test' }],
  });
  expect((await app.inject('/openapi.json')).json()).toMatchObject({ openapi: '3.1.0' });
});

test("the library's own page, which our policy would block, is not served", async () => {
  for (const url of ['/docs/scalar', '/docs/scalar/']) expect((await app.inject(url)).statusCode).toBe(404);
});
