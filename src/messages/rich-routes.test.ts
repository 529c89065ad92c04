import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer, Client } from '../../test/support/client.ts';
import { connectGraph, connectRbm } from '../../test/support/networks.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { getMember } from '../channels/settings.ts';
import { many, sql, timeOf } from '../core/db/query.ts';
import { createAccount } from '../operate/account-commands.ts';
import { notifyRoutingChange } from '../routing/connection-store.ts';
import { insertTemplate } from '../templates/store.ts';

const WHATSAPP = '/api/message-server/whatsapp/send';
const RCS = '/api/message-server/rcs/send';
const destination = '+393331234567';

let program: TestProgram;
let otherClient: Client;
let phoneNumberId: string;
const opened = new AsyncDisposableStack();
beforeAll(async () => {
  // Without a worker: what is accepted waits.
  program = opened.use(await startTestProgram({ carriers: {}, roles: { worker: false } }));
  const { pool, account } = program;
  otherClient = program.clientOf((await createAccount(pool, { name: 'Neighbour', plan: 'unlimited' })).apiKey);
  const { graph, connectionId, number } = await connectGraph(program);
  opened.defer(graph.close);
  opened.defer((await connectRbm(program)).rbm.close);
  phoneNumberId = number;
  const shared = { ownerId: account.accountId, category: '', status: 'APPROVED', headerLink: null } as const;
  const whatsapp = { ...shared, channel: 'WHATSAPP', connectionId, language: 'en', named: false } as const;
  const content = [{ type: 'BODY', text: 'Hello {{1}}' }];
  await insertTemplate(pool, { ...whatsapp, id: '900', name: 'hello', content, variables: [] });
  await insertTemplate(pool, { ...whatsapp, id: '901', name: 'paused', content, variables: [], status: 'PAUSED' });
  const rcs = { ...shared, channel: 'RCS', connectionId: null, language: '', named: true } as const;
  await insertTemplate(pool, { ...rcs, id: 'r1', name: 'card', content: { text: 'Hi {{name}}' }, variables: ['name'] });
  await notifyRoutingChange(pool);
  const body = { type: 'TEXT', text: 'Hello' };
  await until('the senders', async () => {
    const answers = [await send(WHATSAPP, { phoneNumberId, destination, body, simulation: true })];
    answers.push(await send(RCS, { agentId: 'acme', destination, body, simulation: true }));
    return answers.every((answer) => idOf(answer) !== null);
  });
});
afterAll(() => opened.disposeAsync());

const send = (path: string, body: object, headers = {}, client = program.client): Promise<Answer> =>
  client.request('POST', path, { body, headers });
const idOf = ({ body }: Answer): string | null => (body as { messageId: string | null }).messageId;
const fieldsOf = ({ body }: Answer): string[] =>
  (body as { details?: { field: string }[] }).details?.map(({ field }) => field) ?? [];
const storedOf = async (answer: Answer) => {
  const columns = sql`channel, sender, body, content, valid_until AS "validUntil", scheduled_at AS "scheduledAt"`;
  const [row] = await many(program.pool, sql`SELECT ${columns} FROM message WHERE id = ${idOf(answer)}`);
  return row;
};
const toWhatsapp = (more: object) => send(WHATSAPP, { phoneNumberId, destination, ...more });
const toRcs = (more: object) => send(RCS, { agentId: 'acme', destination, ...more });

test('a WhatsApp template is filled, and people read its text', async () => {
  const answer = await toWhatsapp({ template: { name: 'hello', language: 'en', variables: ['Ana'] } });
  expect(answer).toMatchObject({
    status: 200,
    body: { simulation: false, results: { whatsapp: { accepted: true, reasons: [] } } },
  });
  expect(await storedOf(answer)).toMatchObject({
    channel: 'WHATSAPP',
    sender: phoneNumberId,
    body: 'Hello Ana',
    content: { message: { type: 'template', template: { name: 'hello', components: [{ type: 'body' }] } } },
  });
});

test.each([
  [
    { type: 'TEXT', text: 'Hi', replyTo: 'wamid.1' },
    { text: { body: 'Hi' }, context: { message_id: 'wamid.1' } },
    'Hi',
  ],
  [{ type: 'IMAGE', link: 'https://x.example/a.jpg', caption: 'A' }, { image: { caption: 'A' } }, 'A'],
  [{ type: 'DOCUMENT', mediaId: '5', fileName: 'a.pdf' }, { document: { id: '5', filename: 'a.pdf' } }, ''],
  [{ type: 'LOCATION', latitude: 1, longitude: 2, name: 'X' }, { location: { latitude: 1, name: 'X' } }, ''],
  [{ type: 'REACTION', messageId: 'wamid.1', emoji: '👍' }, { reaction: { message_id: 'wamid.1' } }, '👍'],
  [{ type: 'CONTACTS', contacts: [{ name: { formatted_name: 'A' } }] }, { contacts: [{}] }, ''],
  [{ type: 'INTERACTIVE', interactive: { type: 'button' } }, { interactive: { type: 'button' } }, ''],
])('the free-form body %j goes as the network writes it', async (body, message, text) => {
  expect(await storedOf(await toWhatsapp({ body }))).toMatchObject({ body: text, content: { message } });
});

