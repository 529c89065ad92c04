import { beforeAll, beforeEach, expect, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { actor, draft, freeOver } from '../../test/support/drafts.ts';
import { say } from '../../test/support/say.ts';
import { listAuditEntries } from '../accounts/audit.ts';
import { createAuthenticator } from '../accounts/authenticate.ts';
import { type Db, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { foldText } from '../core/fold.ts';
import { silentLog } from '../core/log.ts';
import { createMetrics } from '../core/metrics.ts';
import { personOf } from '../core/phone.ts';
import { createWaker } from '../dispatch/pump.ts';
import { receiveIntoInbox } from '../inbox/receive.ts';
import { createAccount } from '../operate/account-commands.ts';
import { type Accept, createAccept } from './accept.ts';
import {
  createConsentCheck,
  listOptOuts,
  listOptOutsOf,
  optIn,
  optOut,
  registerConsentCommands,
  setOptOuts,
} from './consent.ts';
import { createInboundInbox } from './inbound.ts';
import { insertNumber } from './inbound-store.ts';
import { toResult } from './send-response.ts';

const database = testDatabase();

let accept: Accept;
let accountId: number;
let apiKey: string;
beforeAll(async () => {
  const { pool } = database;
  const waker = { ...createWaker(pool), wake: () => undefined };
  accept = createAccept({ pool, tables: freeOver(() => [1]), waker, recentMessages: null });
});
beforeEach(async () => {
  ({ accountId, apiKey } = await createAccount(database.pool, { name: 'Acme', plan: 'unlimited' }));
});

const NUMBER = '+393331234567';
const inTransaction = <T>(work: (tx: Db) => Promise<T>): Promise<T> => transaction(database.pool, work);
const row = (more: object = {}) => ({
  accountId,
  phoneNumber: NUMBER,
  channel: 'SMS' as const,
  source: 'API' as const,
  ...more,
});
const standing = async () =>
  (await listOptOutsOf(database.pool, { accountId, phoneNumber: NUMBER })).map(({ channel, source }) => [
    channel,
    source,
  ]);
const saySms = (...bodies: string[]) =>
  inTransaction((tx) =>
    say(
      tx,
      bodies.map((body) => ({ accountId, channel: 'SMS', source: '393331234567', body })),
    ),
  );

test('an opt-out is stored once, with its first source and time, until it is removed', async () => {
  expect(await inTransaction((tx) => optOut(tx, [row(), row(), row({ channel: 'RCS' })]))).toHaveLength(2);
  const [first] = await listOptOuts(database.pool, { accountId, limit: 10 });
  expect(await inTransaction((tx) => optOut(tx, [row({ channel: 'RCS', source: 'STOP' })]))).toEqual([]);
  expect((await listOptOuts(database.pool, { accountId, limit: 10 }))[0]).toEqual(first);
  expect(await inTransaction((tx) => optIn(tx, [row(), row({ channel: 'WHATSAPP' })]))).toHaveLength(1);
  expect(await standing()).toEqual([['RCS', 'API']]);
});

test('setting the channels of a number opts out and in as needed, and records it in the audit log', async () => {
  await inTransaction((tx) => optOut(tx, [row(), row({ channel: 'RCS', source: 'STOP' })]));
  const set = (channels: ('SMS' | 'RCS' | 'WHATSAPP')[]) =>
    inTransaction((tx) => setOptOuts(tx, actor(accountId), { phoneNumber: NUMBER, channels, source: 'API' }));
  await set(['RCS', 'WHATSAPP']);
  await set(['WHATSAPP', 'RCS']);
  expect(await standing()).toEqual([
    ['RCS', 'STOP'],
    ['WHATSAPP', 'API'],
  ]);
  const log = await listAuditEntries(database.pool, {
    accountId,
    action: 'consent.update',
    subject: null,
    fromId: null,
    toId: null,
    limit: 10,
    offset: 0,
  });
  expect(log.map((entry) => entry.detail)).toEqual([{ optedOut: ['WHATSAPP'], optedIn: ['SMS'] }]);
});

test('STOP opts out, START opts in, the last of several counts, and other texts change nothing', async () => {
  await saySms('Stop!');
  expect(await standing()).toEqual([['SMS', 'STOP']]);
  await saySms('thanks', 'START');
  expect(await standing()).toEqual([]);
  await saySms('START', 'STOP', 'why?');
  expect(await standing()).toEqual([['SMS', 'STOP']]);
  await saySms('stop', 'start');
  expect(await standing()).toEqual([]);
});

test('STOP of a person who shows no number opts their user id out, on WhatsApp alone', async () => {
  const userId = 'US.ENT.11815799212886844830';
  const content = { channel: 'WHATSAPP', message: { type: 'text', text: { body: 'Hi' } } } as const;
  const write = (channel: 'SMS' | 'WHATSAPP', body: string) =>
    inTransaction((tx) => say(tx, [{ accountId, channel, source: userId, body }]));
  const send = () =>
    accept.one({ ...actor(accountId), hasOptOuts: true }, draft({ channel: 'WHATSAPP', destination: userId, content }));
  await write('SMS', 'STOP');
  expect(await send()).toMatchObject({ kind: 'accepted' });
  await write('WHATSAPP', 'STOP');
  expect(await send()).toEqual({ kind: 'refused', refusal: 'opted_out' });
  await write('WHATSAPP', 'START');
  expect(await send()).toMatchObject({ kind: 'accepted' });
});

/** The number of a person as WhatsApp names them, and as everybody dials it. */
const FORMS = [
  ['5215512345678', '+525512345678'],
  ['558299448232', '+5582999448232'],
  ['5491123456789', '+541123456789'],
  ['22997123456', '+2290197123456'],
  ['22507123456', '+2250707123456'],
] as const;

test.each(FORMS)(
  'STOP of %s holds for sends to %s and to the same number, and so does START',
  async (named, dialled) => {
    const write = (source: string, body: string) =>
      inTransaction((tx) => say(tx, [{ accountId, channel: 'SMS', source, body }]));
    const send = async () => {
      const numbers = [`+${named}`, dialled].map((destination) => draft({ destination }));
      return (await accept.many({ ...actor(accountId), hasOptOuts: true }, numbers)).map(({ kind }) => kind);
    };
    await write(named, 'STOP');
    expect(await send()).toEqual(['refused', 'refused']);
    await write(dialled.slice(1), 'START');
    expect(await send()).toEqual(['accepted', 'accepted']);
  },
);

test('the database folds texts as the program does', async () => {
  const texts = [
    'İPTAL',
    'ıI',
    'BİLGİ é Ž',
    'ＳＴＯＰ',
    'a\u00adb\u200bc\u2066d\ufe0fe\ufefff\u{e0101}',
    'Ärger ß',
    'Стоп',
    'z\u0307',
    'Ab 1',
  ];
  const { folded } = await one<{ folded: string[] }>(
    database.pool,
    sql`SELECT array_agg(fold_text(t) ORDER BY i) AS folded FROM unnest(${texts}::text[]) WITH ORDINALITY AS u (t, i)`,
  );
  expect(folded).toEqual(texts.map(foldText));
});

test('the database knows the same forms of a number as the program', async () => {
  const local = (length: number) => Array.from({ length: 10 }, (_, n) => `${n}${n}1234567890`.slice(0, length));
  const numbers = ['+52', '+521', '+54', '+549', '+55', '+229', '+22901', '+225', '+22507', '+39'].flatMap((code) =>
    [8, 9, 10, 11].flatMap((length) => local(length).map((rest) => code + rest)),
  );
  const { persons, forms } = await one<{ persons: string[]; forms: boolean }>(
    database.pool,
    sql`SELECT array_agg(person_of(n) ORDER BY i) AS persons, bool_and(n = ANY(number_forms(n))) AS forms
        FROM unnest(${numbers}::text[]) WITH ORDINALITY AS u (n, i)`,
  );
  expect([persons, forms]).toEqual([numbers.map(personOf), true]);
});

test('a message from a handset opts its number out of the account whose number it was sent to', async () => {
  const store = createInboundInbox({
    log: silentLog,
    metrics: createMetrics(),
    pool: database.pool,
    onInbound: receiveIntoInbox,
  });
  await database.pool.query(
    `INSERT INTO connection (name, kind, settings, secret) VALUES ('in', 'smpp', '{}', '') ON CONFLICT DO NOTHING`,
  );
  const { rows } = await database.pool.query<{ id: number }>(`SELECT id FROM connection WHERE name = 'in'`);
  const connectionId = rows[0]?.id ?? 0;
  await insertNumber(database.pool, { connectionId, number: '4711', accountId });
  const send = (text: string, destination = '4711') =>
    store({
      connectionId,
      inbound: { source: '393331234567', destination, text, concat: null, raw: Buffer.from(text) },
    });
  await Promise.all([send('hello'), send('STOP', '4712')]);
  expect(await standing()).toEqual([]);
  await send('STOP');
  expect(await standing()).toEqual([['SMS', 'STOP']]);
  await send('Start');
  expect(await standing()).toEqual([]);
});

test('a send to a number that has opted out is refused on that channel, single and in bulk, from the commit on', async () => {
  const by = actor(accountId);
  const refused = { kind: 'refused', refusal: 'opted_out' };
  expect((await accept.one(by, draft({ destination: NUMBER }))).kind).toBe('accepted');
  await inTransaction((tx) => optOut(tx, [row()]));
  expect(await accept.one(by, draft({ destination: '00393331234567' }))).toEqual(refused);
  const drafts = [draft({ destination: '+393331234568' }), draft({ destination: NUMBER }), draft({ destination: 'x' })];
  const verdicts = await accept.many(by, drafts);
  expect(verdicts.map((v) => (v.kind === 'refused' ? v.refusal : v.kind))).toEqual([
    'accepted',
    'opted_out',
    'not_a_number',
  ]);
  expect(verdicts.map((verdict) => toResult(verdict)[1])).toEqual([200, 403, 400]);
  const other = await createAccount(database.pool, { name: 'Other', plan: 'unlimited' });
  expect((await accept.one(actor(other.accountId), draft({ destination: NUMBER }))).kind).toBe('accepted');
  await inTransaction((tx) => optIn(tx, [row()]));
  expect((await accept.one(by, draft({ destination: NUMBER }))).kind).toBe('accepted');
});

test('an account without opt-outs needs no query, and its credentials change as soon as it has one', async () => {
  let statements = 0;
  const counting: Db = { query: (query) => (statements++, database.pool.query(query)) };
  const check = createConsentCheck(counting);
  const { authenticate } = createAuthenticator({ pool: database.pool, log: silentLog });
  const call = { headers: { 'x-api-key': apiKey }, ip: '198.51.100.7', protocol: 'https' };
  const arrive = async () => (await authenticate(call)).actor;
  const destined = [draft({ destination: NUMBER }), draft({ destination: '+393331234568' })];
  const before = await check(await arrive(), destined);
  expect([statements, before('SMS', NUMBER)]).toEqual([0, null]);
  await inTransaction((tx) => optOut(tx, [row()]));
  const [one, two] = await Promise.all([check(await arrive(), destined), check(await arrive(), destined)]);
  expect([one('SMS', NUMBER), one('RCS', NUMBER), two('SMS', NUMBER), one('SMS', '+393331234568')]).toEqual([
    'opted_out',
    null,
    'opted_out',
    null,
  ]);
  expect(statements).toBeGreaterThan(0);
});

test('of two accounts that send to one number at the same moment, only the one that it opted out of is refused', async () => {
  const other = await createAccount(database.pool, { name: 'Other', plan: 'unlimited' });
  await inTransaction((tx) => optOut(tx, [row()]));
  let statements = 0;
  const counting: Db = { query: (query) => (statements++, database.pool.query(query)) };
  const check = createConsentCheck(counting);
  const [refusing, allowing] = [{ accountId }, { accountId: other.accountId }];
  for (const senders of [
    [refusing, allowing],
    [allowing, refusing],
  ]) {
    statements = 0;
    const asked = senders.map((sender) => check(sender, [draft({ destination: NUMBER })]));
    const refused = (await Promise.all(asked)).map((findFault) => findFault('SMS', NUMBER));
    expect([statements, refused]).toEqual([1, senders.map((sender) => (sender === refusing ? 'opted_out' : null))]);
  }
});

test('the operator opts numbers out and in and lists them, and the audit log records it', async () => {
  const run = commandsOn(database, registerConsentCommands);
  const account = String(accountId);
  expect((await run('consent', 'out', account, '00393331234567')).answer).toEqual({
    accountId,
    phoneNumber: NUMBER,
    changed: ['RCS', 'SMS', 'WHATSAPP'],
  });
  expect((await run('consent', 'in', account, NUMBER, '--channel', 'RCS')).answer).toMatchObject({ changed: ['RCS'] });
  expect((await run('consent', 'list', account)).answer).toMatchObject([
    { phoneNumber: NUMBER, channel: 'SMS', source: 'OPERATOR' },
    { phoneNumber: NUMBER, channel: 'WHATSAPP', source: 'OPERATOR' },
  ]);
  expect((await run('consent', 'out', account, 'nonsense')).code).toBe(1);
  const log = await listAuditEntries(database.pool, {
    accountId,
    action: null,
    subject: `number:${NUMBER}`,
    fromId: null,
    toId: null,
    limit: 10,
    offset: 0,
  });
  expect(log.map((entry) => [entry.actorKind, entry.action])).toEqual([
    ['operator', 'consent.in'],
    ['operator', 'consent.out'],
  ]);
});
