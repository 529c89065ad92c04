import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { flatPrice } from '../../test/support/drafts.ts';
import { newKey, openRoutes } from '../../test/support/http/routes.ts';
import { one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { NO_ROUTE } from '../routing/choice.ts';
import { insertConnection } from '../routing/connection-store.ts';
import { NO_NETWORKS } from '../routing/number-lookups.ts';
import { NO_TLV_TAGS } from '../routing/account-tlvs.ts';
import { NO_DLT_TEMPLATES } from '../routing/dlt-templates.ts';
import { NO_SENDER_RULES } from '../routing/sender-rules.ts';
import { insertSender } from '../routing/senders.ts';
import { insertTemplate } from '../templates/store.ts';
import { optOut } from './consent.ts';
import type { Lookups } from './prepare.ts';
import { previewRoutes } from './send-preview.ts';

const NUMBER = '+393331234567';
const AGENT = 'shop_agent';

let priceMicros: number | null;
const tables: Lookups = {
  findRoute: (_channel, to) => ({ ...NO_ROUTE, connectionIds: to.startsWith('+39') ? [1] : [] }),
  findPrice: (message) => (priceMicros === null ? null : flatPrice(priceMicros)(message)),
  maySend: (accountId, _channel, sender) => accountId === account.accountId && sender === AGENT,
  senderRules: NO_SENDER_RULES,
  tlvTags: NO_TLV_TAGS,
  dltTemplates: NO_DLT_TEMPLATES,
  networks: NO_NETWORKS,
};
const { pool, account, call, ...routes } = await openRoutes([previewRoutes], {
  deps: { tables },
  account: { plan: 'production', creditMicros: 1_000_000 },
});
afterAll(() => routes[Symbol.asyncDispose]());
beforeAll(async () => {
  const named = { name: 'one', kind: 'rcs', sandbox: true, settings: {} } as const;
  const connectionId = (await insertConnection(pool, named))?.id ?? 0;
  const ownerId = account.accountId;
  await insertSender(pool, { channel: 'RCS', identity: AGENT, connectionId, ownerId, name: 'Shop' });
  const made = { language: 'en', category: '', headerLink: null, named: false, ownerId, variables: [] };
  const template = { ...made, channel: 'RCS' as const, connectionId: null, content: { text: 'Hi {{name}}' } };
  await insertTemplate(pool, { ...template, id: 'hello', name: 'hello', status: 'APPROVED' });
  await insertTemplate(pool, { ...template, id: 'poor', name: 'poor', status: 'REJECTED' });
});
beforeEach(() => {
  priceMicros = 40_000;
});

const preview = (body: object, key?: string) => call('POST', '/messages/preview', body, key);
const sms = async (more: object) => (await preview({ channel: 'SMS', ...more })).body;
const rcs = async (more: object) => (await preview({ channel: 'RCS', ...more })).body;

describe('on SMS', () => {
  test('parts, encoding, country and price are those of the send', async () => {
    expect(await preview({ channel: 'SMS', destination: NUMBER, sender: 'ACME', text: 'a'.repeat(161) })).toEqual({
      status: 200,
      body: {
        channel: 'SMS',
        text: 'a'.repeat(161),
        encoding: 'GSM-7',
        characters: 161,
        parts: 2,
        perPart: 153,
        remaining: 145,
        unsupported: [],
        country: 'IT',
        unitPrice: 0.04,
        price: 0.08,
        held: null,
        replaced: [],
        currency: 'EUR',
        valid: true,
        problems: [],
      },
    });
  });

  test('the characters that require UCS-2 are named', async () => {
    expect(await sms({ text: 'Perché “no”' })).toMatchObject({
      encoding: 'UCS-2',
      perPart: 70,
      remaining: 59,
      unsupported: ['“', '”'],
      price: null,
      country: null,
    });
  });

  test('fields that are left out have no problems', async () => {
    expect(await sms({})).toMatchObject({ text: '', parts: 1, valid: true, problems: [] });
    expect(await sms({ destination: NUMBER })).toMatchObject({ valid: true, price: 0.04 });
  });

  test('all refusals are reported together, with their fields', async () => {
    const { problems, valid } = await sms({ destination: '12', sender: '?!', text: '' });
    expect(valid).toBe(false);
    expect(problems.map(({ field }: { field: string }) => field)).toEqual(['destination', 'sender', 'text']);
    const far = await sms({ destination: '+351912345678', text: 'a'.repeat(1531) });
    expect(far.problems).toEqual([
      { field: 'text', message: 'the text needs too many parts' },
      { field: 'destination', message: 'no route leads to this number' },
    ]);
  });

  test('a number without a price has none, and the problem says so', async () => {
    priceMicros = null;
    expect(await sms({ destination: NUMBER, text: 'a' })).toMatchObject({
      unitPrice: null,
      price: null,
      problems: [{ field: 'destination', message: expect.stringContaining('price') }],
    });
  });

  test('an opt-out and a price beyond the credit are problems', async () => {
    priceMicros = 1_000_001;
    const { accountId } = account;
    const row = { accountId, phoneNumber: NUMBER, channel: 'SMS', source: 'STOP' } as const;
    await transaction(pool, (tx) => optOut(tx, [row]));
    const { problems } = await sms({ destination: NUMBER, text: 'a' });
    expect(problems.map(({ field }: { field: string }) => field)).toEqual(['destination', 'credit']);
    expect((await sms({ destination: '+393339999999', text: 'a' })).problems).toMatchObject([{ field: 'credit' }]);
  });
});

describe('on RCS', () => {
  test('a template is filled, and costs one message', async () => {
    const answer = await rcs({ destination: NUMBER, sender: AGENT, templateId: 'hello', variables: { name: 'Ana' } });
    expect(answer).toMatchObject({
      text: 'Hi Ana',
      encoding: null,
      parts: 1,
      perPart: null,
      remaining: null,
      price: 0.04,
      valid: true,
    });
  });

  test('a template that may not be sent is shown anyway', async () => {
    const answer = await rcs({ sender: AGENT, templateId: 'poor', variables: ['Ana'] });
    expect(answer).toMatchObject({ text: 'Hi Ana', valid: false, problems: [{ field: 'templateId' }] });
  });

  test('missing values, unknown templates and senders of other accounts are problems', async () => {
    expect((await rcs({ templateId: 'hello' })).problems).toMatchObject([{ field: 'variables' }]);
    expect((await rcs({ templateId: 'hello', variables: {} })).problems).toMatchObject([{ field: 'variables.name' }]);
    expect((await rcs({ templateId: 'none' })).problems).toEqual([
      { field: 'templateId', message: 'there is no such template' },
    ]);
    expect((await rcs({ sender: 'other' })).problems).toMatchObject([{ field: 'sender' }]);
    expect(await rcs({})).toMatchObject({ valid: true, problems: [] });
  });

  test('a body is shown as it would be sent', async () => {
    const card = { type: 'CARD', card: { title: 'Sale', description: 'Today' } };
    expect(await rcs({ sender: AGENT, body: card })).toMatchObject({ text: 'Sale\nToday', valid: true });
    expect((await rcs({ body: { type: 'CARD', card: {} } })).problems).toMatchObject([{ field: 'body.card' }]);
  });
});

test('on WhatsApp a body is shown, and a template of another account’s number is a problem', async () => {
  const body = { type: 'TEXT', text: 'Hello' };
  expect((await preview({ channel: 'WHATSAPP', body })).body).toMatchObject({ text: 'Hello', valid: true });
  const template = { name: 'x', language: 'en' };
  expect((await preview({ channel: 'WHATSAPP', template })).body).toMatchObject({ valid: true });
  expect((await preview({ channel: 'WHATSAPP', sender: '1', template })).body.problems).toEqual([
    { field: 'sender', message: 'the account has no such number' },
    { field: 'sender', message: 'the account has no such sender on this channel' },
  ]);
});

test('on WhatsApp a user id has the country that it begins with', async () => {
  const body = { type: 'TEXT', text: 'Hello' };
  const found = await preview({ channel: 'WHATSAPP', destination: 'PT.13491208655302741918', body });
  expect(found.body).toMatchObject({ country: 'PT', valid: true });
  expect((await sms({ destination: 'PT.13491208655302741918', text: 'a' })).problems).toMatchObject([
    { field: 'destination' },
  ]);
});

test('nothing is stored', async () => {
  await sms({ destination: NUMBER, text: 'a' });
  expect(await one(pool, sql`SELECT count(*)::int AS n FROM message`)).toEqual({ n: 0 });
});

test('a caller without the scope money sees no price, and the same problems', async () => {
  const body = { channel: 'SMS', destination: NUMBER, sender: 'ACME', text: 'Hello' };
  const key = await newKey(pool, account, ['SMS']);
  const [all, few] = [(await preview(body)).body, (await preview(body, key)).body];
  expect(few).toEqual({ ...all, unitPrice: null, price: null });
  expect(all.price).toBeGreaterThan(0);
});

test('malformed fields are 400, and a missing scope of the channel is 403', async () => {
  expect(await preview({ channel: 'FAX' })).toMatchObject({ status: 400 });
  expect(await preview({ channel: 'SMS', text: 7 })).toMatchObject({
    status: 400,
    body: { details: [{ field: 'text' }] },
  });
  const apiKey = await newKey(pool, account, ['SMS']);
  expect((await preview({ channel: 'SMS' }, apiKey)).status).toBe(200);
  expect((await preview({ channel: 'RCS' }, apiKey)).status).toBe(403);
});
