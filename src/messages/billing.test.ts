import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SEND } from '../../test/support/client.ts';
import { readBooks } from '../../test/support/money.ts';
import { connectGraph, connectRbm } from '../../test/support/networks.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { exec, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { insertConversations, insertThreadMessages } from '../inbox/store.ts';
import { addCredit } from '../money/credit.ts';
import { operatorAuthor } from '../accounts/audit.ts';
import { setPrice } from '../money/prices.ts';
import { insertTemplate } from '../templates/store.ts';

const HERE = '+351912345678';
const ABROAD = '+628123456789';

let program: TestProgram;
let phoneNumberId: string;
let accountId: number;
const opened = new AsyncDisposableStack();

/** The price of each place, in millionths of the currency: each another amount, so that a sum shows which counted. */
const PRICES = [
  { channel: 'WHATSAPP', category: 'marketing', micros: 70_001 },
  { channel: 'WHATSAPP', category: 'utility', micros: 20_002 },
  { channel: 'WHATSAPP', category: 'utility', window: 'IN_WINDOW', micros: 5_003 },
  { channel: 'WHATSAPP', category: 'authentication', micros: 30_004 },
  { channel: 'WHATSAPP', category: 'authentication-international', prefix: '62', micros: 90_005 },
  // The number that sends is in this country: the price for businesses abroad is not for it.
  { channel: 'WHATSAPP', category: 'authentication-international', prefix: '351', micros: 99_999 },
  { channel: 'WHATSAPP', category: 'service', micros: 10_006 },
  { channel: 'WHATSAPP', category: 'service', window: 'FREE_ENTRY', micros: 0 },
  { channel: 'RCS', category: 'basic', micros: 11_007 },
  { channel: 'RCS', category: 'single', micros: 33_008 },
  { channel: 'RCS', category: 'rich', prefix: '1', perPart: true, micros: 8_009 },
  { channel: 'RCS', category: 'rich-media', prefix: '1', micros: 44_010 },
  { channel: 'SMS', prefix: '351', perPart: false, micros: 40_011 },
  { channel: 'SMS', prefix: '62', micros: 50_012 },
] as const;

beforeAll(async () => {
  // Without a worker: what is accepted waits, and its price stays frozen.
  program = opened.use(await startTestProgram({ roles: { worker: false } }));
  const { pool, account } = program;
  accountId = account.accountId;
  const { graph, connectionId, number } = await connectGraph(program);
  opened.defer(graph.close);
  opened.defer((await connectRbm(program)).rbm.close);
  phoneNumberId = number;
  await exec(
    pool,
    sql`UPDATE sender SET details = details || '{"displayNumber":"+351 900 000 001"}' WHERE identity = ${number}`,
  );
  const shared = {
    ownerId: accountId,
    status: 'APPROVED',
    headerLink: null,
    channel: 'WHATSAPP',
    connectionId,
  } as const;
  for (const category of ['MARKETING', 'UTILITY', 'AUTHENTICATION'])
    await insertTemplate(pool, {
      ...shared,
      category,
      id: category,
      name: category.toLowerCase(),
      language: 'en',
      named: false,
      content: [{ type: 'BODY', text: 'Hello' }],
      variables: [],
    });
  await transaction(pool, async (tx) => {
    await addCredit(tx, operatorAuthor(accountId), { amount: 1000, reference: 'test' });
    for (const { micros, ...place } of PRICES)
      await setPrice(tx, { by: 'Ada', prefix: '', price: micros / 1e6, refundUndelivered: true, ...place });
  });
  await until('the senders and prices', async () => {
    const answers = [await whatsapp({ body: TEXT, simulation: true }), await rcs({ body: TEXT, simulation: true })];
    return answers.every((answer) => idOf(answer) !== null) && (await priceOf(await sms(HERE, 'Hi'))) === 40_011;
  });
});
afterAll(() => opened.disposeAsync());

const TEXT = { type: 'TEXT', text: 'Hello' };
const CARD = { type: 'CARD', card: { title: 'Hello' } };
const LONG = { type: 'TEXT', text: 'é'.repeat(100) };
const REPLY = { reply: { text: 'Yes', postbackData: 'y' } };
const LOCATE = { action: { text: 'Here', postbackData: 'h', shareLocationAction: {} } };

const send = (path: string, body: object) => program.client.request('POST', path, { body });
const whatsapp = (more: object) =>
  send('/api/message-server/whatsapp/send', { phoneNumberId, destination: HERE, ...more });
const rcs = (more: object) => send('/api/message-server/rcs/send', { agentId: 'acme', destination: HERE, ...more });
const sms = (phoneNumber: string, message: string) => send(SEND, { phoneNumber, message, senderName: 'ACME' });
const template = (id: string) => ({ template: { id } });

type Answer = { readonly status: number; readonly body: unknown };
const idOf = ({ body }: Answer): string | null => (body as { messageId?: string | null }).messageId ?? null;

async function priceOf(answer: Answer): Promise<number> {
  if (idOf(answer) === null) throw new Error(`not accepted: ${JSON.stringify(answer)}`);
  const { micros } = await one<{ micros: number }>(
    program.pool,
    sql`SELECT price_micros AS micros FROM message WHERE account_id = ${accountId} AND id = ${idOf(answer)}`,
  );
  return micros;
}

