import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { say } from '../../test/support/say.ts';
import type { Db } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { createAccount } from '../operate/account-commands.ts';
import { createConsentCheck, listOptOuts, listOptOutsOf, type OptOut, optIn, optOut } from './consent.ts';

const database = testDatabase();

const ANNA = '+393331234567';
const BRUNO = '+393331234568';
let accountId: number;
beforeEach(async () => {
  ({ accountId } = await createAccount(database.pool, { name: 'Acme', plan: 'unlimited' }));
});

const inTransaction = <T>(work: (tx: Db) => Promise<T>): Promise<T> => transaction(database.pool, work);
const of = (phoneNumber: string, channel: OptOut['channel'] = 'SMS'): OptOut => ({
  accountId,
  phoneNumber,
  channel,
  source: 'API',
});
/** A database that counts its statements. */
function counted() {
  const count = { statements: 0 };
  const db: Db = { query: (query) => (count.statements++, database.pool.query(query)) };
  return { count, db };
}

test('an opt-in of one number leaves the opt-outs of all others as they are', async () => {
  await inTransaction((tx) => optOut(tx, [of(ANNA), of(BRUNO)]));
  expect(await inTransaction((tx) => optIn(tx, [of(ANNA)]))).toMatchObject([{ phoneNumber: ANNA }]);
  expect(await listOptOuts(database.pool, { accountId, limit: 10 })).toMatchObject([{ phoneNumber: BRUNO }]);
});

test('the opt-outs of a number are those of that number alone', async () => {
  await inTransaction((tx) => optOut(tx, [of(ANNA), of(BRUNO, 'RCS')]));
  expect(await listOptOutsOf(database.pool, { accountId, phoneNumber: ANNA })).toMatchObject([
    { phoneNumber: ANNA, channel: 'SMS' },
  ]);
});

test('opt-outs are listed by number and then by channel, whatever their order in time', async () => {
  for (const row of [of(BRUNO, 'WHATSAPP'), of(ANNA, 'WHATSAPP'), of(BRUNO, 'RCS'), of(ANNA, 'RCS')])
    await inTransaction((tx) => optOut(tx, [row]));
  const listed = await listOptOuts(database.pool, { accountId, limit: 3 });
  expect(listed.map(({ phoneNumber, channel }) => [phoneNumber, channel])).toEqual([
    [ANNA, 'RCS'],
    [ANNA, 'WHATSAPP'],
    [BRUNO, 'RCS'],
  ]);
});

test('a STOP from a sender that is no number changes nothing, and the others of its batch count', async () => {
  await inTransaction((tx) =>
    say(
      tx,
      ['INFO', '393331234567'].map((source) => ({ accountId, channel: 'SMS' as const, source, body: 'STOP' })),
    ),
  );
  expect(await listOptOuts(database.pool, { accountId, limit: 10 })).toMatchObject([{ phoneNumber: ANNA }]);
});

test('opting nobody out or in makes no statement', async () => {
  const { count, db } = counted();
  expect([await optOut(db, []), await optIn(db, [])]).toEqual([[], []]);
  expect(count.statements).toBe(0);
});

test('destinations that are no numbers have not opted out, and need no query', async () => {
  const { count, db } = counted();
  const findFault = await createConsentCheck(db)({ accountId }, [{ channel: 'SMS', destination: 'nonsense' }]);
  expect([findFault('SMS', ANNA), count.statements]).toEqual([null, 0]);
});
