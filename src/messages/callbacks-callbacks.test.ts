import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Answer } from '../../test/support/client.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { reset } from '../../test/support/reset.ts';
import { until } from '../../test/support/until.ts';
import { signatureOf as signRcs } from '../channels/rcs/callbacks.ts';
import { signatureOf as signWhatsapp } from '../channels/whatsapp/client.ts';
import { loadConfig } from '../core/config.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { loadSecretKey } from '../core/secrets.ts';
import { createAccount, type NewAccount } from '../operate/account-commands.ts';
import { listSeriousNotices } from '../routing/connection-store.ts';
import { createConnection } from '../routing/connections.ts';
import { assignSender } from '../templates/assignments.ts';
import { insertTemplate } from '../templates/store.ts';
import { listOptOutsOf } from './consent.ts';
import { listInboundMessages } from './inbound-store.ts';
import { deleteReceiptBatches } from './receipt-store.ts';

const WABA = '500';
const NUMBER_ID = '106';
const APP_SECRET = 'the-app-secret';
const CLIENT_TOKEN = 'the-client-token';
const PERSON = '393331234567';

let program: TestProgram;
let account: NewAccount;
let connectionId: number;
beforeAll(async () => {
  // Without a worker: stored rows stay in place.
  program = await startTestProgram({ carriers: {}, roles: { worker: false } });
  const { pool } = program;
  account = await createAccount(pool, { name: 'Owner', plan: 'unlimited' });
  const key = await loadSecretKey(loadConfig(program.environment));
  const shared = { sandbox: false } as const;
  const meta = { accessToken: 'token', appSecret: APP_SECRET, verifyToken: 'hello-meta' };
  const settings = { baseUrl: 'http://127.0.0.1:9', wabaId: WABA, phoneNumberIds: [NUMBER_ID] };
  const whatsapp = await createConnection(pool, key, {
    name: 'meta',
    kind: 'whatsapp',
    settings,
    secret: meta,
    ...shared,
  });
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const google = { clientEmail: 'proof@example.com', privateKey, clientToken: CLIENT_TOKEN };
  const rcs = await createConnection(pool, key, {
    name: 'google',
    kind: 'rcs',
    settings: {},
    secret: google,
    ...shared,
  });
  connectionId = whatsapp.id;
  const named = { ownerId: account.accountId, name: 'Ours' };
  await assignSender(pool, { ...named, channel: 'WHATSAPP', identity: NUMBER_ID, connectionId });
  await assignSender(pool, { ...named, channel: 'RCS', identity: 'shop@rbm.goog', connectionId: rcs.id });
  // Which reads the connections.
  await program.stop();
  await program.start();
});
afterAll(() => program[Symbol.asyncDispose]());
beforeEach(() =>
  reset(
    program.pool,
    sql`TRUNCATE receipt_batch, receipt_unmatched, inbound_message, inbound_seen, consent, consent_change, unclaimed_callback`,
  ),
);

const post = (path: string, text: string, headers: Record<string, string>): Promise<Answer> =>
  program.clientOf('').request('POST', `/api/callbacks/${path}`, { body: text, headers });

type Value = { readonly statuses?: object[]; readonly messages?: object[] };
const whatsappBody = (value: Value, { waba = WABA, number = NUMBER_ID } = {}): string =>
  JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [
      {
        id: waba,
        changes: [
          {
            field: 'messages',
            value: {
              messaging_product: 'whatsapp',
              metadata: { display_phone_number: '1', phone_number_id: number },
              contacts: [{ profile: { name: 'Ana 🙂' }, wa_id: PERSON }],
              ...value,
            },
          },
        ],
      },
    ],
  });
const postWhatsapp = (text: string, signature = signWhatsapp(text, APP_SECRET), name = 'meta'): Promise<Answer> =>
  post(`whatsapp/${name}`, text, { 'x-hub-signature-256': signature });
const shakeHands = (token: string): Promise<Answer> =>
  program
    .clientOf('')
    .request('GET', `/api/callbacks/whatsapp/meta?hub.mode=subscribe&hub.challenge=1158&hub.verify_token=${token}`);
const textOf = (id: string, body: string) => ({
  from: PERSON,
  id,
  type: 'text',
  text: { body },
  timestamp: String(Math.floor(Date.now() / 1000)),
});
const statusOf = (id: string, status: string) => ({ id, status, timestamp: '1750030073', recipient_id: PERSON });

const rcsEvent = (event: object): string =>
  JSON.stringify({
    senderPhoneNumber: `+${PERSON}`,
    agentId: 'shop@rbm.goog',
    sendTime: new Date().toISOString(),
    ...event,
  });
