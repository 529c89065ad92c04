import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type CampaignApi, openCampaignApi } from '../../test/support/campaigns/api.ts';
import { newMessage } from '../../test/support/queue.ts';
import type { Channel } from '../core/channels.ts';
import { exec, sql } from '../core/db/query.ts';
import { STATUS } from '../core/message-state.ts';
import { insertMessages } from '../messages/new-messages.ts';
import type { NewAccount } from '../operate/account-commands.ts';

let api: CampaignApi;
let account: NewAccount;
let id: number;
beforeAll(async () => {
  api = await openCampaignApi();
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(async () => {
  account = await api.newAccount();
  const body = { name: 'C', sendingMode: 'SMS', smsSender: 'ACME', smsBody: 'Hello', readyToSend: true };
  const made = await call('POST', '', { ...body, destinations: ['+393331000001', 'nonsense'] });
  id = made.body.id;
});

type Method = Parameters<CampaignApi['call']>[1];
const call = (method: Method, path: string, body?: object) =>
  api.call(account.apiKey, method, `/campaigns${path}`, body);
const confirm = async () => {
  await call('POST', `/${id}/calculateGoal`);
  expect((await call('PUT', `/${id}/confirm`)).status).toBe(202);
};
const page = async (query = '') => {
  const { status, body } = await call('GET', `/${id}/recipients${query}`);
  return status === 200 ? { total: body.total, rows: body.data } : status;
};

/** Adds recipients as the workers do: numbers of Italy, those from `skippedFrom` on without a message. */
async function addRecipients(count: number, skippedFrom: number): Promise<string[]> {
  const { accountId } = account;
  const numbers = Array.from({ length: count }, (_, i) => `+39333${1_000_000 + i}`);
  await exec(
    api.pool,
    sql`INSERT INTO campaign_recipient (account_id, campaign_id, country, destination, channels, reserve_micros, skip_reason)
        SELECT ${accountId}, ${id}, 'IT', n, 7, 1, CASE WHEN i > ${skippedFrom} THEN 'opted_out' END
        FROM unnest(${numbers}::text[]) WITH ORDINALITY AS u (n, i)`,
  );
  await exec(
    api.pool,
    sql`UPDATE campaign_run SET recipients = recipients + ${count}, skipped = skipped + ${count - skippedFrom} WHERE campaign_id = ${id}`,
  );
  return numbers;
}

type Sent = {
  readonly destination: string;
  readonly channel?: Channel;
  readonly status?: number;
  readonly read?: boolean;
};

/** Adds messages of one batch or, as later fallbacks, of single recipients. */
async function addMessages(sent: readonly Sent[], fallbackNumber = 0): Promise<string[]> {
  const { accountId } = account;
  const messages = sent.map(({ destination, channel = 'SMS' }) =>
    newMessage({ accountId, destination, channel, campaignId: id }),
  );
  await insertMessages(api.pool, messages);
  for (const [i, { status, read = false }] of sent.entries())
    if (status !== undefined)
      await exec(
        api.pool,
        sql`INSERT INTO message_state (account_id, id, connection_id, status, attempts, updated_at, read_at)
            VALUES (${accountId}, ${messages[i]?.id}, 1, ${status}, 1, now(), ${read ? new Date() : null})`,
      );
  const ids = messages.map((message) => message.id);
  if (fallbackNumber === 0) {
    await exec(
      api.pool,
      sql`INSERT INTO campaign_lane (account_id, campaign_id, country, fed_to)
          VALUES (${accountId}, ${id}, 'IT', ${sent.at(-1)?.destination})
          ON CONFLICT (account_id, campaign_id, country, area) DO UPDATE SET fed_to = excluded.fed_to`,
    );
    await exec(
      api.pool,
      sql`INSERT INTO campaign_batch (account_id, campaign_id, fallback_number, channel, country, first_destination, last_destination, message_ids)
          VALUES (${accountId}, ${id}, 0, 1, 'IT', ${sent[0]?.destination}, ${sent.at(-1)?.destination}, ${ids}::uuid[])`,
    );
  } else
    for (const [i, { destination }] of sent.entries())
      await exec(
        api.pool,
        sql`INSERT INTO campaign_fallback (account_id, campaign_id, destination, fallback_number, message_id, reason)
            VALUES (${accountId}, ${id}, ${destination}, ${fallbackNumber}, ${ids[i]}::uuid, 'TIME')`,
      );
  return ids;
}

/** Changes the campaign to one that goes on to another channel. */
const combine = () => exec(api.pool, sql`UPDATE campaign SET sending_mode = 'RCS_SMS' WHERE id = ${id}`);

test('before the confirmation they are those that the audience counted, the invalid ones included; none while it is stale', async () => {
  expect(await page()).toEqual({ total: 0, rows: [] });
  await call('PUT', `/${id}`, { destinations: ['+393331000002', 'nonsense', '+390612345678', '+393331000001', '12'] });
  await call('POST', `/${id}/calculateGoal`);
  const plain = { contactId: null, name: null, channel: null, read: false, messageIds: [], notTried: [] };
  const italian = { ...plain, country: 'IT' };
  const all = [
    { ...italian, phoneNumber: '+390612345678', status: 'SKIPPED', skipReason: 'unsupported' },
    { ...italian, phoneNumber: '+393331000001', status: 'PENDING', skipReason: null },
    { ...italian, phoneNumber: '+393331000002', status: 'PENDING', skipReason: null },
    { ...plain, country: '', phoneNumber: 'nonsense', status: 'SKIPPED', skipReason: 'invalid' },
    { ...plain, country: '', phoneNumber: '12', status: 'SKIPPED', skipReason: 'invalid' },
  ];
  expect(await page()).toEqual({ total: 5, rows: all });
  for (const limit of [1, 2, 3, 4])
    for (let n = 0; n * limit < all.length; n++)
      expect(await page(`?limit=${limit}&page=${n}`)).toEqual({
        total: 5,
        rows: all.slice(n * limit, (n + 1) * limit),
      });
  const of = (status: string) => all.filter((one) => one.status === status);
  expect(await page('?status=PENDING')).toEqual({ total: 2, rows: of('PENDING') });
  expect(await page('?status=SKIPPED')).toEqual({ total: 3, rows: of('SKIPPED') });
  expect(await page('?status=SKIPPED&limit=1&page=1')).toEqual({ total: 3, rows: of('SKIPPED').slice(1, 2) });
  expect(await page('?status=DELIVERED')).toEqual({ total: 0, rows: [] });
  await call('PUT', `/${id}`, { smsBody: 'Something else' });
  expect(await page()).toEqual({ total: 0, rows: [] });
});

test('before the confirmation, contacts of lists without a number come last, as not valid', async () => {
  const list = (await api.call(account.apiKey, 'POST', '/contacts/list', { name: 'List' })).body.id;
  const add = async (body: object): Promise<number> => {
    const contact = (await api.call(account.apiKey, 'POST', '/contacts', body)).body.id;
    const pair = { listIds: [list], contactIds: [contact] };
    expect((await api.call(account.apiKey, 'POST', '/contacts/list/contacts', pair)).status).toBe(201);
    return contact;
  };
  const [mailed, named] = [
    await add({ email: 'a@example.com' }),
    await add({ phoneNumber: '+393331000001', firstName: 'Ana' }),
  ];
  await call('PUT', `/${id}`, { contactListIds: [list] });
  await call('POST', `/${id}/calculateGoal`);
  const both = [
    { phoneNumber: '+393331000001', contactId: named, name: 'Ana', status: 'PENDING' },
    { phoneNumber: '', contactId: mailed, status: 'SKIPPED', skipReason: 'invalid' },
  ];
  expect(await page()).toMatchObject({ total: 2, rows: both });
  expect(await page('?limit=1')).toMatchObject({ total: 2, rows: both.slice(0, 1) });
  expect(await page('?limit=1&page=1')).toMatchObject({ total: 2, rows: both.slice(1) });
});

test('each recipient has the status of its message, or that it waits, or why it gets nothing', async () => {
  await confirm();
  const [one = '', two = '', three = '', four = '', five = ''] = await addRecipients(5, 4);
  const ids = await addMessages([
    { destination: one, status: STATUS.DELIVERED, read: true },
    { destination: two, status: STATUS.ACCEPTED },
  ]);
  const [queued] = await addMessages([{ destination: three }]);
  const plain = {
    country: 'IT',
    contactId: null,
    name: null,
    notTried: [],
    skipReason: null,
    read: false,
    channel: 'SMS',
  };
  const nothing = { ...plain, channel: null, messageIds: [] };
  expect(await page()).toEqual({
    total: 5,
    rows: [
      { ...plain, phoneNumber: one, status: 'DELIVERED', read: true, messageIds: [ids[0]] },
      { ...plain, phoneNumber: two, status: 'ACCEPTED', messageIds: [ids[1]] },
      { ...plain, phoneNumber: three, status: 'ACCEPTED', messageIds: [queued] },
      { ...nothing, phoneNumber: four, status: 'PENDING' },
      { ...nothing, phoneNumber: five, status: 'SKIPPED', skipReason: 'opted_out' },
    ],
  });
});

test('in a combined mode the last message counts, and all are listed in their order', async () => {
  await confirm();
  const [one = '', two = ''] = await addRecipients(2, 2);
  const first = await addMessages([
    { destination: one, channel: 'RCS', status: STATUS.DELIVERED },
    { destination: two, channel: 'RCS', status: STATUS.ACCEPTED },
  ]);
  const [second] = await addMessages([{ destination: one, status: STATUS.UNDELIVERABLE }], 1);
  expect(await page()).toMatchObject({
    rows: [
      { channel: 'SMS', status: 'UNDELIVERABLE', messageIds: [first[0], second] },
      { channel: 'RCS', status: 'UNKNOWN', messageIds: [first[1]] },
    ],
  });
  await combine();
  expect(await page('?status=UNDELIVERABLE')).toMatchObject({ total: 1, rows: [{ phoneNumber: one }] });
  expect(await page('?status=DELIVERED')).toEqual({ total: 0, rows: [] });
});

test.each(['SMS', 'SMS with others after it'])(
  'of %s, pages and filters by status have every recipient once, with an exact total',
  async (mode) => {
    await confirm();
    if (mode !== 'SMS') await combine();
    const numbers = await addRecipients(100, 90);
    const status = (i: number) => [STATUS.DELIVERED, STATUS.ACCEPTED, undefined][i % 3];
    const sentTo = (from: number, to: number): Sent[] =>
      numbers.slice(from, to).map((destination, i) => {
        const code = status(from + i);
        return { destination, ...(code !== undefined && { status: code }) };
      });
    await addMessages(sentTo(0, 40));
    await addMessages(sentTo(40, 80));
    type Row = { phoneNumber: string };
    const all = async (query: string) => {
      const found: string[] = [];
      for (let n = 0; ; n++) {
        const next = await page(`?limit=7&page=${n}${query}`);
        if (typeof next === 'number') throw new Error(String(next));
        found.push(...next.rows.map((row: Row) => row.phoneNumber));
        if (next.rows.length < 7) return { total: next.total, found };
      }
    };
    const expected = (fits: (i: number) => boolean) => {
      const found = numbers.filter((_, i) => fits(i));
      return { total: found.length, found };
    };
    expect(await all('')).toEqual(expected(() => true));
    expect(await all('&status=DELIVERED')).toEqual(expected((i) => i < 80 && i % 3 === 0));
    expect(await all('&status=ACCEPTED')).toEqual(expected((i) => i < 80 && i % 3 > 0));
    expect(await all('&status=PENDING')).toEqual(expected((i) => i >= 80 && i < 90));
    expect(await all('&status=SKIPPED')).toEqual(expected((i) => i >= 90));
    expect(await all('&status=EXPIRED')).toEqual({ total: 0, found: [] });
    expect(await page('?status=GONE')).toBe(400);
  },
);
