import { expect, test } from 'vitest';
import { apiDeps } from '../test/support/http/api.ts';
import { buildApi } from './api.ts';
import { isRecord } from './core/schema.ts';

/** Routes that read a body only with the header of its signature. */
const SIGNED = ['/api/callbacks/', '/hooks/'];
/** Path whose body contains data signed by an authenticator. */
const PASSKEY = '/api/partner-gateway/v1/session/passkey';

test('no route without credentials reads more than 4 KiB, except for passkeys and signed callbacks', async () => {
  const app = buildApi(apiDeps());
  await app.ready();
  const routes = Object.entries<unknown>(app.swagger().paths ?? {}).flatMap(([path, operations]) =>
    Object.entries(isRecord(operations) ? operations : {})
      .filter(([method, operation]) => method !== 'get' && isRecord(operation) && isOpen(operation['security']))
      .map(([method]) => ({ method, path })),
  );
  expect(routes).toContainEqual({ method: 'post', path: '/api/partner-gateway/v1/session' });
  for (const { method, path } of routes.filter((route) => !SIGNED.some((start) => route.path.startsWith(start)))) {
    const { statusCode } = await app.inject({
      method: method === 'post' ? 'POST' : method === 'put' ? 'PUT' : method === 'patch' ? 'PATCH' : 'DELETE',
      url: path.replace(/\{\w+\}/g, 'x'),
      payload: { padding: 'x'.repeat(path === PASSKEY ? 32 * 1024 : 4096) },
      headers: { 'x-heliograph-console': '1', 'sec-fetch-site': 'same-origin' },
    });
    expect([path, statusCode]).toEqual([path, 413]);
  }
  await app.close();
});

const isOpen = (security: unknown): boolean => Array.isArray(security) && security.length === 0;