function postRcs(event: string, token = CLIENT_TOKEN): Promise<Answer> {
  const data = Buffer.from(event);
  const envelope = JSON.stringify({ message: { data: data.toString('base64'), messageId: '1' } });
  return post('rcs/google', envelope, { 'x-goog-signature': signRcs(data, token) });
}

const inbounds = () => listInboundMessages(program.pool, { accountId: account.accountId, limit: 100 });

/** Takes the receipts that are committed: they are parked, because they match no message, or in the inbox. */
async function receipts(): Promise<unknown[]> {
  const inbox = await deleteReceiptBatches(program.pool, 1000);
  const parked = await many<{ id: number; receipt: unknown }>(
    program.pool,
    sql`DELETE FROM receipt_unmatched RETURNING id, receipt`,
  );
  return [...inbox.flatMap((batch) => batch.receipts), ...parked.sort((a, b) => a.id - b.id).map((row) => row.receipt)];
}

test('the handshake of Meta gets its challenge, and only with the right token', async () => {
  const { status, body, headers } = await shakeHands('hello-meta');
  expect([status, body]).toEqual([200, '1158']);
  expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect((await shakeHands('hello')).status).toBe(403);
});

test('the handshake of Google gets its secret, and only with our client token', async () => {
  const hello = (clientToken: string) => post('rcs/google', JSON.stringify({ clientToken, secret: '1234567890' }), {});
  expect(await hello(CLIENT_TOKEN)).toMatchObject({ status: 200, body: '1234567890' });
  expect((await hello('another token')).status).toBe(401);
});

test('statuses and messages are committed before they are acknowledged', async () => {
  const statuses = [statusOf('wamid.1', 'sent'), statusOf('wamid.1', 'delivered')];
  expect((await postWhatsapp(whatsappBody({ statuses, messages: [textOf('wamid.in', 'Olá 🙂')] }))).status).toBe(200);
  expect(await receipts()).toMatchObject([
    { carrierIds: ['wamid.1'], state: 'ACCEPTED' },
    { carrierIds: ['wamid.1'], state: 'DELIVERED', sender: NUMBER_ID },
  ]);
  expect(await inbounds()).toMatchObject([
    { channel: 'WHATSAPP', source: PERSON, destination: NUMBER_ID, body: 'Olá 🙂', connection: 'meta' },
  ]);
  const delivered = { eventType: 'DELIVERED', eventId: 'e', messageId: '0190a000-0000-7000-8000-000000000000' };
  expect((await postRcs(rcsEvent(delivered))).status).toBe(200);
  expect(await receipts()).toMatchObject([{ carrierIds: [delivered.messageId], state: 'DELIVERED' }]);
});

test('a callback that cannot be committed is not acknowledged, and the next attempt stores it', async () => {
  const body = whatsappBody({ statuses: [statusOf('wamid.2', 'read')] });
  await exec(program.pool, sql`ALTER TABLE receipt_batch RENAME TO gone`);
  await exec(program.pool, sql`ALTER TABLE receipt_unmatched RENAME TO gone_too`);
  expect((await postWhatsapp(body)).status).toBeGreaterThanOrEqual(500);
  await exec(program.pool, sql`ALTER TABLE gone RENAME TO receipt_batch`);
  await exec(program.pool, sql`ALTER TABLE gone_too RENAME TO receipt_unmatched`);
  expect((await postWhatsapp(body)).status).toBe(200);
  expect(await receipts()).toMatchObject([{ carrierIds: ['wamid.2'], state: 'READ' }]);
});

