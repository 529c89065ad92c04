import { expect, test } from 'vitest';
import { apiDeps } from '../test/support/http/api.ts';
import { buildApi } from './api.ts';
import { acceptsKey } from './core/http/idempotency.ts';

/** Fields of responses that grant access, and are not shown again. */
const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'apiKey',
  'password',
  'secret',
  'challengeSecret',
  'tokens',
  'link',
  'authorizeUrl',
  'recoveryCodes',
]);
/** Operations that store no response that a caller could repeat: each response is made again. */
const NEVER_STORED: ReadonlySet<string> = new Set([
  'beginSingleSignOn',
  'trySingleSignOn',
  'beginStepUpSingleSignOn',
  'beginTotp',
  'confirmTotp',
  'addPasskey',
  'renewRecoveryCodes',
]);

type Route = { readonly operationId: string; readonly marked: boolean; readonly fields: string[] };

const app = buildApi(apiDeps());
const routes: Route[] = [];
app.addHook('onRoute', ({ method, schema, config = {} }) => {
  if (!acceptsKey({ method, config })) return;
  const operationId = String((schema as { operationId?: string } | undefined)?.operationId);
  const fields = fieldsOf(schema?.response).filter((name) => SECRET_FIELDS.has(name));
  routes.push({ operationId, marked: config.secretAnswer === true, fields });
});
await app.ready();

/** The names of all properties in a schema, at any depth; references are resolved. */
function fieldsOf(schema: unknown, seen = new Set<unknown>()): string[] {
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return [];
  seen.add(schema);
  const { properties, $ref } = schema as { properties?: object; $ref?: string };
  const target = $ref === undefined ? undefined : app.getSchemas()[$ref.replace(/#$/, '')];
  const parts: unknown[] = [...Object.values(schema), target];
  return [...Object.keys(properties ?? {}), ...parts.flatMap((part) => fieldsOf(part, seen))];
}

test('a response that holds a secret is repeated only to its own caller', () => {
  const secret = routes.filter(({ fields }) => fields.length > 0);
  expect(secret.length).toBeGreaterThan(7);
  const unmarked = secret.filter(({ marked, operationId }) => !marked && !NEVER_STORED.has(operationId));
  expect(unmarked.map(({ operationId, fields }) => `${operationId}: ${fields.join()}`)).toEqual([]);
  expect(routes.filter(({ marked, fields }) => marked && fields.length === 0)).toEqual([]);
});
