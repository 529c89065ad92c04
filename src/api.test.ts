import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { apiDeps } from '../test/support/http/api.ts';
import { buildApi } from './api.ts';

type Operation = {
  operationId?: string;
  summary?: string;
  tags?: string[];
  security?: object[];
  responses: Record<string, { description: string }>;
};
type Description = {
  openapi: string;
  security: object[];
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown>; securitySchemes: Record<string, unknown> };
};

const app = buildApi(apiDeps());
/** Every method and pattern of the server, collected while it is built. */
const routes: { method: string; url: string; hidden: boolean }[] = [];
app.addHook('onRoute', ({ method, url, schema }) => {
  for (const each of [method].flat()) routes.push({ method: each, url, hidden: schema?.hide === true });
});
const description: Description = (await app.inject('/openapi.json')).json();
const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
);

test('the description is OpenAPI 3.1 and has the authentication schemes', () => {
  expect(description.openapi).toBe('3.1.0');
  expect(description.components.securitySchemes).toEqual({
    apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
    basic: { type: 'http', scheme: 'basic' },
    session: expect.objectContaining({ type: 'apiKey', in: 'cookie', name: '__Host-heliograph' }),
  });
  expect(description.security).toEqual([{ apiKey: [] }, { basic: [] }, { session: [] }]);
});

test('every route is described, except those of the pages themselves', () => {
  const described = new Set(operations.map(({ name }) => name));
  const missing = routes
    .filter(({ method, hidden }) => method !== 'HEAD' && !hidden)
    .map(({ method, url }) => `${method} ${url.replace(/:(\w+)/g, '{$1}')}`)
    .filter((name) => !described.has(name));
  expect(missing).toEqual([]);
  const hidden = routes.filter((route) => route.hidden).map(({ url }) => url);
  expect(hidden.filter((url) => !/^\/(docs|help|openapi\.json|assets\/)/.test(url))).toEqual([]);
});

test('no two operations share an id', () => {
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
});

test('every reference can be resolved', () => {
  const references = JSON.stringify(description).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g);
  const missing = [...references]
    .map((match) => match[1] ?? '')
    .filter((name) => !(name in description.components.schemas));
  expect(missing).toEqual([]);
});

describe.each(operations)('$name', ({ operation, name }) => {
  test('has an id, a summary, a listed tag and a described success', () => {
    expect(operation.operationId).toMatch(/^[a-z][A-Za-z0-9]+$/);
    expect(operation.summary).toBeTruthy();
    expect(description.tags.map((tag) => tag.name)).toEqual(expect.arrayContaining(operation.tags ?? ['none']));
    expect(Object.keys(operation.responses).some((status) => /^(2|303)/.test(status))).toBe(true);
  });

  test('responds with 401 without credentials, unless it is declared public', async () => {
    const [method = '', path = ''] = name.split(' ');
    const answer = await app.inject({ method: method as 'GET', url: path.replace(/\{\w+\}/g, '1') });
    if (operation.security?.length === 0) expect(answer.statusCode).toBe(openAnswer(name));
    else {
      expect(answer.statusCode).toBe(401);
      expect(answer.headers['www-authenticate']).toContain('Basic');
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['401', '403', '500', '503']));
    }
  });
});

/** Statuses of the redirect to the console, and of routes that read the database, which does not respond here. */
const OTHER_ANSWERS: Readonly<Record<string, number>> = {
  'GET /oauth/single-sign-on/callback/{token}': 303,
  'GET /api/partner-gateway/v1/session/options': 503,
};

/** Hooks whose senders sign: an unknown service is answered like a wrong signature. */
const SIGNED = /^POST \/hooks\//;

/** Routes for which 404 means an unknown connection, network or link; and the routes without credentials, which only our pages may use. */
function openAnswer(name: string): number {
  const other = OTHER_ANSWERS[name];
  if (other !== undefined) return other;
  if (SIGNED.test(name)) return 401;
  if (name.includes('{')) return 404;
  return name.startsWith('POST ') ? 403 : 200;
}

test('docs/openapi.json matches the routes (if not: node scripts/generate-openapi.ts)', async () => {
  expect(await readFile('docs/openapi.json', 'utf8')).toBe(`${JSON.stringify(app.swagger(), null, 2)}\n`);
});
