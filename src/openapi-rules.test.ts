import createSerializerFactory from '@fastify/fast-json-stringify-compiler';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import type { RouteOptions } from 'fastify';
import { expect, test } from 'vitest';
import { apiDeps } from '../test/support/http/api.ts';
import { buildApi } from './api.ts';
import { validatorCompiler } from './core/http/validation.ts';

// Requirements of linters and generators of clients for an OpenAPI description, as far as ours ever failed them.

type Schema = { readonly type?: string; readonly format?: string };
type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
};
type Answer = { readonly content?: Readonly<Record<string, { readonly schema?: object; readonly example?: unknown }>> };
type Operation = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly responses: Readonly<Record<string, Answer>>;
};

const app = buildApi(apiDeps());
const routes: RouteOptions[] = [];
app.addHook('onRoute', (route) => void routes.push(route));
await app.ready();
const shared = app.getSchemas();
const description = JSON.parse(JSON.stringify(app.swagger()));
await app.close();
const paths: Record<string, Record<string, Operation>> = description.paths;
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);
const ajv = new Ajv({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(description, 'api');

function faultOf(schema: object, example: unknown): string | null {
  const local = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/'));
  return ajv.validate(local, example) ? null : ajv.errorsText();
}

const segmentsOf = (path: string): string[] => path.split('/');
const isParameter = (segment: string): boolean => segment.startsWith('{');

test('the schemas of all requests and responses are valid and compile, which the program does only for those that it gets', () => {
  const validatorOf = validatorCompiler(() => shared);
  const serializerOf = createSerializerFactory()(shared);
  let compiled = 0;
  for (const { method, url, schema = {} } of routes) {
    const at = { method: String([method].flat()[0]), url };
    for (const httpPart of ['params', 'querystring', 'body'] as const) {
      if (!schema[httpPart]) continue;
      expect(ajv.validateSchema(schema[httpPart])).toBe(true);
      validatorOf({ ...at, httpPart, schema: schema[httpPart] })({});
      compiled++;
    }
    for (const [httpStatus, response] of Object.entries(schema.response ?? {}))
      if (!('content' in Object(response))) serializerOf({ ...at, httpStatus, schema: response });
  }
  expect(compiled).toBeGreaterThan(250);
});

test('a place in a path has one name for its parameter', () => {
  const shapes = Map.groupBy(Object.keys(paths), (path) => path.replaceAll(/\{\w+\}/g, '{}'));
  expect([...shapes.values()].filter((same) => same.length > 1)).toEqual([]);
});

test('the parameters of a path are those that its operations describe', () => {
  const faults = operations.filter(({ path, operation }) => {
    const described = (operation.parameters ?? []).filter((each) => each.in === 'path' && each.required === true);
    const named = segmentsOf(path).filter(isParameter);
    return (
      named.toSorted().join() !==
      described
        .map(({ name }) => `{${name}}`)
        .toSorted()
        .join()
    );
  });
  expect(faults.map(({ operation }) => operation.operationId)).toEqual([]);
});

/** Returns true if the parameters with this name may be this text. */
const mayBe = (path: string, parameter: string, text: string): boolean =>
  Object.values(paths[path] ?? {}).some(({ parameters = [] }) =>
    parameters.some(
      ({ name, schema }) =>
        `{${name}}` === parameter && schema.type !== 'integer' && (schema.format !== 'uuid' || text.length === 36),
    ),
  );

/**
 * Returns for each segment which of two paths takes it literally (1 or 2), 0 if both take the same; null if no URL fits
 * both.
 */
function compare(one: string, two: string): number[] | null {
  const [a, b] = [segmentsOf(one), segmentsOf(two)];
  if (a.length !== b.length) return null;
  const places = a.map((left, i) => {
    const right = b[i] ?? '';
    if (left === right || (isParameter(left) && isParameter(right))) return 0;
    if (isParameter(left)) return mayBe(one, left, right) ? 2 : null;
    return isParameter(right) && mayBe(two, right, left) ? 1 : null;
  });
  return places.includes(null) ? null : places.filter((place) => place !== null);
}

test('a URL that fits two paths has fewer parameters in one of them', () => {
  const names = Object.keys(paths);
  const pairs = names.flatMap((one, i) => names.slice(i + 1).map((two) => [one, two] as const));
  const unclear = pairs.filter(([one, two]) => {
    const places = compare(one, two);
    return places !== null && places.includes(1) && places.includes(2);
  });
  // The fixed segment that comes first counts, so two references have no timeline; its parameter states which. Our ids
  // are neither of the words.
  const known = ['timeline', 'content'].map((last) => `/api/partner-gateway/v1/messages/{messageId}/${last}`);
  expect(unclear.filter((pair) => !pair.some((path) => known.includes(path)))).toEqual([]);
});

test('the example of a parameter has the type of the parameter', () => {
  const faults = operations.flatMap(({ operation }) =>
    (operation.parameters ?? [])
      .filter(({ example }) => example !== undefined)
      .flatMap(({ name, schema, example }) => {
        const fault = faultOf(schema, example);
        return fault === null ? [] : [`${operation.operationId} ${name}: ${fault}`];
      }),
  );
  expect(faults).toEqual([]);
});

test('the examples of shared responses have the schema next to them', () => {
  const shared: Record<string, Answer> = description.components.responses;
  const faults = Object.entries(shared).flatMap(([name, { content = {} }]) =>
    Object.values(content).flatMap(({ schema = {}, example }) => {
      const fault = faultOf(schema, example);
      return fault === null ? [] : [`${name}: ${fault}`];
    }),
  );
  expect(faults).toEqual([]);
});

test('every area is described', () => {
  const tags: { name: string; description?: string }[] = description.tags;
  expect(tags.filter((tag) => !tag.description)).toEqual([]);
  const known = new Set(tags.map(({ name }) => name));
  expect(operations.flatMap(({ operation }) => operation.tags).filter((name) => !known.has(name))).toEqual([]);
});

test('operations have unique names, which are identifiers in every language', () => {
  const names = operations.map(({ operation }) => operation.operationId);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !/^[a-z][A-Za-z0-9]*$/.test(name))).toEqual([]);
});

test('responses are listed by their exact status, with an error for everything but the probes', () => {
  const inexact = operations.filter(({ operation }) =>
    Object.keys(operation.responses).some((status) => !/^[2-5]\d\d$/.test(status)),
  );
  expect(inexact.map(({ path }) => path)).toEqual([]);
  const faultless = operations.filter(({ operation }) =>
    Object.keys(operation.responses).every((status) => !status.startsWith('4')),
  );
  expect(faultless.map(({ path }) => path)).toEqual(['/health/live', '/health/ready']);
});
