import { expect, test } from 'vitest';
import { listOptOutsOf } from '../../src/messages/consent.ts';
import { insertNumber, listInboundMessages } from '../../src/messages/inbound-store.ts';
import { findConnection } from '../../src/routing/connection-store.ts';
import { connectGraph } from '../support/networks.ts';
import { runOperatorCommand } from '../support/operator.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const MS = '/api/message-server';
const NUMBER = '+393331234567';

const startSandboxed = () =>
  startTestProgram({ carriers: {}, roles: { sandbox: true }, environment: { SANDBOX: 'on' } });

/** Sends a request; returns the id of the accepted message. */
async function send({ client }: TestProgram, path: string, body: object): Promise<string> {
  const answer = await client.request('POST', `${MS}${path}`, { body });
  expect(answer).toMatchObject({ status: 200, body: { messageId: expect.any(String) } });
  return String((answer.body as { messageId: string }).messageId);
}
async function firstOf({ client }: TestProgram, path: string): Promise<Record<string, unknown>> {
  const answer = await client.request('GET', `${MS}${path}`);
  return (answer.body as { data: Record<string, unknown>[] }).data[0] ?? {};
}

test('an account without a contract sends on WhatsApp and RCS through the sandbox, and reads the outcomes', async () => {
  await using program = await startSandboxed();
  const { client } = program;
  const { phoneNumberId } = await firstOf(program, '/whatsapp/phone-numbers');
  const { agentId } = await firstOf(program, '/rcs/agents');
  const named = { name: 'sandbox_welcome', language: 'en' };

  const template = { ...named, variables: ['Ana'] };
  const whatsapp = await send(program, '/whatsapp/send', { phoneNumberId, destination: NUMBER, template });
  const hello = { type: 'TEXT', text: 'Hello' };
  const closed = await send(program, '/whatsapp/send', { phoneNumberId, destination: NUMBER, body: hello });
  const rcs = await send(program, '/rcs/send', { agentId, destination: NUMBER, body: hello });
  const { id: templateId } = await firstOf(program, '/rcs/templates');
  const variables = { firstName: 'Ana' };
  const card = await send(program, '/rcs/send', { agentId, destination: NUMBER, templateId, variables });

  await client.untilAll([whatsapp, rcs, card], 'DELIVERED');
  await client.untilStatus(closed, 'CONVERSATION_CLOSED');
  expect(await client.request('GET', `/api/partner-gateway/v1/whatsapp/messages/${whatsapp}`)).toMatchObject({
    status: 200,
    body: { status: 'DELIVERED' },
  });
});

test('a process without workers accepts the callbacks, and a worker in another one processes them', async () => {
  await using program = await startTestProgram({ carriers: {}, roles: { worker: false } });
  const { graph, number: phoneNumberId } = await connectGraph(program);
  const worker = startWorkerProcess(program);
  const callback = `${program.origin()}/api/callbacks/whatsapp/meta`;
  await until('the handshake', () => graph.verifyCallback(callback, 'verify-me'));
  graph.templates.seed({
    name: 'hello',
    language: 'en',
    category: 'UTILITY',
    components: [{ type: 'BODY', text: 'Hi' }],
  });
  await until('the template', async () => (await runOperatorCommand(program, 'template', 'sync', 'meta')).code === 0);
  const template = { name: 'hello', language: 'en' };
  const read = '+393331230006';
  const id = await send(program, '/whatsapp/send', { phoneNumberId, destination: read, template });
  await program.client.untilStatus(id, 'DELIVERED');
  await until('READ', async () => {
    const { body } = await program.client.request('GET', `/api/partner-gateway/v1/whatsapp/messages/${id}`);
    return (body as { status: string }).status === 'READ';
  });
  expect(await worker.stop()).toBe(0);
  await graph.close();
});

test('inbound messages arrive on every channel and open the window, and STOP takes effect on its channel', async () => {
  await using program = await startSandboxed();
  const { pool, account, client } = program;
  for (const name of ['sandbox', 'sandbox-whatsapp', 'sandbox-rcs']) {
    const connection = await findConnection(pool, { name });
    await insertNumber(pool, { connectionId: connection?.id ?? 0, number: '*', accountId: account.accountId });
  }
  for (const channel of ['sms', 'whatsapp', 'rcs']) {
    const flags = ['--channel', channel, '--from', NUMBER, '--text', channel === 'rcs' ? 'STOP' : `Ciao ${channel}`];
    // The connection is up a moment after the program.
    await until(
      `inbound on ${channel}`,
      async () => (await runOperatorCommand(program, 'sandbox', 'inbound', ...flags)).code === 0,
    );
  }
  const arrived = () => listInboundMessages(pool, { accountId: account.accountId, limit: 10 });
  await until('three messages', async () => (await arrived()).length === 3);
  const texts = new Map((await arrived()).map(({ channel, body, source }) => [channel, { body, source }]));
  expect(texts.get('SMS')).toEqual({ body: 'Ciao sms', source: '393331234567' });
  expect(texts.get('WHATSAPP')).toEqual({ body: 'Ciao whatsapp', source: '393331234567' });
  expect(texts.get('RCS')).toEqual({ body: 'STOP', source: '393331234567' });
  const outs = await listOptOutsOf(pool, { accountId: account.accountId, phoneNumber: NUMBER });
  expect(outs.map(({ channel }) => channel)).toEqual(['RCS']);

  const { phoneNumberId } = await firstOf(program, '/whatsapp/phone-numbers');
  const body = { type: 'TEXT', text: 'Within the window' };
  await client.untilStatus(
    await send(program, '/whatsapp/send', { phoneNumberId, destination: NUMBER, body }),
    'DELIVERED',
  );
});