const openWindow = (peer: string, identity: string, more: object) =>
  transaction(program.pool, (tx) =>
    insertConversations(tx, {
      unarchive: true,
      rows: [
        {
          accountId,
          newChatId: randomUUID(),
          channel: 'WHATSAPP',
          peer,
          identity,
          profileName: '',
          unread: 1,
          windowExpiresAt: null,
          freeEntryUntil: null,
          direction: 'INBOUND',
          messageType: 'TEXT',
          text: 'Hi',
          at: new Date(),
          ...more,
        },
      ],
    }),
  );
const later = (hours: number): Date => new Date(Date.now() + hours * 3_600_000);

test('the ledger holds the prices of mixed messages, each by its category, window, content and number', async () => {
  const [inWindow, fromAd, ofAnother, over] = ['+351912000001', '+351912000002', '+351912000003', '+351912000004'];
  await openWindow(inWindow, phoneNumberId, { windowExpiresAt: later(1) });
  await openWindow(fromAd, phoneNumberId, { windowExpiresAt: later(1), freeEntryUntil: later(48) });
  await openWindow(ofAnother, '999', { windowExpiresAt: later(1) });
  await openWindow(over, phoneNumberId, { windowExpiresAt: later(-1), freeEntryUntil: later(-1) });
  const before = await readBooks(program.pool, accountId);
  const sent: readonly (readonly [number, () => ReturnType<typeof send>])[] = [
    [70_001, () => whatsapp(template('MARKETING'))],
    [20_002, () => whatsapp(template('UTILITY'))],
    [30_004, () => whatsapp(template('AUTHENTICATION'))],
    [90_005, () => whatsapp({ ...template('AUTHENTICATION'), destination: ABROAD })],
    [10_006, () => whatsapp({ body: TEXT })],
    [5_003, () => whatsapp({ ...template('UTILITY'), destination: inWindow })],
    [70_001, () => whatsapp({ ...template('MARKETING'), destination: inWindow })],
    [0, () => whatsapp({ body: TEXT, destination: fromAd })],
    [20_002, () => whatsapp({ ...template('UTILITY'), destination: ofAnother })],
    [20_002, () => whatsapp({ ...template('UTILITY'), destination: over })],
    [11_007, () => rcs({ body: TEXT })],
    [33_008, () => rcs({ body: LONG })],
    [33_008, () => rcs({ body: { ...TEXT, suggestions: [REPLY] } })],
    [33_008, () => rcs({ body: CARD })],
    [8_009, () => rcs({ body: { ...TEXT, suggestions: [REPLY] }, destination: '+12125550100' })],
    [16_018, () => rcs({ body: LONG, destination: '+12125550100' })],
    [44_010, () => rcs({ body: { ...TEXT, suggestions: [LOCATE] }, destination: '+12125550100' })],
    [44_010, () => rcs({ body: CARD, destination: '+12125550100' })],
    [40_011, () => sms(HERE, 'a'.repeat(200))],
    [100_024, () => sms(ABROAD, 'a'.repeat(200))],
  ];
  const prices: number[] = [];
  for (const [, request] of sent) prices.push(await priceOf(await request()));
  expect(prices).toEqual(sent.map(([expected]) => expected));
  const after = await readBooks(program.pool, accountId);
  expect(after.frozen - before.frozen).toBe(sent.reduce((sum, [expected]) => sum + expected, 0));
});

test('an answer within 24 hours after an advertisement opens the free window, for 72 hours', async () => {
  const answered = async (peer: string, hours: number) => {
    const [row] = await openWindow(peer, phoneNumberId, { windowExpiresAt: later(1), freeEntryUntil: later(-2) });
    const answer = { direction: 'OUTBOUND', messageType: 'TEXT', text: 'Hello', media: null, consent: null } as const;
    const place = { accountId, chatId: row?.chatId ?? '', id: randomUUID(), at: later(hours) };
    await insertThreadMessages(program.pool, [{ ...place, ...answer }]);
  };
  await answered('+351912000011', -20);
  await answered('+351912000012', -1);
  const priceTo = async (destination: string) => priceOf(await whatsapp({ body: TEXT, destination }));
  expect(await priceTo('+351912000011')).toBe(0);
  expect(await priceTo('+351912000012')).toBe(10_006);
});

test('a message for a later date has the price of that date', async () => {
  await transaction(program.pool, (tx) =>
    setPrice(tx, { by: 'Ada', channel: 'SMS', prefix: '44', price: 0.03, refundUndelivered: false }),
  );
  const from = later(24);
  await transaction(program.pool, (tx) =>
    setPrice(tx, { by: 'Ada', channel: 'SMS', prefix: '44', price: 0.06, refundUndelivered: false, validFrom: from }),
  );
  const at = (scheduledDate?: string) =>
    send(SEND, { phoneNumber: '+447700900123', message: 'Hi', senderName: 'A', scheduledDate });
  await until('the prices', async () => (await priceOf(await at())) === 30_000);
  const minute = (date: Date): string => date.toISOString().replace(/\.\d+Z/, 'Z');
  expect(await priceOf(await at(minute(later(2))))).toBe(30_000);
  expect(await priceOf(await at(minute(later(25))))).toBe(60_000);
});
