import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type InboundText, openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';
import { newKey } from '../../test/support/http/routes.ts';
import { listAuditEntries } from '../accounts/audit.ts';
import { insertUser } from '../accounts/users.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { insertMedia } from '../media/store.ts';
import { optIn, optOut } from '../messages/consent.ts';
import { insertNumber } from '../messages/inbound-store.ts';
import { createAccount } from '../operate/account-commands.ts';
import { insertTemplate } from '../templates/store.ts';

const PATH = '/api/partner-gateway/v1/inbox/conversations';

let inbox: TestInbox;
let numbers = 0;
beforeAll(async () => {
  inbox = await openTestInbox();
});
afterAll(() => inbox[Symbol.asyncDispose]());

const TOO_LONG = 'x'.repeat(3073);
const REFERRAL = {
  sourceType: 'ad',
  sourceId: '120',
  sourceUrl: 'https://fb.me/x',
  headline: 'Summer',
  body: '',
  mediaType: 'image',
  mediaUrl: '',
  thumbnailUrl: '',
  ctwaClid: 'ARAk',
};
const nextNumber = (): string => `39333${1_000_000 + numbers++}`;

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
type Options = { body?: object; key?: string; idempotencyKey?: string };
async function call(method: Method, path: string, { body, key = inbox.account.apiKey, ...more }: Options = {}) {
  const answer = await inbox.app.inject({
    method,
    url: `${PATH}${path}`,
    headers: {
      'x-api-key': key,
      ...(body && { 'content-type': 'application/json' }),
      ...(more.idempotencyKey && { 'idempotency-key': more.idempotencyKey }),
    },
    ...(body && { payload: JSON.stringify(body) }),
  });
  return { status: answer.statusCode, body: answer.body === '' ? null : answer.json(), headers: answer.headers };
}

const find = async (query: string, key?: string) =>
  (await call('GET', `?limit=1000&${query}`, key ? { key } : {})).body;

/** Receives these texts from a new person; returns their conversation. */
async function conversationWith(texts: readonly string[], wrote: InboundText = {}) {
  const from = wrote.from ?? nextNumber();
  for (const text of texts) await inbox.write(text, { ...wrote, from });
  const { data } = await find(`search=${from}`);
  return data[0];
}

const messagesOf = async (chatId: string, query = '') => (await call('GET', `/${chatId}/messages${query}`)).body;
const textsOf = async (chatId: string, query = ''): Promise<string[]> =>
  (await messagesOf(chatId, query)).map((message: { text: string }) => message.text);