test('a message that is repeated, alone or within one callback, is stored once', async () => {
  const body = whatsappBody({ messages: [textOf('wamid.twice', 'Hi'), textOf('wamid.twice', 'Hi')] });
  const answers = await Promise.all(Array.from({ length: 5 }, () => postWhatsapp(body)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  await postWhatsapp(whatsappBody({ messages: [textOf('wamid.other', 'Hi')] }));
  const hello = rcsEvent({ messageId: 'mo-1', text: 'Hi' });
  for (let i = 0; i < 3; i++) expect((await postRcs(hello)).status).toBe(200);
  expect((await inbounds()).map(({ channel }) => channel)).toEqual(['RCS', 'WHATSAPP', 'WHATSAPP']);
});

test('a callback from weeks ago is a replay: acknowledged, and nothing of it is stored', async () => {
  const old = String(Math.floor(Date.now() / 1000) - 20 * 24 * 3600);
  const body = whatsappBody({ messages: [{ ...textOf('wamid.old', 'STOP'), timestamp: old }] });
  expect((await postWhatsapp(body)).status).toBe(200);
  expect(await inbounds()).toEqual([]);
  expect(await many(program.pool, sql`SELECT FROM opt_out`)).toEqual([]);
});

test.each([
  ['none', undefined],
  ['of another secret', 'another secret'],
])('a signature %s is 401, and nothing is stored', async (_, secret) => {
  const text = whatsappBody({ statuses: [statusOf('wamid.3', 'delivered')], messages: [textOf('wamid.4', 'x')] });
  const signature = secret === undefined ? '' : signWhatsapp(text, secret);
  expect((await postWhatsapp(text, signature)).status).toBe(401);
  expect((await postRcs(rcsEvent({ messageId: 'mo-2', text: 'x' }), secret ?? '')).status).toBe(401);
  expect([await receipts(), await inbounds()]).toEqual([[], []]);
});

test('a signature is valid for the exact bytes: a changed byte is 401', async () => {
  const text = whatsappBody({ messages: [textOf('wamid.5', 'pay 10')] });
  const answer = await postWhatsapp(text.replace('pay 10', 'pay 99'), signWhatsapp(text, APP_SECRET));
  expect(answer.status).toBe(401);
  expect(await inbounds()).toEqual([]);
});

test('events of a number that no connection has are acknowledged and ignored', async () => {
  const body = whatsappBody({ messages: [textOf('wamid.7', 'x')] }, { number: '107' });
  expect((await postWhatsapp(body)).status).toBe(200);
  expect(await many(program.pool, sql`SELECT FROM inbound_message`)).toEqual([]);
  expect(await many(program.pool, sql`SELECT FROM unclaimed_callback`)).toEqual([]);
});

test('connections of one app get what is about their accounts, whichever of their URLs is called', async () => {
  const secret = { accessToken: 'token', appSecret: APP_SECRET, verifyToken: 'hello-meta' };
  const key = await loadSecretKey(loadConfig(program.environment));
  const add = async (name: string, { waba, number, more = {} }: { waba: string; number: string; more?: object }) => {
    const settings = { baseUrl: 'http://127.0.0.1:9', wabaId: waba, phoneNumberIds: [number] };
    const input = { name, kind: 'whatsapp', settings, secret: { ...secret, ...more }, sandbox: false } as const;
    const { id } = await createConnection(program.pool, key, input);
    const sender = { ownerId: account.accountId, name, channel: 'WHATSAPP', identity: number } as const;
    await assignSender(program.pool, { ...sender, connectionId: id });
  };
  const before = whatsappBody({ messages: [textOf('wamid.early', 'early')] }, { waba: '600', number: '206' });
  const unknownMessage = whatsappBody({ messages: [textOf('wamid.never', 'never')] }, { waba: '700', number: '306' });
  for (const body of [before, unknownMessage]) expect((await postWhatsapp(body)).status).toBe(200);
  expect(await inbounds()).toEqual([]);
  expect(await many(program.pool, sql`SELECT owner, sender FROM unclaimed_callback ORDER BY id`)).toEqual([
    { owner: '600', sender: '206' },
    { owner: '700', sender: '306' },
  ]);
  await add('other', { waba: '600', number: '206' });
  // The same account with another app secret: another app, whose callbacks these are not.
  await add('elsewhere', { waba: '700', number: '306', more: { appSecret: 'another-app' } });
  const kept = () => many<{ owner: string }>(program.pool, sql`SELECT owner FROM unclaimed_callback`);
  // It is deleted after it was stored.
  await until('the end of the kept message', async () => (await kept()).length === 1);
  expect(await inbounds()).toMatchObject([{ connection: 'other', body: 'early', destination: '206' }]);
  expect(await kept()).toEqual([{ owner: '700' }]);
  const after = whatsappBody(
    { messages: [textOf('wamid.late', 'late')], statuses: [statusOf('wamid.l', 'read')] },
    { waba: '600', number: '206' },
  );
  // The callbacks of this process know the connection by now: it has stored what was kept.
  expect((await postWhatsapp(after)).status).toBe(200);
  expect(await inbounds()).toMatchObject([{ connection: 'other', body: 'late' }, { body: 'early' }]);
  expect(await receipts()).toMatchObject([{ carrierIds: ['wamid.l'], sender: '206' }]);
});

test('an unknown connection, or one of another kind, is 404', async () => {
  const text = whatsappBody({});
  const paths = ['whatsapp/nobody', 'whatsapp/google', 'rcs/meta', 'rcs/nobody'];
  const answers = await Promise.all(paths.map((path) => post(path, text, { 'x-hub-signature-256': 'sha256=00' })));
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
});

test('an endless body is 413, and one that is not a callback is 400', async () => {
  const huge = JSON.stringify({ object: 'x'.repeat(5 * 1024 * 1024) });
  expect((await postWhatsapp(huge)).status).toBe(413);
  expect((await postWhatsapp('{"object":"page"}')).status).toBe(400);
  expect((await postWhatsapp('no JSON')).status).toBe(400);
});

test('a callback that a template is paused pauses it', async () => {
  const { pool } = program;
  const template = { channel: 'WHATSAPP', id: '900', ownerId: account.accountId, connectionId, name: 'offer' } as const;
  const rest = { language: 'en', category: 'MARKETING', headerLink: null, named: false, variables: [] } as const;
  await insertTemplate(pool, { ...template, ...rest, status: 'APPROVED', content: [] });
  const value = {
    event: 'PAUSED',
    message_template_id: 900,
    message_template_name: 'offer',
    message_template_language: 'en',
    reason: 'NONE',
    other_info: { title: 'FIRST_PAUSE', description: 'Paused for three hours' },
  };
  const changes = [{ field: 'message_template_status_update', value }];
  const body = JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: WABA, changes }] });
  expect((await postWhatsapp(body)).status).toBe(200);
  const rows = await many<{ status: string; reason: string }>(pool, sql`SELECT status, reason FROM template`);
  expect(rows).toMatchObject([{ status: 'PAUSED', reason: expect.stringContaining('FIRST_PAUSE') }]);
});

