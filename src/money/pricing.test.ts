import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { GATEWAY_ACCOUNT_ID, listAuditEntries } from '../accounts/audit.ts';
import { transaction } from '../core/db/transaction.ts';
import { listPrices, removePrice, setPrice } from './prices.ts';
import { createPriceList } from './pricing.ts';

const { pool } = testDatabase();

const set = (channel: 'SMS' | 'RCS', prefix: string) =>
  transaction(pool, (tx) => setPrice(tx, { by: 'Ada', channel, prefix, price: 0.05, refundUndelivered: true }));
const remove = (channel: 'SMS' | 'RCS', prefix: string) =>
  transaction(pool, (tx) => removePrice(tx, { by: 'Ada', channel, prefix }));

test('a price that is removed from one channel stays on the others', async () => {
  await set('SMS', '39');
  await set('RCS', '39');
  await remove('SMS', '39');
  const left = (await listPrices(pool)).filter(({ prefix }) => prefix === '39');
  expect(left.map(({ channel }) => channel)).toEqual(['RCS']);
});

test('a person who shows no number has the price of the country of their user id', async () => {
  const put = (prefix: string, price: number) =>
    transaction(pool, (tx) => setPrice(tx, { by: 'Ada', channel: 'WHATSAPP', prefix, price, refundUndelivered: true }));
  await put('1', 0.02);
  await put('351', 0.03);
  const list = createPriceList(pool);
  await list.reload();
  const priceOf = (destination: string) =>
    list.find({ channel: 'WHATSAPP', destination, parts: 1 })?.unitMicros ?? null;
  expect(['US.13491208655302', 'PT.9A', '+351912345678'].map(priceOf)).toEqual([20_000, 30_000, 30_000]);
  // A country that is not known has the price for all others.
  expect(priceOf('XX.1')).toBe(priceOf('+8881'));
});

test('the audit log of the gateway says who set and who removed a price', async () => {
  await set('SMS', '44');
  await remove('SMS', '44');
  const filter = { action: null, subject: 'price:SMS/44', fromId: null, toId: null, limit: 10, offset: 0 };
  const entries = await listAuditEntries(pool, { accountId: GATEWAY_ACCOUNT_ID, ...filter });
  expect(entries.map(({ username, action, detail }) => [username, action, detail]).sort()).toEqual([
    ['Ada', 'price.remove', {}],
    ['Ada', 'price.set', { price: 0.05, refundUndelivered: true }],
  ]);
});