describe('an inbound message', () => {
  test('creates a conversation and a contact, with everything unread', async () => {
    const from = nextNumber();
    const conversation = await conversationWith(['Hello', 'Anybody there?'], { from, to: '4400' });
    expect(conversation).toEqual({
      chatId: expect.any(String),
      channel: 'SMS',
      contact: { id: expect.any(Number), name: `+${from}`, phoneNumber: `+${from}`, optedOut: false },
      channelIdentity: '4400',
      unreadCount: 2,
      lastMessage: {
        text: 'Anybody there?',
        direction: 'INBOUND',
        timestamp: conversation.lastMessageDate,
        messageType: 'TEXT',
      },
      lastMessageDate: expect.any(String),
      archived: false,
      snoozedUntil: null,
      labels: [],
      assignee: null,
      windowExpiresAt: null,
    });
    expect(await messagesOf(conversation.chatId)).toMatchObject([
      { direction: 'INBOUND', text: 'Hello', messageType: 'TEXT', media: null, deliveryStatus: null, consent: null },
      { direction: 'INBOUND', text: 'Anybody there?' },
    ]);
    expect((await call('GET', `/${conversation.chatId}`)).body).toEqual(conversation);
  });

  test('is added to the one thread of its person and channel', async () => {
    const from = nextNumber();
    await conversationWith(['by SMS'], { from });
    await conversationWith(['by WhatsApp'], { from, to: '10000', rich: {} });
    await conversationWith(['again'], { from: `+${from}`, to: '10000', rich: {} });
    const { data, total } = await find(`search=${from}&orderBy=lastMessageDate`);
    expect(data.map((one: { channel: string; unreadCount: number }) => [one.channel, one.unreadCount])).toEqual([
      ['SMS', 1],
      ['WHATSAPP', 2],
    ]);
    expect(total).toBe(2);
    expect(new Set(data.map((one: { contact: { id: number } }) => one.contact.id)).size).toBe(1);
  });

  test('opens the WhatsApp window for 24 hours from its time, and gives a new contact its name', async () => {
    const at = new Date(Date.now() - 3_600_000);
    const conversation = await conversationWith(['Hi'], { to: '100', rich: { at, profileName: 'Ana Silva' } });
    expect(conversation.windowExpiresAt).toBe(new Date(at.getTime() + 86_400_000).toISOString());
    expect(conversation.contact.name).toBe('Ana Silva');
    expect((await messagesOf(conversation.chatId))[0].timestamp).toBe(at.toISOString());
    await inbox.write('older', {
      from: conversation.contact.phoneNumber,
      to: '100',
      rich: { at: new Date(at.getTime() - 60_000) },
    });
    expect((await call('GET', `/${conversation.chatId}`)).body.windowExpiresAt).toBe(conversation.windowExpiresAt);
  });

  test('from an advertisement opens the free entry for an answer within 24 hours, which later messages do not end', async () => {
    const at = new Date(Date.now() - 3_600_000);
    const rich = { at, content: { referral: REFERRAL } };
    const { chatId, contact } = await conversationWith(['Hi'], { to: '100', rich });
    await inbox.write('And?', { from: contact.phoneNumber, to: '100', rich: { at: new Date() } });
    const [row] = await many(
      inbox.database.pool,
      sql`SELECT free_entry_until AS "freeEntryUntil" FROM conversation WHERE chat_id = ${chatId}`,
    );
    expect(row).toEqual({ freeEntryUntil: new Date(at.getTime() + 24 * 3_600_000) });
    expect((await messagesOf(chatId))[0].content).toEqual({ referral: REFERRAL });
  });

  test('says which message it answers and what was pressed, until it is deleted', async () => {
    const { chatId, contact } = await conversationWith(['Hi'], { to: '100', rich: { id: 'wamid.first' } });
    const [{ id: messageId }] = await messagesOf(chatId);
    const button = { text: 'Yes', payload: 'confirm:42' };
    const content = { button, replyTo: { networkId: 'wamid.first', messageId: null } };
    const from = contact.phoneNumber;
    await inbox.write('Yes', { from, to: '100', rich: { id: 'wamid.second', messageType: 'BUTTON', content } });
    const replyTo = { networkId: 'wamid.first', messageId };
    expect((await messagesOf(chatId))[1].content).toEqual({ button, replyTo });
    await inbox.write('', { from, to: '100', rich: { notice: { kind: 'deleted', messageId: 'wamid.second' } } });
    expect((await messagesOf(chatId))[1].content).toBeNull();
  });

  test.each([
    ['525512345678', '5215512345678'],
    ['5582999448232', '558299448232'],
    ['541123456789', '5491123456789'],
  ])(
    'of a person to whom we wrote as +%s continues the thread if the network names them %s',
    async (dialled, named) => {
      const first = await conversationWith(['Hi'], { from: dialled, to: '100', rich: {} });
      await inbox.write('again', { from: named, to: '100', rich: {} });
      const { data } = await find(`search=${dialled}`);
      expect(data.map(({ chatId }: { chatId: string }) => chatId)).toEqual([first.chatId]);
      expect(data[0]).toMatchObject({ unreadCount: 2, contact: { id: first.contact.id, phoneNumber: `+${dialled}` } });
      expect(first.contact.id).not.toBeNull();
    },
  );

  test('that the person deletes is marked in the thread and the list, and nothing is unread for it', async () => {
    const { chatId, contact } = await conversationWith(['one'], { to: '100', rich: {} });
    await inbox.write('secret', { from: contact.phoneNumber, to: '100', rich: { id: 'wamid.secret' } });
    const notice = { kind: 'deleted', messageId: 'wamid.secret' } as const;
    await inbox.write('', { from: contact.phoneNumber, to: '100', rich: { notice } });
    expect(
      (await messagesOf(chatId)).map((m: { text: string; messageType: string }) => [m.messageType, m.text]),
    ).toEqual([
      ['TEXT', 'one'],
      ['DELETED', ''],
    ]);
    expect((await call('GET', `/${chatId}`)).body).toMatchObject({
      unreadCount: 2,
      lastMessage: { text: '', messageType: 'DELETED' },
    });
  });

  test('that the person deletes at once is marked as well when both are received together', async () => {
    const { chatId, contact } = await conversationWith(['one'], { to: '100', rich: {} });
    const from = contact.phoneNumber;
    const media = { id: '1', url: null, mimeType: 'image/png', fileName: null };
    const notice = { kind: 'deleted', messageId: 'wamid.regretted' } as const;
    await Promise.all([
      inbox.write('two', { from, to: '100', rich: {} }),
      inbox.write('regretted', { from, to: '100', rich: { id: 'wamid.regretted', messageType: 'IMAGE', media } }),
      inbox.write('', { from, to: '100', rich: { notice } }),
    ]);
    const messages = await messagesOf(chatId);
    expect(messages.map((m: { text: string; messageType: string }) => [m.messageType, m.text])).toEqual([
      ['TEXT', 'one'],
      ['TEXT', 'two'],
      ['DELETED', ''],
    ]);
    const jobs = sql`SELECT FROM job WHERE kind = 'inbox.media' AND key = ${messages[2].id}`;
    expect(await many(inbox.database.pool, jobs)).toEqual([]);
  });

  test('under a user id continues the thread of a person whose number has changed', async () => {
    const [from, to, userId] = [nextNumber(), nextNumber(), `IT.${nextNumber()}`];
    // The new number was known as another one's form of a number.
    await conversationWith(['stranger'], { from: nextNumber(), to: '100', rich: { alias: `+${to}` } });
    const { chatId } = await conversationWith(['Hi'], { from, to: '100', rich: { alias: userId } });
    await inbox.write('', { from, to: '100', rich: { notice: { kind: 'moved', address: `+${to}` } } });
    await inbox.write('hidden', { from: userId, to: '100', rich: {} });
    await inbox.write('shown', { from: to, to: '100', rich: {} });
    expect(await textsOf(chatId)).toEqual(['Hi', 'hidden', 'shown']);
    const other = await conversationWith(['I have it now'], { from, to: '100', rich: {} });
    expect(other.chatId).not.toBe(chatId);
  });

  test('of the network that a number has changed moves thread, contact and consent, and is no message', async () => {
    const { accountId } = inbox.account;
    const [from, to] = [nextNumber(), nextNumber()];
    const before = await conversationWith(['STOP'], {
      from,
      to: '100',
      rich: { at: new Date(Date.now() - 3_600_000) },
    });
    const notice = { kind: 'moved', address: `+${to}` } as const;
    await inbox.write('', { from, to: '100', rich: { notice } });
    const after = (await call('GET', `/${before.chatId}`)).body;
    expect(after).toMatchObject({
      unreadCount: 1,
      windowExpiresAt: before.windowExpiresAt,
      lastMessage: { text: 'STOP' },
      contact: { id: before.contact.id, phoneNumber: `+${to}`, optedOut: true },
    });
    await inbox.write('me again', { from: to, to: '100', rich: {} });
    expect(await textsOf(before.chatId)).toEqual(['STOP', 'me again']);
    const log = await listAuditEntries(inbox.database.pool, {
      accountId,
      action: 'person.number_change',
      subject: null,
      fromId: null,
      toId: null,
      limit: 10,
      offset: 0,
    });
    expect(log[0]).toMatchObject({ subject: `number:+${to}` });
    const stranger = nextNumber();
    await inbox.write('', { from: nextNumber(), to: '100', rich: { notice: { ...notice, address: `+${stranger}` } } });
    expect((await find(`search=${stranger}`)).data).toEqual([]);
  });

  test('of a person who hides the number continues the thread, whichever address was known first', async () => {
    const [number, userId] = [nextNumber(), `IT.${nextNumber()}`];
    const hidden = await conversationWith(['hidden'], { from: userId, to: '100', rich: {} });
    const shown = await conversationWith(['shown'], { from: number, to: '100', rich: {} });
    expect(shown.chatId).not.toBe(hidden.chatId);
    await inbox.write('both', { from: number, to: '100', rich: { alias: userId } });
    await inbox.write('hidden again', { from: userId, to: '100', rich: {} });
    expect(await textsOf(shown.chatId)).toEqual(['hidden', 'shown', 'both', 'hidden again']);
    expect((await call('GET', `/${shown.chatId}`)).body).toMatchObject({
      unreadCount: 4,
      contact: { phoneNumber: `+${number}` },
    });
    expect((await call('GET', `/${hidden.chatId}`)).status).toBe(404);
    expect((await find(`search=${userId}`)).data).toEqual([]);
  });

  test('with the number of a person who was known by a user id alone names the thread by it', async () => {
    const [number, userId] = [nextNumber(), `IT.${nextNumber()}`];
    const { chatId } = await conversationWith(['hidden'], { from: userId, to: '100', rich: {} });
    await inbox.write('my number', { from: userId, to: '100', rich: { alias: `+${number}` } });
    const notice = { kind: 'moved', address: `${userId}9` } as const;
    await inbox.write('', { from: userId, to: '100', rich: { notice } });
    await inbox.write('new id', { from: notice.address, to: '100', rich: {} });
    expect(await textsOf(chatId)).toEqual(['hidden', 'my number', 'new id']);
    expect((await call('GET', `/${chatId}`)).body.contact.phoneNumber).toBe(`+${number}`);
  });

  test('unarchives its conversation', async () => {
    const { chatId, contact } = await conversationWith(['one']);
    expect((await call('PATCH', `/${chatId}/archive`)).status).toBe(204);
    expect((await call('GET', `/${chatId}`)).body.archived).toBe(true);
    await inbox.write('two', { from: contact.phoneNumber });
    expect((await call('GET', `/${chatId}`)).body).toMatchObject({ archived: false, unreadCount: 2 });
  });

  test('shows in the thread what STOP and START did, and the conversation shows the current consent', async () => {
    const { chatId } = await conversationWith(['STOP', 'hm', 'Start']);
    expect((await messagesOf(chatId)).map((m: { consent: string | null }) => m.consent)).toEqual([
      'OPTED_OUT',
      null,
      'OPTED_IN',
    ]);
    const gone = await conversationWith(['stop']);
    expect((await call('GET', `/${gone.chatId}`)).body.contact.optedOut).toBe(true);
  });

  test('without a number has no contact, but a thread', async () => {
    const conversation = await conversationWith(['Hola'], { from: 'US.13491208655302', rich: { profileName: 'Eva' } });
    expect(conversation.contact).toEqual({ id: null, name: 'Eva', phoneNumber: null, optedOut: false });
  });

  test('is added to its thread in order, among many concurrent people and accounts', async () => {
    const other = await createAccount(inbox.database.pool, { name: 'Other', plan: 'unlimited', ratePerMinute: 0 });
    const { connectionId } = inbox;
    await insertNumber(inbox.database.pool, { connectionId, number: '5500', accountId: other.accountId });
    const [one, two] = [nextNumber(), nextNumber()];
    const all = Array.from({ length: 60 }, (_, n) => ({
      text: `text ${n}`,
      from: n % 3 ? one : two,
      to: n % 2 ? '5500' : '4400',
    }));
    await Promise.all(all.map(({ text, ...wrote }) => inbox.write(text, wrote)));
    for (const [to, key] of [
      ['4400', inbox.account.apiKey],
      ['5500', other.apiKey],
    ] as const)
      for (const from of [one, two]) {
        const { data } = await find(`search=${from}`, key);
        const own = all.filter((message) => message.to === to && message.from === from).map((message) => message.text);
        const thread = await call('GET', `/${data[0].chatId}/messages?limit=100`, { key });
        expect(thread.body.map((message: { text: string }) => message.text)).toEqual(own);
        expect(data[0].unreadCount).toBe(own.length);
      }
  });
});