test.each([
  [{ type: 'TEXT', text: 'Hi', suggestions: [{ reply: { text: 'OK', postbackData: 'ok' } }] }, { text: 'Hi' }, 'Hi'],
  [{ type: 'CARD', card: { title: 'T', media: { url: 'https://x.example/a.jpg' } } }, { richCard: {} }, 'T'],
  [{ type: 'CAROUSEL', cards: [{ title: 'A' }, { title: 'B' }] }, { richCard: { carouselCard: {} } }, 'A\nB'],
  [{ type: 'FILE', url: 'https://x.example/a.pdf' }, { contentInfo: { fileUrl: 'https://x.example/a.pdf' } }, ''],
])('the RCS body %j goes as the network writes it', async (body, message, text) => {
  expect(await storedOf(await toRcs({ body }))).toMatchObject({ channel: 'RCS', body: text, content: { message } });
});

test('an RCS template takes its values by name', async () => {
  const answer = await toRcs({ templateId: 'r1', variables: { name: 'Ana' }, messageId: 'mine' });
  expect(await storedOf(answer)).toMatchObject({
    sender: 'acme',
    body: 'Hi Ana',
    content: { message: { text: 'Hi Ana' } },
  });
});

test('an RCS message has its own traffic type, else that of its template', async () => {
  const sale = { channel: 'RCS', connectionId: null, language: '', named: true, ownerId: null, category: '' } as const;
  const stored = { status: 'APPROVED', headerLink: null, content: { text: 'Sale' }, variables: [] } as const;
  await insertTemplate(program.pool, { ...sale, ...stored, id: 'r2', name: 'sale', trafficType: 'PROMOTION' });
  const typeOf = async (more: object): Promise<unknown> => getMember(await storedOf(await toRcs(more)), 'content');
  expect(await typeOf({ templateId: 'r2' })).toMatchObject({ trafficType: 'PROMOTION' });
  const own = { trafficType: 'SERVICEREQUEST' };
  expect(await typeOf({ templateId: 'r2', ...own })).toMatchObject(own);
  expect(await typeOf({ body: text, ...own })).toMatchObject(own);
  expect(await typeOf({ body: text })).not.toHaveProperty('trafficType');
  const wrong = await toRcs({ body: text, trafficType: 'SPAM' });
  expect([wrong.status, fieldsOf(wrong)]).toEqual([400, ['trafficType']]);
});

test('a client id that is used again sends nothing with the same content and is 409 with other content', async () => {
  const template = { id: '900', variables: ['Ana'] };
  const first = await toWhatsapp({ template, messageId: 'once' });
  expect(idOf(await toWhatsapp({ template, messageId: 'once' }))).toBe(idOf(first));
  expect((await toWhatsapp({ template: { ...template, variables: ['Bo'] }, messageId: 'once' })).status).toBe(409);
  const both = await toWhatsapp({ template, customerMessageId: 'once', messageId: 'twice' });
  expect([both.status, fieldsOf(both)]).toEqual([400, ['messageId']]);
});

test.each([
  [
    'WhatsApp',
    (more: object) => toWhatsapp({ template: { name: 'hello', language: 'en', variables: ['Ana'] }, ...more }),
  ],
  ['RCS', (more: object) => toRcs({ templateId: 'r1', variables: { name: 'Ana' }, ...more })],
])('a message on %s has the client id in its response, its status and in repeats', async (name, sendWith) => {
  const customerMessageId = `reference-${name}`;
  const first = await sendWith({ customerMessageId });
  expect(first).toMatchObject({ status: 200, body: { customerMessageId } });
  expect(await sendWith({ messageId: customerMessageId })).toMatchObject({ body: first.body });
  expect(await program.client.status(customerMessageId)).toMatchObject({ messageId: idOf(first), customerMessageId });
});

test('one Idempotency-Key sends one message, and its response is repeated', async () => {
  const headers = { 'idempotency-key': 'rich' };
  const body = { phoneNumberId, destination, template: { id: '900', variables: ['Ana'] } };
  const [first, second] = [await send(WHATSAPP, body, headers), await send(WHATSAPP, body, headers)];
  expect(second.body).toEqual(first.body);
  expect(second.headers.get('idempotency-replayed')).toBe('true');
});

