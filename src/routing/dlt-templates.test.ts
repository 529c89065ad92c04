import { fc, test as propertyTest } from '@fast-check/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { expectLinear } from '../../test/support/linear.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { runs } from '../../test/support/runs.ts';
import { until } from '../../test/support/until.ts';
import { one, sql } from '../core/db/query.ts';
import { decodeTlvs, readText } from '../smpp/wire.ts';
import { literalsOf, missOf } from './dlt-templates.ts';

let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  program = await startTestProgram();
  operator = await openOperatorApi(program);
});
afterAll(() => program[Symbol.asyncDispose]());

const send = (message: string, phoneNumber = '+919812345678') =>
  program.client.request('POST', '/api/message-server/sms/send', {
    body: { phoneNumber, message, senderName: 'ACMECO' },
  });
const template = (more: object) =>
  operator.request('POST', '/dlt-templates', {
    accountId: program.account.accountId,
    header: 'ACMECO',
    entityId: '1101',
    templateId: '1107',
    text: 'Your code is {#var#}. Acme',
    ...more,
  });

test('a text to India carries the ids of the template that it matches, and one that matches none is refused with the nearest and the first difference', async () => {
  expect((await send('Anything')).status).toBe(200);
  expect(await template({})).toMatchObject({ status: 201 });
  expect(await template({ templateId: '1108', text: 'Parcel {#var#} is here', chain: 'abc,def' })).toMatchObject({
    status: 201,
  });
  const refused = await until('the templates', async () => {
    const answer = await send('Your code is 1234, Acme');
    return answer.status === 400 && answer;
  });
  expect(refused.body).toMatchObject({
    details: [
      {
        field: 'message',
        message:
          'the text matches no DLT template; the nearest is 1107: from character 14 on, ". Acme" is expected instead of "1234, Acme"',
      },
    ],
  });
  expect((await send('Your code is 1234, Acme', '+393331234567')).status).toBe(200);
  const sent = await until('the second template', async () => {
    const answer = await send('Parcel 7 is here');
    return answer.status === 200 && answer;
  });
  const { messageId } = sent.body as { messageId: string };
  const { tlvs } = await one<{ tlvs: Buffer }>(program.pool, sql`SELECT tlvs FROM message WHERE id = ${messageId}`);
  const read = decodeTlvs(tlvs);
  expect([0x1400, 0x1401, 0x1402].map((tag) => readText(read, tag))).toEqual(['1101', '1108', 'abc,def']);
});

test('a template of variables alone is refused, and so is one of an account that does not exist', async () => {
  expect(await template({ text: '{#var#} {#var#}' })).toMatchObject({
    status: 400,
    body: { details: [{ field: 'text' }] },
  });
  expect(await template({ accountId: 99_999 })).toMatchObject({ status: 404 });
});

const matches = (text: string, of: string): boolean => missOf(literalsOf(of), text) === null;

const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 6 });

propertyTest.prop(
  [fc.array(letters, { minLength: 1, maxLength: 4 }), fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 20 })],
  { numRuns: runs(500) },
)('a text matches exactly when a regular expression with anything instead of the variables does', (literals, text) => {
  expect(matches(text, literals.join('{#var#}'))).toBe(new RegExp(`^${literals.join('.*')}$`, 's').test(text));
  const filled = literals.join('abab');
  expect(matches(filled, literals.join('{#var#}'))).toBe(true);
});

test('matching takes linear time, whatever text and template contain', async () => {
  await expectLinear(
    (size) => ({ literals: literalsOf(`{#var#}${'a'.repeat(size)}b{#var#}`), text: 'a'.repeat(2 * size) }),
    ({ literals, text }) => missOf(literals, text),
  );
  await expectLinear(
    (size) => ({ literals: literalsOf(`${'{#var#}ab'.repeat(size / 10)}c`), text: 'ab'.repeat(size) }),
    ({ literals, text }) => missOf(literals, text),
  );
  await expectLinear(
    (size) => ({ text: `${'a'.repeat(size)}{#var#}${'ab'.repeat(size)}` }),
    ({ text }) => literalsOf(text),
  );
});
