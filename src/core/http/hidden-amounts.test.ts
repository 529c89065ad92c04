import { Type } from 'typebox';
import { afterAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
import { apiDeps } from '../../../test/support/http/api.ts';
import { newKey, PG } from '../../../test/support/http/routes.ts';
import { createAuthenticator } from '../../accounts/authenticate.ts';
import { buildApi } from '../../api.ts';
import { createAccount } from '../../operate/account-commands.ts';
import { createAnswerStore } from '../idempotency.ts';
import { silentLog } from '../log.ts';
import { shownAmount, textWithAmounts, withAmounts } from '../money.ts';
import { createSecretKey } from '../secrets.ts';
import { bodyFor } from './idempotency.ts';

const database = await createTestDatabase();
const { pool } = database;
const authenticator = createAuthenticator({ pool, log: silentLog });
const secretKey = createSecretKey(Buffer.alloc(32, 3));
const answers = createAnswerStore({ pool, secretKey });
const app = buildApi(apiDeps({ pool, ...authenticator, secretKey, answers }));
afterAll(async () => {
  await Promise.all([app.close(), authenticator.close()]);
  await database[Symbol.asyncDispose]();
});

describe('a response with amounts that is repeated for another key', () => {
  async function openAccount() {
    const account = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 });
    const blind = await newKey(pool, account, ['campaigns', 'SMS']);
    const post = async (path: string, as: string, payload?: object) => {
      const headers = { 'x-api-key': as, 'idempotency-key': path };
      const answer = await app.inject({ method: 'POST', url: `${PG}${path}`, headers, ...(payload && { payload }) });
      return { status: answer.statusCode, replayed: answer.headers['idempotency-replayed'], body: answer.json() };
    };
    return { seeing: account.apiKey, blind, post };
  }
  const campaign = { name: 'A', sendingMode: 'SMS', smsSender: 'Acme', smsBody: 'Hello' };
  const hidden = { estimatedCost: null, actualCost: null };

  test('is the same, without the amounts if that key lacks the scope money', async () => {
    const { seeing, blind, post } = await openAccount();
    const first = await post('/campaigns', seeing, campaign);
    expect(first).toMatchObject({ status: 201, body: { estimatedCost: 0, actualCost: 0 } });
    const repeated = await post('/campaigns', blind, campaign);
    expect(repeated).toEqual({ ...first, replayed: 'true', body: { ...first.body, ...hidden } });
    expect(await post('/campaigns', seeing, campaign)).toEqual({ ...first, replayed: 'true' });

    const price = `/campaigns/${first.body.id}/calculateGoal`;
    expect((await post(price, seeing)).body).toMatchObject({ estimatedCost: 0 });
    expect(await post(price, blind)).toMatchObject({ status: 200, replayed: 'true', body: hidden });
  });
});

describe('the body of a stored response', () => {
  const schema = {
    response: {
      200: Type.Object({
        id: Type.Integer(),
        price: shownAmount('The price.'),
        lines: Type.Array(Type.Object({ name: Type.String(), cost: shownAmount('The cost.') })),
        total: Type.Union([Type.Object({ cost: shownAmount('The cost.') }), Type.Null()]),
      }),
    },
  };
  const body = { id: 1, price: 2.5, lines: [{ name: 'a', cost: 1 }], total: { cost: 3 } };
  const answer = { status: 200, type: 'application/json', caller: 'key 1', requestHash: Buffer.alloc(32) };
  const error = { ...answer, status: 400 };
  const shortage = { status: 400, message: 'costs up to 12 EUR', details: [{ field: 'credit', message: '12 EUR' }] };
  const blind = { operations: new Set(['campaigns'] as const), caller: 'key 2' };
  const seeing = { ...blind, operations: new Set(['money'] as const) };
  const read = (reader: typeof blind | typeof seeing, stored: object, of: object = schema) =>
    JSON.parse(bodyFor(reader, { ...answer, body: JSON.stringify(body), ...stored }, of));

  test('has no amount at any depth for a reader without the scope money', () => {
    expect(read(blind, {})).toEqual({ id: 1, price: null, lines: [{ name: 'a', cost: null }], total: { cost: null } });
    expect(read(blind, { body: '{"id":1,"price":null,"lines":[],"total":null}' })).toMatchObject({ total: null });
    expect(read(seeing, {})).toEqual(body);
  });

  test('is an error without its text if it could name an amount of another caller', () => {
    const stored = { ...error, body: JSON.stringify(shortage) };
    expect(read(blind, stored)).toEqual({ status: 400, message: expect.stringContaining('only for callers with') });
    expect(read({ ...blind, caller: 'key 1' }, stored)).toEqual(shortage);
    expect(read(seeing, stored)).toEqual(shortage);
  });

  test('has no amounts in its reasons for a reader without the scope money', () => {
    const reasons = { response: { 200: Type.Object({ reasons: Type.Array(textWithAmounts('Why.')) }) } };
    const lack = { priceMicros: 35_000, availableMicros: 1, currency: 'EUR' };
    const stored = { body: JSON.stringify({ reasons: [withAmounts('insufficient credit', lack), 'no route'] }) };
    expect(read(blind, stored, reasons)).toEqual({ reasons: ['insufficient credit', 'no route'] });
    expect(read(seeing, stored, reasons)).toEqual(JSON.parse(stored.body));
    expect(read(blind, { ...error, body: JSON.stringify(shortage) }, reasons)).toEqual(shortage);
  });

  test('is untouched on routes without amounts', () => {
    const plain = { response: { 200: Type.Object({ id: Type.Integer() }) } };
    expect(read(blind, { ...error, body: JSON.stringify(shortage) }, plain)).toEqual(shortage);
    expect(read(blind, { body: '{"id":1}' }, plain)).toEqual({ id: 1 });
  });
});