test('validity and schedule are stored', async () => {
  const scheduledDate = new Date(Date.now() + 3_600_000).toISOString();
  const body = { type: 'TEXT', text: 'Later' };
  expect(await storedOf(await toWhatsapp({ body, scheduledDate, validityPeriod: 10 }))).toMatchObject({
    scheduledAt: new Date(scheduledDate),
    validUntil: new Date(Date.parse(scheduledDate) + 600_000),
  });
});

const text = { type: 'TEXT', text: 'Hi' };
const sms = { body: 'Hi by SMS' };
test.each([
  [{}, ['template', 'body']],
  [{ body: text, template: { id: '900' } }, ['template', 'body']],
  [{ template: {} }, ['template.id']],
  [{ template: { id: 'none' } }, ['template']],
  [{ template: { name: 'hello', language: 'pt' } }, ['template']],
  [{ template: { id: '901', variables: ['Ana'] } }, ['template']],
  [{ template: { id: '900' } }, ['template.variables']],
  [{ template: { id: '900', variables: { '1': '' } } }, ['template.variables.1']],
  [{ template: { id: '900', components: [{ type: 'body' }] } }, ['template.components[0].parameters']],
  [
    {
      template: {
        id: '900',
        variables: ['Ana'],
        components: [{ type: 'body', parameters: [{ type: 'text', text: 'x' }] }],
      },
    },
    ['template.variables'],
  ],
  [{ phoneNumberId: '1', template: { id: '900' } }, ['phoneNumberId']],
  [{ body: { type: 'IMAGE' } }, ['body.link']],
  [{ body: { type: 'AUDIO', mediaId: '1', caption: 'no' } }, ['body.caption']],
  [{ body: text, scheduledDate: '2020-01-01T00:00:00Z' }, ['scheduledDate']],
  [{ body: text, fallbackSms: {} }, ['fallbackSms.body']],
  [{ body: text, fallbackSms: { sender: 'Much too long', body: 'x' } }, ['fallbackSms.sender']],
  [{ body: text, fallbackSms: { body: 'ç'.repeat(1000) } }, ['fallbackSms.body']],
  [{ body: text, fallbackRcs: { agentId: 'acme' } }, ['fallbackSms', 'fallbackRcs.templateId', 'fallbackRcs.body']],
  [{ body: text, fallbackRcs: { agentId: 'acme', body: text } }, ['fallbackSms']],
  [{ body: text, fallbackRcs: { agentId: 'none', body: text }, fallbackSms: sms }, ['fallbackRcs.agentId']],
  [{ body: text, fallbackRcs: { agentId: 'acme', templateId: 'none' }, fallbackSms: sms }, ['fallbackRcs.templateId']],
  [{ body: text, fallbackRcs: { agentId: 'acme', templateId: 'r1' }, fallbackSms: sms }, ['fallbackRcs.variables']],
  [{ body: text, fallbackSms: sms, fallback: { after: { WHATSAPP: 29 } } }, ['fallback.after.WHATSAPP']],
  [{ body: text, fallbackSms: sms, fallback: { onStatus: ['DELETED'] } }, ['fallback.onStatus[0]']],
])('the WhatsApp send %j is 400, naming what is wrong', async (more, fields) => {
  const answer = await toWhatsapp(more);
  expect([answer.status, fieldsOf(answer)]).toEqual([400, fields]);
});

const USER_ID = 'US.13491208655302741918';

test('a person who shows no number is reached by their user id, and the status shows it', async () => {
  const answer = await toWhatsapp({ destination: USER_ID, body: text, customerMessageId: 'by-user-id' });
  expect(answer).toMatchObject({ status: 200, body: { results: { whatsapp: { accepted: true } } } });
  const [row] = await many(program.pool, sql`SELECT destination FROM message WHERE id = ${idOf(answer)}`);
  expect(row).toEqual({ destination: USER_ID });
  expect(await program.client.status('by-user-id')).toMatchObject({ destination: USER_ID });
});

test.each([
  ['a user id on RCS', () => toRcs({ destination: USER_ID, body: text }), ['destination']],
  ['a wrong user id', () => toWhatsapp({ destination: 'us.1349', body: text }), ['destination']],
  [
    'a user id with fallbacks',
    () =>
      toWhatsapp({
        destination: USER_ID,
        body: text,
        fallbackRcs: { agentId: 'acme', body: text },
        fallbackSms: sms,
      }),
    ['fallbackRcs', 'fallbackSms'],
  ],
])('%s is 400, naming the field', async (_, sending, fields) => {
  const answer = await sending();
  expect([answer.status, fieldsOf(answer)]).toEqual([400, fields]);
});

