import { afterAll, beforeEach, expect, test } from 'vitest';
import { newKey, openRoutes, PG } from '../../test/support/http/routes.ts';
import { explain } from '../../test/support/plans.ts';
import { newMessage } from '../../test/support/queue.ts';
import { exec, one, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { newId } from '../core/ids.ts';
import { insertMessages } from '../messages/new-messages.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { findByTextRoutes, listNamedCampaigns } from './find-by-text.ts';

const { pool, otherAccount, newAccount, get, ...routes } = await openRoutes([findByTextRoutes], {
  base: `${PG}/search`,
});
afterAll(() => routes[Symbol.asyncDispose]());

let account: NewAccount;
beforeEach(async () => {
  account = await newAccount();
});

const find = async (q: string, key = account.apiKey) => (await get(`?q=${encodeURIComponent(q)}`, key)).body;
const namesOf = (found: readonly { name: string }[]): string[] => found.map(({ name }) => name);

async function addCampaign(name: string): Promise<number> {
  const { id } = await one<{ id: number }>(
    pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode) VALUES (${account.accountId}, ${name}, 1, 'SMS') RETURNING id`,
  );
  return id;
}

const addContact = (name: string, phoneNumber: string) =>
  exec(
    pool,
    sql`INSERT INTO contact (account_id, given_full_name, phone_number, is_valid, channels)
        VALUES (${account.accountId}, ${name}, ${phoneNumber}, true, 1)`,
  );

test('a message is found by our id in any case and by the id of the client, not by a part of them', async () => {
  const message = newMessage({ accountId: account.accountId, clientId: 'order 7', destination: '+393331234567' });
  await insertMessages(pool, [message]);
  await exec(
    pool,
    sql`INSERT INTO client_message_id (account_id, client_id, message_id, content_hash, created_at)
        VALUES (${account.accountId}, 'order 7', ${message.id}, '', now())`,
  );
  const found = { messageId: message.id, channel: 'SMS', destination: '+393331234567', deliveryStatus: 'ACCEPTED' };
  for (const q of [message.id.toUpperCase(), ' order 7 '])
    expect((await find(q)).messages, q).toEqual([{ ...found, acceptedAt: expect.any(String) }]);
  for (const q of [newId(), 'order', message.id.slice(0, 20)]) expect((await find(q)).messages, q).toEqual([]);
});

test('contacts are found by a part of the name or of the number, however that is written', async () => {
  await addContact('Anna Rossi', '+393331234567');
  await addContact('Bruno Rossi', '+393339999999');
  expect(namesOf((await find('ROSSI')).contacts)).toEqual(['Anna Rossi', 'Bruno Rossi']);
  for (const q of ['+39 333 123 45 67', '0039-3331234567', '3331234'])
    expect((await find(q)).contacts, q).toEqual([
      { id: expect.any(Number), name: 'Anna Rossi', phoneNumber: '+393331234567' },
    ]);
  expect((await find('ro')).contacts).toEqual([]);
});

test('campaigns are found by a part of the name, newest first, and by their id; at most five', async () => {
  const first = await addCampaign('Summer 100%');
  for (let n = 1; n < 7; n++) await addCampaign(`Winter ${n}`);
  expect(namesOf((await find('100%')).campaigns)).toEqual(['Summer 100%']);
  expect((await find(String(first))).campaigns[0]).toMatchObject({ id: first, name: 'Summer 100%' });
  const winters = namesOf((await find('winter')).campaigns);
  expect(winters).toHaveLength(5);
  expect(winters[0]).toBe('Winter 6');
});

test('nothing of another account is found, and nothing outside of the scopes of the caller', async () => {
  const message = newMessage({ accountId: account.accountId });
  await insertMessages(pool, [message]);
  await addContact('Anna Rossi', '+393331234567');
  const id = await addCampaign('Summer');
  const nothing = { messages: [], contacts: [], campaigns: [] };
  for (const q of [message.id, 'Rossi', 'Summer', String(id)])
    expect(await find(q, otherAccount.apiKey), q).toEqual(nothing);
  const tracking = await newKey(pool, account, ['tracking']);
  expect((await find(message.id, tracking)).messages).toHaveLength(1);
  for (const q of ['Rossi', 'Summer']) expect(await find(q, tracking), q).toEqual(nothing);
  expect((await get('?q=x', await newKey(pool, account, ['SMS']))).status).toBe(403);
});

test('a text is required and has at most 255 characters', async () => {
  for (const q of ['', '?q=', `?q=${'x'.repeat(256)}`]) expect((await get(q, account.apiKey)).status, q).toBe(400);
  expect(await find('   ')).toEqual({ messages: [], contacts: [], campaigns: [] });
});

test('only the newest campaigns are read, by their index, however many there are', async () => {
  const { accountId } = account;
  await exec(
    pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode, created_at)
        SELECT ${accountId}, 'C' || n, 1, 'SMS', now() - n * interval '1 minute' FROM generate_series(1, 5000) AS n`,
  );
  await exec(pool, sql`ANALYZE campaign`);
  const db = tenant(pool, { accountId });
  const asked = { accountId, text: 'c4999', newest: 2000, limit: 5 };
  expect(await listNamedCampaigns(db, asked)).toEqual([]);
  expect(await listNamedCampaigns(db, { ...asked, text: 'c1999' })).toHaveLength(1);
  const scans = await explain(db, (to) => listNamedCampaigns(to, asked));
  expect(scans.filter(({ table }) => table === 'campaign').map(({ index }) => index)).toEqual(['campaign_created']);
});
