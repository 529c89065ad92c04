import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { beforeAll, expect, test } from 'vitest';
import { createNormaliser } from '../test/support/api-examples/normalise.ts';
import { operationsOf, type Played, play } from '../test/support/api-examples/play.ts';
import { startFirstTime } from '../test/support/api-examples/program.ts';
import { record, sameShape } from '../test/support/api-examples/record.ts';
import { storyOf } from '../test/support/api-examples/story/story.ts';
import { apiDeps } from '../test/support/http/api.ts';
import { buildApi, readExamples } from './api.ts';

// Every example request of the description is sent to a program after its first start.

const played: Played[] = [];
const app = buildApi(apiDeps());
await app.ready();
const description = JSON.parse(JSON.stringify(app.swagger()));
const operations = operationsOf(description);
const normalise = createNormaliser(Date.now());

beforeAll(async () => {
  await using stage = await startFirstTime();
  await play(storyOf(stage), operations, stage, (each) => played.push(each));
});

const nameOf = ({ step, status, expected, answer }: Played): string =>
  `${step.operation}${step.name ? ` (${step.name})` : ''}: ${status} instead of ${expected}: ${JSON.stringify(answer)}`;

test('every operation has an example request, and each gets a response as expected', () => {
  const asked = new Set(played.filter(({ step }) => step.name === undefined).map(({ step }) => step.operation));
  expect([...operations.keys()].filter((id) => !asked.has(id))).toEqual([]);
  expect(played.filter(({ status, expected }) => status !== expected).map(nameOf)).toEqual([]);
});

test('an example that gets an error says why', () => {
  const errors = played.filter(({ expected }) => expected >= 400);
  expect(errors.filter(({ step }) => step.because === undefined).map(nameOf)).toEqual([]);
});

test('every response has the schema that its operation describes', () => {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(description, 'api');
  const faults = played.flatMap((each) => {
    const { operation, status, answer, step } = each;
    const media = operation.responses[status]?.content?.['application/json'];
    if (answer === undefined || media?.schema === undefined) return [];
    const schema = JSON.parse(JSON.stringify(media.schema).replaceAll('"#/', '"api#/'));
    return ajv.validate(schema, answer) ? [] : [`${step.operation}: ${ajv.errorsText()}`];
  });
  expect(faults).toEqual([]);
});

test('the recorded examples have the shape of today: otherwise run node scripts/generate-api-examples.ts', () => {
  const recorded = readExamples();
  const changed = played
    .filter(({ step }) => step.name === undefined)
    .filter((each) => !sameShape(record(each, normalise), recorded[each.step.operation] ?? {}));
  expect(changed.map(({ step }) => step.operation)).toEqual([]);
  expect(Object.keys(recorded).filter((id) => !operations.has(id))).toEqual([]);
});
