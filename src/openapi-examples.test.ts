import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { apiDeps } from '../test/support/http/api.ts';
import { buildApi } from './api.ts';

// Requirements of the description's readers. openapi-examples.full.test.ts sends the examples.

type Media = { schema?: object; example?: unknown; examples?: Record<string, { value: unknown }> };
type Holder = { description?: string; content?: Record<string, Media> };
type Operation = {
  operationId: string;
  description?: string;
  parameters?: { name: string; required?: boolean; example?: unknown }[];
  requestBody?: Holder;
  responses: Record<string, Holder & { $ref?: string }>;
};

const app = buildApi(apiDeps());
await app.ready();
const description = JSON.parse(JSON.stringify(app.swagger()));
const paths: Record<string, Record<string, Operation>> = description.paths;
const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
const events = Object.values<{ post: Operation }>(description.webhooks).map(({ post }) => post);
const ajv = new Ajv({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(description, 'api');

const AGAIN = 'Write an example with withExamples, or run node scripts/generate-api-examples.ts.';

const examplesOf = ({ example, examples }: Media): unknown[] =>
  examples ? Object.values(examples).map(({ value }) => value) : example === undefined ? [] : [example];

/** All contents of requests and responses, with a name for messages. */
const contents = [...operations, ...events].flatMap(({ operationId, requestBody, responses }) =>
  Object.entries({ request: requestBody, ...responses }).flatMap(([place, holder]) =>
    Object.entries(holder?.content ?? {}).map(([type, media]) => ({ name: `${operationId} ${place}`, type, media })),
  ),
);

test('every operation is described', () => {
  expect(operations.length).toBeGreaterThan(200);
  expect(operations.filter((each) => !each.description).map(({ operationId }) => operationId)).toEqual([]);
});

test('every request and every response has an example', () => {
  const bare = contents.filter(({ media }) => examplesOf(media).length === 0).map(({ name }) => name);
  expect(bare, AGAIN).toEqual([]);
  const shared = Object.entries<Holder>(description.components.responses).filter(([, { content = {} }]) =>
    Object.values(content).some((media) => examplesOf(media).length === 0),
  );
  expect(shared).toEqual([]);
});

test('every required parameter has an example', () => {
  const bare = operations.flatMap(({ operationId, parameters = [] }) =>
    parameters
      .filter(({ required, example }) => required && example === undefined)
      .map(({ name }) => `${operationId} ${name}`),
  );
  expect(bare, AGAIN).toEqual([]);
});

test('every example has the schema next to it', () => {
  const faults = contents
    .filter(({ type, media }) => type === 'application/json' && media.schema !== undefined)
    .flatMap(({ name, media }) => {
      const schema = JSON.parse(JSON.stringify(media.schema).replaceAll('"#/', '"api#/'));
      return examplesOf(media).flatMap((example) =>
        ajv.validate(schema, example) ? [] : [`${name}: ${ajv.errorsText()}`],
      );
    });
  expect(faults, AGAIN).toEqual([]);
});

test('no example shows values that a program generated', () => {
  const text = JSON.stringify(contents.map(({ media }) => examplesOf(media)));
  const keys = new Set(text.match(/pg_live_[\w-]{43}|whsec_[\w+/=]+/g));
  expect(keys.size).toBeLessThanOrEqual(2);
});