describe('the list', () => {
  test('has the newest first, filters, and counts exactly', async () => {
    const account = await createAccount(inbox.database.pool, { name: 'Lists', plan: 'unlimited', ratePerMinute: 0 });
    const { connectionId } = inbox;
    await insertNumber(inbox.database.pool, { connectionId, number: '7700', accountId: account.accountId });
    const people = Array.from({ length: 6 }, nextNumber);
    for (const [n, from] of people.entries())
      await inbox.write(`from ${n}`, { from, to: '7700', ...(n % 2 === 1 && { rich: {} }) });
    const key = account.apiKey;
    const list = async (query: string): Promise<[string[], number]> => {
      const { body } = await call('GET', `?${query}`, { key });
      return [body.data.map((one: { lastMessage: { text: string } }) => one.lastMessage.text), body.total];
    };
    const [chats] = [(await call('GET', '?orderBy=%2BlastMessageDate', { key })).body.data];
    const texts = (...ns: number[]) => ns.map((n) => `from ${n}`);
    expect(await list('')).toEqual([texts(5, 4, 3, 2, 1, 0), 6]);
    expect(await list('limit=2&page=1')).toEqual([texts(3, 2), 6]);
    for (const order of ['lastMessageDate', '+lastMessageDate', '%2BlastMessageDate'])
      expect(await list(`orderBy=${order}`)).toEqual([texts(0, 1, 2, 3, 4, 5), 6]);
    await call('PATCH', `/${chats[0].chatId}/read`, { key });
    await call('PATCH', `/${chats[1].chatId}/read`, { key });
    await call('PATCH', `/${chats[5].chatId}/archive`, { key });
    expect(await list('')).toEqual([texts(4, 3, 2, 1, 0), 5]);
    expect(await list('archived=true')).toEqual([texts(5), 1]);
    expect(await list('unreadOnly=true')).toEqual([texts(4, 3, 2), 3]);
    expect(await list('channelIds=SMS')).toEqual([texts(4, 2, 0), 3]);
    expect(await list('channelIds=SMS&channelIds=WHATSAPP,RCS')).toEqual([texts(4, 3, 2, 1, 0), 5]);
    expect(await list('channelIds=WHATSAPP&unreadOnly=true')).toEqual([texts(3), 1]);
    expect(await list(`dateFrom=${chats[3].lastMessageDate}`)).toEqual([texts(4), 1]);
    expect(await list('dateFrom=2020-01-01')).toEqual([texts(4, 3, 2, 1, 0), 5]);
    expect(await list('dateFrom=2120-01-01')).toEqual([[], 0]);
    expect(await list('orderBy=-unreadCount&limit=3').then(([, total]) => total)).toBe(5);
    expect(await list(`search=${people[2]}`)).toEqual([texts(2), 1]);
    expect(await list('search=%25')).toEqual([[], 0]);
    await call('PATCH', `/${chats[5].chatId}/unarchive`, { key });
    expect(await list('')).toEqual([texts(5, 4, 3, 2, 1, 0), 6]);
  });

  test('hides contacts from callers without the scope contacts, who cannot search among them either', async () => {
    const from = nextNumber();
    const { chatId } = await conversationWith(['Hi'], { from });
    const number = `+${from}`;
    const key = await newKey(inbox.database.pool, inbox.account, ['inbox']);
    await exec(inbox.database.pool, sql`UPDATE contact SET first_name = 'Zora' WHERE phone_number = ${number}`);
    expect((await call('GET', `/${chatId}`)).body.contact).toMatchObject({ id: expect.any(Number), name: 'Zora' });
    const hidden = { id: null, name: number, phoneNumber: number, optedOut: false };
    expect((await call('GET', `/${chatId}`, { key })).body.contact).toEqual(hidden);
    const { data } = await find('', key);
    expect(data.find((each: { chatId: string }) => each.chatId === chatId).contact).toEqual(hidden);
    expect(data.every(({ contact }: { contact: { id: unknown } }) => contact.id === null)).toBe(true);
    expect((await call('GET', '?search=Zora', { key })).status).toBe(403);
    const both = await newKey(inbox.database.pool, inbox.account, ['inbox', 'contacts']);
    expect((await find('search=Zora', both)).total).toBe(1);
  });

  test('finds by the names of contacts', async () => {
    const { chatId, contact } = await conversationWith(['hello']);
    await inbox.app.inject({
      method: 'PUT',
      url: `/api/partner-gateway/v1/contacts/${contact.id}`,
      payload: { fullName: 'Zoë Unusual' },
      headers: { 'x-api-key': inbox.account.apiKey },
    });
    const { data } = await find('search=unusual');
    expect(data).toMatchObject([{ chatId, contact: { id: contact.id, name: 'Zoë Unusual' } }]);
  });

  test.each([
    ['orderBy=name', 'orderBy'],
    ['channelIds=SMS,EMAIL', 'channelIds'],
    ['dateFrom=yesterday', 'dateFrom'],
    ['dateFrom=2026-02-30', 'dateFrom'],
    ['unreadOnly=perhaps', 'unreadOnly'],
    ['assignee=me', 'assignee'],
    ['limit=1001', 'limit'],
  ])('?%s is 400 and names the field', async (query, field) => {
    const { status, body } = await call('GET', `?${query}`);
    expect([status, body.details[0].field.replace(/\[\d\]$/, '')]).toEqual([400, field]);
  });
});

