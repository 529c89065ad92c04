import { afterAll, expect, test } from 'vitest';
import { newKey, openRoutes } from '../../test/support/http/routes.ts';
import { contactRoutes } from '../contacts/routes.ts';
import { many, sql } from '../core/db/query.ts';
import { numberRulesRoutes } from './numbers.ts';

const PATH = '/account/numbers';

const { pool, newAccount, ...routes } = await openRoutes([numberRulesRoutes, contactRoutes]);
afterAll(() => routes[Symbol.asyncDispose]());

type Method = Parameters<typeof routes.call>[0];
const call = (apiKey: string, method: Method, path: string, body?: object) => routes.call(method, path, body, apiKey);

const auditOf = ({ accountId }: { accountId: number }) =>
  many(
    pool,
    sql`SELECT actor_kind AS kind, subject, detail FROM audit_entry
        WHERE account_id = ${accountId} AND action = 'account.numbers' ORDER BY id`,
  );

test('an admin sets how numbers are read, and the next request reads them so', async () => {
  const { accountId, apiKey } = await newAccount();
  const contact = (phoneNumber: string) =>
    call(apiKey, 'POST', '/contacts', { fullName: 'Ada', phoneNumber, email: null });
  expect((await call(apiKey, 'GET', PATH)).body).toEqual({ defaultCountry: null, numberChecks: 'strict' });
  expect((await contact('333 123 4567')).status).toBe(400);
  const set = await call(apiKey, 'PUT', PATH, { defaultCountry: 'it' });
  expect(set).toMatchObject({ status: 200, body: { defaultCountry: 'IT', numberChecks: 'strict' } });
  expect((await contact('333 123 4567')).body).toMatchObject({ phoneNumber: '+393331234567' });
  expect((await contact('+39 33312')).status).toBe(400);
  expect((await call(apiKey, 'PUT', PATH, { numberChecks: 'lenient' })).body).toEqual({
    defaultCountry: 'IT',
    numberChecks: 'lenient',
  });
  expect((await contact('+39 333121')).status).toBeLessThan(300);
  // The same again changes nothing.
  await call(apiKey, 'PUT', PATH, { numberChecks: 'lenient' });
  await call(apiKey, 'PUT', PATH, { defaultCountry: null });
  expect((await call(apiKey, 'GET', PATH)).body).toEqual({ defaultCountry: null, numberChecks: 'lenient' });
  const entry = (defaultCountry: string | null, numberChecks: string) => ({
    kind: 'key',
    subject: `account:${accountId}`,
    detail: { defaultCountry, numberChecks },
  });
  expect(await auditOf({ accountId })).toEqual([entry('IT', 'strict'), entry('IT', 'lenient'), entry(null, 'lenient')]);
});

test('a country or a check that does not exist is 400, names its field, and changes nothing', async () => {
  const account = await newAccount();
  const wrong = await call(account.apiKey, 'PUT', PATH, { defaultCountry: 'XX' });
  expect(wrong.status).toBe(400);
  expect(wrong.body.details).toEqual([{ field: 'defaultCountry', message: expect.stringContaining('ISO 3166-1') }]);
  expect((await call(account.apiKey, 'PUT', PATH, { numberChecks: 'none' })).status).toBe(400);
  expect(await auditOf(account)).toEqual([]);
});

test('each account has its own rules', async () => {
  const [one, other] = [await newAccount(), await newAccount()];
  await call(one.apiKey, 'PUT', PATH, { defaultCountry: 'FR' });
  expect((await call(other.apiKey, 'GET', PATH)).body).toMatchObject({ defaultCountry: null });
});

test('the rules can be read with any scope that uses numbers, and changed with the scope keys only', async () => {
  const account = await newAccount();
  const sender = await newKey(pool, account, ['SMS']);
  expect((await call(sender, 'GET', PATH)).status).toBe(200);
  expect((await call(sender, 'PUT', PATH, { numberChecks: 'lenient' })).status).toBe(403);
  const statistics = await newKey(pool, account, ['tracking']);
  expect((await call(statistics, 'GET', PATH)).status).toBe(403);
});