test.each([
  [{}, ['templateId', 'body']],
  [{ templateId: 'none' }, ['templateId']],
  [{ templateId: '900' }, ['templateId']],
  [{ templateId: 'r1', variables: ['a', 'b'] }, ['variables']],
  [{ body: { type: 'CAROUSEL', cards: [{ title: 'A' }, {}] } }, ['body.cards[1]']],
  [{ body: text, fallbackSms: {} }, ['fallbackSms.body']],
])('the RCS send %j is 400, naming what is wrong', async (more, fields) => {
  const answer = await toRcs(more);
  expect([answer.status, fieldsOf(answer)]).toEqual([400, fields]);
});

test('an account can use neither the sender nor the template of another account', async () => {
  const theirs = await send(RCS, { agentId: 'acme', destination, body: text }, {}, otherClient);
  const nobodys = await send(RCS, { agentId: 'none', destination, body: text }, {}, otherClient);
  expect(theirs.body).toEqual(nobodys.body);
  expect(theirs.body).toMatchObject({ messageId: null, results: { rcs: { accepted: false } } });
  const filled = await send(RCS, { agentId: 'acme', destination, templateId: 'r1' }, {}, otherClient);
  expect([filled.status, fieldsOf(filled)]).toEqual([400, ['templateId']]);
  const whatsapp = await send(WHATSAPP, { phoneNumberId, destination, template: { id: '900' } }, {}, otherClient);
  expect([whatsapp.status, fieldsOf(whatsapp)]).toEqual([400, ['phoneNumberId']]);
});

const fallbackOf = async (answer: Answer) => {
  const [row] = await many<{ channels: unknown; seconds: number }>(
    program.pool,
    sql`SELECT next_channels AS channels, round(extract(epoch FROM due_at - ${timeOf(sql`message_id`)}))::int AS seconds
        FROM message_fallback WHERE message_id = ${idOf(answer)}`,
  );
  return row;
};

test('fallbacks are stored as they were checked, with the time that each channel has', async () => {
  const fallbackRcs = { agentId: 'acme@rbm.goog', templateId: 'r1', variables: { name: 'Ana' } };
  const chain = { body: text, fallbackRcs, fallbackSms: { sender: 'ACME', ...sms } };
  const fallback = { after: { WHATSAPP: 600 }, onStatus: ['UNSUPPORTED'] };
  expect(await fallbackOf(await toWhatsapp({ ...chain, fallback }))).toMatchObject({
    channels: [
      { channel: 'RCS', sender: 'acme', body: 'Hi Ana', content: { message: { text: 'Hi Ana' } }, afterSeconds: 600 },
      { channel: 'SMS', sender: 'ACME', body: sms.body, content: null, afterSeconds: 300, onStatus: ['UNSUPPORTED'] },
    ],
    seconds: 600,
  });
  expect(await fallbackOf(await toRcs({ body: text, fallbackSms: sms }))).toMatchObject({ seconds: 300 });
  expect(await fallbackOf(await toRcs({ body: text }))).toBeUndefined();
});

test('fallbackRcs is ignored in an RCS send, like every unknown field', async () => {
  const answer = await toRcs({ body: text, fallbackRcs: { agentId: 1 }, fallbackSms: sms });
  expect(await fallbackOf(answer)).toMatchObject({ channels: [{ channel: 'SMS' }] });
});

test('with another fallback the same client id is a conflict', async () => {
  await toRcs({ body: text, fallbackSms: sms, messageId: 'chained' });
  expect((await toRcs({ body: text, fallbackSms: sms, messageId: 'chained' })).status).toBe(200);
  expect((await toRcs({ body: text, fallbackSms: { body: 'other' }, messageId: 'chained' })).status).toBe(409);
});

test('a key needs the scopes of all channels of a chain', async () => {
  const keys = '/api/partner-gateway/v1/authentication';
  const made = await program.client.request('POST', keys, { body: { operations: ['WHATSAPP', 'RCS'] } });
  const client = program.clientOf((made.body as { apiKey: string }).apiKey);
  const body = { phoneNumberId, destination, body: text };
  expect((await send(WHATSAPP, body, {}, client)).status).toBe(200);
  expect((await send(WHATSAPP, { ...body, fallbackSms: sms }, {}, client)).status).toBe(403);
  expect((await send(RCS, { agentId: 'acme', destination, body: text, fallbackSms: sms }, {}, client)).status).toBe(
    403,
  );
});
