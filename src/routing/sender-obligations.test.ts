import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { COUNTRY_PREFIXES } from '../core/phone.ts';
import { exec, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { createAccount } from '../operate/account-commands.ts';
import { checkSenders } from '../operate/doctor.ts';
import { insertConnection } from './connection-store.ts';
import { SENDER_OBLIGATIONS } from './sender-obligations.ts';
import { ANY_FORM } from './sender-rule-store.ts';
import { setSenderRule } from './sender-rules.ts';

const { pool } = testDatabase();
beforeEach(() => reset(pool, sql`TRUNCATE connection, sender_rule, margin_day RESTART IDENTITY CASCADE`));

const served = (accountId: number, connectionId: number, country: string) =>
  exec(
    pool,
    sql`INSERT INTO margin_day (account_id, day, connection_id, country, shard, messages, units, uncosted, earned_micros,
                                cost_micros)
        VALUES (${accountId}, date_trunc('day', now()), ${connectionId}, ${country}, 0, 7, 7, 0, 0, 0)`,
  );

test('the doctor names a served country whose obligation is in force and that no rule names, and no other', async () => {
  const { accountId } = await createAccount(pool, { name: 'Acme', plan: 'production' });
  const kind = { kind: 'smpp', settings: {} } as const;
  const real = await insertConnection(pool, { ...kind, name: 'one', sandbox: false });
  const sandbox = await insertConnection(pool, { ...kind, name: 'two', sandbox: true });
  await served(accountId, real?.id ?? 0, '34');
  await served(accountId, real?.id ?? 0, '49');
  await served(accountId, sandbox?.id ?? 0, '65');
  expect(await checkSenders(pool, new Date('2026-09-14T23:59:59Z'))).toMatchObject({ ok: true });
  expect(await checkSenders(pool, new Date('2026-09-15T00:00:00Z'))).toMatchObject({
    ok: false,
    detail: 'no rule for +34 (ES, since 2026-09-15: blocked): 7 messages in 30 days',
  });
  const rule = { ...ANY_FORM, alphanumeric: 'refused', replacement: null, registeredOnly: false, by: 'Ada' } as const;
  await transaction(pool, (tx) => setSenderRule(tx, { ...rule, prefix: '34' }));
  expect(await checkSenders(pool, new Date('2026-09-15T00:00:00Z'))).toMatchObject({ ok: true });
});

test('every obligation has the calling code of its country, a date that exists and an https source', () => {
  for (const { country, prefix, from, source } of SENDER_OBLIGATIONS) {
    expect(COUNTRY_PREFIXES).toContainEqual({ country, prefix: `+${prefix}` });
    if (from !== null) expect(new Date(from).toISOString()).toBe(`${from}T00:00:00.000Z`);
    expect(new URL(source).protocol).toBe('https:');
  }
});
