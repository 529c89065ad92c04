import { afterAll, expect, test } from 'vitest';
import { openRoutes } from '../../test/support/http/routes.ts';
import { newMessage } from '../../test/support/queue.ts';
import type { Channel } from '../core/channels.ts';
import { exec, sql } from '../core/db/query.ts';
import { insertClientIds } from './client-ids.ts';
import { insertMessages } from './new-messages.ts';
import { trackingRoutes } from './timeline.ts';

const { pool, account, otherAccount, get, ...routes } = await openRoutes([trackingRoutes]);
afterAll(() => routes[Symbol.asyncDispose]());

async function stored(channel: Channel): Promise<string> {
  const message = newMessage({ accountId: account.accountId, channel });
  await insertMessages(pool, [message]);
  return message.id;
}

test.each([
  ['whatsapp', 'WHATSAPP'],
  ['rcs', 'RCS'],
] as const)('%s messages have a status of their network, which only their account sees', async (path, channel) => {
  const id = await stored(channel);
  expect(await get(`/${path}/messages/${id}`)).toMatchObject({ status: 200, body: { messageId: id, status: 'SENT' } });
  await exec(
    pool,
    sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at, read_at)
        VALUES (${account.accountId}, ${id}, 3, 1, now(), '2026-11-21T10:00:00Z')`,
  );
  expect((await get(`/${path}/messages/${id.toUpperCase()}`)).body).toEqual({
    messageId: id,
    status: 'READ',
    timestamp: '2026-11-21T10:00:00.000Z',
    error: null,
  });
  expect((await get(`/${path}/messages/${id}`, otherAccount.apiKey)).status).toBe(404);
});

test('several client ids are separated by commas or repeated, and one that holds a comma is found too', async () => {
  const clientIds = ['one', 'two, three', 'four'];
  const messages = clientIds.map((clientId) => newMessage({ accountId: account.accountId, clientId }));
  await insertMessages(pool, messages);
  await insertClientIds(
    pool,
    messages.map(({ accountId, id, clientId }) => ({
      accountId,
      clientId: clientId ?? '',
      messageId: id,
      contentHash: Buffer.alloc(32),
      parts: 1,
    })),
  );
  const found = async (query: string) =>
    ((await get(`/messages/status?${query}`)).body as { customerMessageId: string }[])
      .map(({ customerMessageId }) => customerMessageId)
      .sort();
  expect(await found('customerMessageIds=one,four,unknown')).toEqual(['four', 'one']);
  expect(await found('customerMessageIds=one&customerMessageIds=four')).toEqual(['four', 'one']);
  expect(await found('customerMessageIds=two,%20three')).toEqual(['two, three']);
  expect(await found('customerMessageIds=one&customerMessageIds=two,%20three')).toEqual(['one', 'two, three']);
});

test('the id of a message on another channel is unknown', async () => {
  const [sms, rcs] = [await stored('SMS'), await stored('RCS')];
  for (const path of [`whatsapp/messages/${sms}`, `rcs/messages/${sms}`, `whatsapp/messages/${rcs}`])
    expect((await get(path)).status).toBe(404);
  for (const id of ['nonsense', '018f0000-0000-7000-8000-000000000000'])
    expect((await get(`/rcs/messages/${id}`)).status).toBe(404);
});