describe('a thread', () => {
  test('is read in windows by id, oldest first', async () => {
    const { chatId } = await conversationWith(['1', '2', '3', '4', '5']);
    const ids = (await messagesOf(chatId)).map((message: { id: string }) => message.id);
    expect(await textsOf(chatId, '?limit=2')).toEqual(['4', '5']);
    expect(await textsOf(chatId, `?idTo=${ids[3]}&limit=2`)).toEqual(['3', '4']);
    expect(await textsOf(chatId, `?idFrom=${ids[1]}&limit=2`)).toEqual(['2', '3']);
    expect(await textsOf(chatId, `?idFrom=${ids[1]}&idTo=${ids[3]}`)).toEqual(['2', '3', '4']);
    expect(await textsOf(chatId, `?idFrom=${ids[3]}&idTo=${ids[1]}`)).toEqual([]);
    expect((await call('GET', `/${chatId}/messages?idFrom=x`)).status).toBe(400);
  });

  test('shows the statuses of replies', async () => {
    const { chatId } = await conversationWith(['?']);
    const { body } = await call('POST', '/reply', { body: { chatId, text: 'a reply' } });
    const shown = async () => (await messagesOf(chatId)).at(-1);
    expect(await shown()).toMatchObject({ id: body.id, direction: 'OUTBOUND', deliveryStatus: 'ACCEPTED' });
    await exec(
      inbox.database.pool,
      sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at)
          VALUES (${inbox.account.accountId}, ${body.id}, 3, 1, now())`,
    );
    expect((await shown()).deliveryStatus).toBe('DELIVERED');
    await exec(inbox.database.pool, sql`UPDATE message_state SET read_at = now() WHERE id = ${body.id}`);
    expect((await shown()).deliveryStatus).toBe('READ');
  });
});

describe('a reply', () => {
  const sent = (id: string) =>
    many<{ channel: string; source: string; sender: string; destination: string; body: string; content: unknown }>(
      inbox.database.pool,
      sql`SELECT channel, source, sender, destination, body, content FROM message WHERE id = ${id}`,
    );

  test('is sent from the number to which the person wrote, and added to the thread in the same transaction', async () => {
    const { chatId, contact } = await conversationWith(['Price?'], { to: '393339999999' });
    const { status, body } = await call('POST', '/reply', { body: { chatId, text: '12 €' } });
    expect([status, body]).toEqual([
      202,
      {
        chatId,
        id: expect.any(String),
        direction: 'OUTBOUND',
        text: '12 €',
        messageType: 'TEXT',
        media: null,
        deliveryStatus: 'ACCEPTED',
        consent: null,
        content: null,
        timestamp: expect.any(String),
      },
    ]);
    expect(await sent(body.id)).toEqual([
      {
        channel: 'SMS',
        source: 'INBOX',
        sender: '+393339999999',
        destination: contact.phoneNumber,
        body: '12 €',
        content: null,
      },
    ]);
    expect(await textsOf(chatId)).toEqual(['Price?', '12 €']);
    expect((await call('GET', `/${chatId}`)).body).toMatchObject({
      unreadCount: 1,
      lastMessage: { text: '12 €', direction: 'OUTBOUND' },
    });
  });

  test('to a person who shows no number goes to the user id', async () => {
    const userId = 'US.13491208655302741918';
    const { chatId } = await conversationWith(['Hi'], { from: userId, to: '10001', rich: {} });
    const { status, body } = await call('POST', '/reply', { body: { chatId, text: 'Yes' } });
    expect(status).toBe(202);
    const [message] = await many(
      inbox.database.pool,
      sql`SELECT destination, sender FROM message WHERE id = ${body.id}`,
    );
    expect(message).toEqual({ destination: userId, sender: '10001' });
  });

  test('starts a conversation with a person who shows no number, which their message continues', async () => {
    const start = { channel: 'WHATSAPP', destination: 'US.ENT.1181579921', channelIdentity: '10001', text: 'News' };
    const { status, body } = await call('POST', '/reply', { body: start });
    expect(status).toBe(202);
    const { chatId } = await conversationWith(['Hi'], { from: start.destination, to: '10001', rich: {} });
    expect(chatId).toBe(body.chatId);
  });

  test('on WhatsApp and RCS is a message of that network', async () => {
    const whatsapp = await conversationWith(['Hi'], { to: '10001', rich: {} });
    const first = await call('POST', '/reply', { body: { chatId: whatsapp.chatId, text: 'Yes' } });
    expect((await sent(first.body.id))[0]).toMatchObject({
      channel: 'WHATSAPP',
      sender: '10001',
      content: { channel: 'WHATSAPP', message: { type: 'text', text: { body: 'Yes' } } },
    });
    const rcs = await conversationWith(['Hi'], { to: 'brand', rich: { channel: 'RCS' } });
    const second = await call('POST', '/reply', { body: { chatId: rcs.chatId, text: 'Yes' } });
    expect((await sent(second.body.id))[0]).toMatchObject({
      channel: 'RCS',
      sender: 'brand',
      body: 'Yes',
      content: { channel: 'RCS', message: { text: 'Yes' } },
    });
    expect(second.body.deliveryStatus).toBe('UNKNOWN');
  });

  test('with a picture is sent as a message of the network, and the thread shows the file', async () => {
    const { accountId } = inbox.account;
    const { id: mediaId } = await insertMedia(inbox.database.pool, {
      accountId,
      mediaKey: randomUUID(),
      origin: 'UPLOAD',
      fileKey: `media/${accountId}/1`,
      name: 'cat.png',
      description: '',
      folderId: null,
      mimeType: 'image/png',
      sizeBytes: 12,
      width: 1,
      height: 1,
      durationSeconds: null,
      thumbnailKey: null,
      thumbnailBytes: null,
    });
    const whatsapp = await conversationWith(['Hi'], { to: '10001', rich: {} });
    const { body, status } = await call('POST', '/reply', { body: { chatId: whatsapp.chatId, mediaId } });
    expect([status, body.messageType, body.media]).toMatchObject([
      202,
      'IMAGE',
      { id: mediaId, state: 'STORED', mimeType: 'image/png', fileName: 'cat.png', sizeBytes: 12 },
    ]);
    const reference = `media:${mediaId}`;
    expect((await sent(body.id))[0]?.content).toEqual({
      channel: 'WHATSAPP',
      message: { type: 'image', image: { link: reference } },
      files: [mediaId],
    });
    expect((await messagesOf(whatsapp.chatId)).at(-1).media).toEqual(body.media);
    const rcs = await conversationWith(['Hi'], { to: 'brand', rich: { channel: 'RCS' } });
    const second = await call('POST', '/reply', { body: { chatId: rcs.chatId, mediaId } });
    expect((await sent(second.body.id))[0]?.content).toMatchObject({
      message: { contentInfo: { fileUrl: reference } },
      files: [mediaId],
    });
  });

  test('by a template shows the text of the template, and an unknown template is 400', async () => {
    const id = randomUUID();
    await insertTemplate(inbox.database.pool, {
      channel: 'RCS',
      id,
      ownerId: inbox.account.accountId,
      connectionId: null,
      name: 'hello',
      language: '',
      category: '',
      status: 'APPROVED',
      content: { text: 'Hello {{firstName}}' },
      headerLink: null,
      named: true,
      variables: ['firstName'],
    });
    const { chatId } = await conversationWith(['Hi'], { to: 'brand', rich: { channel: 'RCS' } });
    const template = { id, variables: { firstName: 'Ana' } };
    const { status, body } = await call('POST', '/reply', { body: { chatId, template } });
    expect([status, body.messageType, body.text]).toEqual([202, 'TEMPLATE', 'Hello Ana']);
    expect((await sent(body.id))[0]?.content).toMatchObject({ message: { text: 'Hello Ana' } });
    const unknown = await call('POST', '/reply', { body: { chatId, template: { id: randomUUID() } } });
    expect(unknown.status).toBe(400);
    expect(await textsOf(chatId)).toEqual(['Hi', 'Hello Ana']);
  });

  test('starts a conversation with a person who never wrote, which their message continues', async () => {
    const number = nextNumber();
    const start = { channel: 'SMS', destination: `+${number}`, channelIdentity: '4400', text: 'News' };
    const { status, body } = await call('POST', '/reply', { body: start });
    expect(status).toBe(202);
    await inbox.write('Thanks', { from: number });
    expect(await textsOf(body.chatId)).toEqual(['News', 'Thanks']);
    const agent = { channel: 'RCS', destination: `+${number}`, channelIdentity: 'brand@rbm.goog', text: 'Hi' };
    const { chatId } = (await call('POST', '/reply', { body: agent })).body;
    expect((await call('GET', `/${chatId}`)).body.channelIdentity).toBe('brand');
    const again = await call('POST', '/reply', { body: { ...start, text: 'Bye' } });
    expect(again.body.chatId).toBe(body.chatId);
  });

  test('under an Idempotency-Key is sent once', async () => {
    const { chatId } = await conversationWith(['?']);
    const request = { body: { chatId, text: 'once' }, idempotencyKey: `reply-${chatId}` };
    const answers = await Promise.all([call('POST', '/reply', request), call('POST', '/reply', request)]);
    const last = await call('POST', '/reply', request);
    expect(last.headers['idempotency-replayed']).toBe('true');
    expect(answers.map(({ status }) => status)).toEqual(expect.arrayContaining([202]));
    expect(await textsOf(chatId)).toEqual(['?', 'once']);
  });

  test('that is rejected leaves no trace', async () => {
    const { chatId, contact } = await conversationWith(['?']);
    const { accountId } = inbox.account;
    const row = { accountId, phoneNumber: contact.phoneNumber, channel: 'SMS', source: 'API' } as const;
    await transaction(inbox.database.pool, (tx) => optOut(tx, [row]));
    const refused = await call('POST', '/reply', { body: { chatId, text: 'x' } });
    expect([refused.status, refused.body.details[0].field]).toEqual([400, 'chatId']);
    expect(await textsOf(chatId)).toEqual(['?']);
    await transaction(inbox.database.pool, (tx) => optIn(tx, [row]));
    expect((await call('POST', '/reply', { body: { chatId, text: 'y' } })).status).toBe(202);
  });

  test.each([
    [{ text: 'x' }, ['channel', 'destination', 'channelIdentity']],
    [{ channel: 'RCS', destination: 'US.1349', channelIdentity: 'brand', text: 'x' }, ['destination']],
    [{ channel: 'SMS', destination: 'nobody', channelIdentity: '1', text: 'x' }, ['destination']],
    [{ channel: 'SMS', destination: '+393331234567', channelIdentity: '4400' }, ['text', 'mediaId', 'template']],
    [
      { channel: 'SMS', destination: '+393331234567', channelIdentity: '4400', text: 'x', mediaId: 1 },
      ['text', 'mediaId', 'template'],
    ],
    [{ channel: 'SMS', destination: '+393331234567', channelIdentity: '4400', mediaId: 999_999 }, ['mediaId']],
    [{ channel: 'RCS', destination: '+393331234567', channelIdentity: 'b', mediaId: 999_999 }, ['mediaId']],
    [{ channel: 'RCS', destination: '+393331234567', channelIdentity: 'b', template: {} }, ['template.id']],
    [{ channel: 'RCS', destination: '+393331234567', channelIdentity: 'b', text: TOO_LONG }, ['text']],
    [{ chatId: 'nonsense', text: 'x' }, ['chatId']],
  ])('%o is 400 and names %j', async (body, fields) => {
    const { status, body: answer } = await call('POST', '/reply', { body });
    expect([status, answer.details.map((d: { field: string }) => d.field)]).toEqual([400, fields]);
  });
});

describe('signs to a person', () => {
  const signs = () =>
    many<{ kind: string; networkId: string; sender: string; destination: string }>(
      inbox.database.pool,
      sql`DELETE FROM job WHERE kind = 'inbox.sign'
          RETURNING payload #>> '{sign,kind}' AS kind, payload #>> '{sign,networkId}' AS "networkId",
            payload #>> '{sign,sender}' AS sender, payload #>> '{sign,destination}' AS destination`,
    );

  test('are about their newest message, and each replaces the one before', async () => {
    const { chatId, contact } = await conversationWith(['one'], { to: '100', rich: { id: 'wamid.one' } });
    const from = contact.phoneNumber;
    expect((await call('POST', `/${chatId}/read`)).status).toBe(202);
    await inbox.write('two', { from, to: '100', rich: { id: 'wamid.two' } });
    for (const kind of ['read', 'typing']) expect((await call('POST', `/${chatId}/${kind}`)).status).toBe(202);
    const sign = { networkId: 'wamid.two', sender: '100', destination: from };
    expect((await signs()).toSorted((a, b) => a.kind.localeCompare(b.kind))).toEqual([
      { ...sign, kind: 'read' },
      { ...sign, kind: 'typing' },
    ]);
  });

  test('are not possible on SMS, nor without a message', async () => {
    const sms = await conversationWith(['Hi']);
    expect(await call('POST', `/${sms.chatId}/read`)).toMatchObject({ status: 400 });
    expect(await call('POST', `/${randomUUID()}/typing`)).toMatchObject({ status: 404 });
    expect(await signs()).toEqual([]);
  });

  test('are shown when an agent opens the conversation, if the account wants it', async () => {
    const { accountId } = inbox.account;
    const open = async () => {
      const { chatId } = await conversationWith(['Hi'], { to: '100', rich: { id: randomUUID() } });
      for (let times = 0; times < 2; times++) await call('PATCH', `/${chatId}/read`);
      return (await signs()).map(({ kind }) => kind);
    };
    expect(await open()).toEqual([]);
    await exec(
      inbox.database.pool,
      sql`INSERT INTO inbox_settings (account_id, auto_read) VALUES (${accountId}, true)
          ON CONFLICT (account_id) DO UPDATE SET auto_read = true`,
    );
    expect(await open()).toEqual(['read']);
  });
});

describe('a conversation', () => {
  test('can be marked as read, archived and unarchived repeatedly', async () => {
    const { chatId } = await conversationWith(['a', 'b']);
    for (const verb of ['read', 'read', 'archive', 'archive', 'unarchive', 'unarchive'])
      expect((await call('PATCH', `/${chatId}/${verb}`)).status).toBe(204);
    expect((await call('GET', `/${chatId}`)).body).toMatchObject({ unreadCount: 0, archived: false });
  });

  test('is assigned to a user who may reply, with an audit entry', async () => {
    const { chatId } = await conversationWith(['a']);
    const { accountId } = inbox.account;
    const make = (username: string, role: 'sender' | 'viewer') =>
      insertUser(inbox.database.pool, { accountId, username, passwordHash: 'none', role });
    const [eva, viewer] = [await make('eva', 'sender'), await make('vic', 'viewer')];
    const assignable = (await call('GET', '/assignable-users')).body;
    expect(assignable.data.map((user: { username: string }) => user.username)).toContain('eva');
    expect(assignable.data.map((user: { username: string }) => user.username)).not.toContain('vic');
    expect(assignable.total).toBe(assignable.data.length);
    const assign = (userId: unknown) => call('POST', `/${chatId}/assignee`, { body: { userId } });
    expect((await assign(eva?.id)).status).toBe(204);
    expect((await assign(eva?.id)).status).toBe(204);
    expect((await call('GET', `/${chatId}`)).body.assignee).toEqual({ userId: eva?.id, username: 'eva' });
    expect(await find(`assignee=${eva?.id}`)).toMatchObject({ total: 1, data: [{ chatId }] });
    expect((await find('assignee=none')).data).not.toContainEqual(expect.objectContaining({ chatId }));
    expect([(await assign(viewer?.id)).status, (await assign(999_999)).status]).toEqual([400, 400]);
    expect((await call('DELETE', `/${chatId}/assignee`)).status).toBe(204);
    expect((await call('GET', `/${chatId}`)).body.assignee).toBeNull();
    const log = await listAuditEntries(inbox.database.pool, {
      accountId,
      action: null,
      subject: `conversation:${chatId}`,
      fromId: null,
      toId: null,
      limit: 10,
      offset: 0,
    });
    expect(log.map((entry) => entry.detail)).toEqual([{ userId: null }, { userId: eva?.id }]);
  });

  test('of another account is unknown', async () => {
    const { chatId } = await conversationWith(['a']);
    const stranger = await createAccount(inbox.database.pool, { name: 'S', plan: 'unlimited', ratePerMinute: 0 });
    const key = stranger.apiKey;
    const answers = await Promise.all(
      [chatId, '018f0000-0000-7000-8000-000000000000'].flatMap((id) => [
        call('GET', `/${id}`, { key }),
        call('GET', `/${id}/messages`, { key }),
        call('PATCH', `/${id}/read`, { key }),
        call('PATCH', `/${id}/archive`, { key }),
        call('DELETE', `/${id}/assignee`, { key }),
        call('POST', '/reply', { key, body: { chatId: id, text: 'x' } }),
      ]),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
    expect((await call('GET', `/${chatId}`)).body).toMatchObject({ unreadCount: 1, archived: false });
  });
});