test('what a network reports about an account or an agent is kept, the newest of each matter', async () => {
  const { pool } = program;
  const change = (event: string) => ({
    field: 'phone_number_quality_update',
    value: { display_phone_number: '15550783881', event, current_limit: 'TIER_1K' },
  });
  const report = (...changes: object[]) =>
    postWhatsapp(JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: WABA, changes }] }));
  expect(
    (await report(change('FLAGGED'), { field: 'account_update', value: { event: 'ACCOUNT_VIOLATION' } })).status,
  ).toBe(200);
  const launch = { eventId: 'l', newLaunchState: 'SUSPENDED', regionId: 'IT', comment: 'spam' };
  expect((await postRcs(rcsEvent(launch))).status).toBe(200);
  const serious = async () =>
    (await listSeriousNotices(pool)).map(({ connection, text }) => `${connection} ${text}`).sort();
  expect(await serious()).toEqual([
    'google The agent shop@rbm.goog is SUSPENDED in IT: spam',
    'meta account_update: {"event":"ACCOUNT_VIOLATION"}',
    'meta phone_number_quality_update: {"display_phone_number":"15550783881","event":"FLAGGED","current_limit":"TIER_1K"}',
  ]);
  await report(change('FLAGGED'), change('UNFLAGGED'));
  expect(await serious()).toHaveLength(2);
  const rows = await many(pool, sql`SELECT subject, serious FROM connection_notice ORDER BY subject`);
  expect(rows.at(-1)).toEqual({ subject: 'phone_number_quality_update 15550783881', serious: false });
});

test('unsubscribing from an agent opts out of RCS, and a repeated callback does not undo a later one', async () => {
  const outs = async () =>
    (await listOptOutsOf(program.pool, { accountId: account.accountId, phoneNumber: `+${PERSON}` })).map(
      (o) => o.channel,
    );
  const stop = rcsEvent({ eventType: 'UNSUBSCRIBE', eventId: 'u' });
  expect((await postRcs(stop)).status).toBe(200);
  expect(await outs()).toEqual(['RCS']);
  expect((await postRcs(rcsEvent({ eventType: 'SUBSCRIBE', eventId: 's' }))).status).toBe(200);
  expect(await outs()).toEqual([]);
  expect((await postRcs(stop)).status).toBe(200);
  expect(await outs()).toEqual([]);
});

test('a person who stops marketing in WhatsApp is recorded at the account, and a repeated callback does not undo a later choice', async () => {
  const { pool } = program;
  const preference = (value: string, timestamp: number) =>
    JSON.stringify({
      object: 'whatsapp_business_account',
      entry: [
        {
          id: WABA,
          changes: [
            {
              field: 'user_preferences',
              value: {
                messaging_product: 'whatsapp',
                metadata: { display_phone_number: '1', phone_number_id: NUMBER_ID },
                contacts: [{ profile: { name: 'Ana' }, wa_id: PERSON }],
                user_preferences: [
                  { wa_id: PERSON, detail: 'User requested it', category: 'marketing_messages', value, timestamp },
                ],
              },
            },
          ],
        },
      ],
    });
  const stops = async () =>
    (await listOptOutsOf(pool, { accountId: account.accountId, phoneNumber: `+${PERSON}` })).map((row) => row.purpose);
  const now = Math.floor(Date.now() / 1000);
  await postWhatsapp(preference('stop', now - 2));
  expect(await stops()).toEqual(['marketing']);
  await postWhatsapp(preference('resume', now - 1));
  expect(await stops()).toEqual([]);
  expect((await postWhatsapp(preference('stop', now - 2))).status).toBe(200);
  expect(await stops()).toEqual([]);
});
