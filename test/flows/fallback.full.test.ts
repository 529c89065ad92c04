import { expect, test } from 'vitest';
import { many, sql } from '../../src/core/db/query.ts';
import { newId } from '../../src/core/ids.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';

const MS = '/api/message-server';
const text = { type: 'TEXT', text: 'Hello' };
const fallbackSms = { body: 'Hello by SMS' };

const startSandboxed = () =>
  startTestProgram({ carriers: {}, roles: { sandbox: true }, environment: { SANDBOX: 'on' } });

type Sent = { id: string; channel: string; status: string };

/**
 * Sends a request; returns all messages of the account in the order in which they were made, once the last one has
 * ended.
 */
async function chainOf({ client, pool }: TestProgram, path: string, body: object, last: 'DELIVERED'): Promise<Sent[]> {
  const messageId = newId();
  const answer = await client.request('POST', `${MS}${path}`, { body: { ...body, messageId } });
  expect(answer).toMatchObject({ status: 200, body: { messageId: expect.any(String) } });
  await client.untilStatus(messageId, last);
  const rows = await many<{ id: string }>(pool, sql`SELECT id FROM message WHERE client_id = ${messageId} ORDER BY id`);
  const records = await client.statuses(rows.map(({ id }) => id));
  const byId = new Map(records.map((record) => [record.messageId, record]));
  return rows.map(({ id }) => ({
    id,
    channel: byId.get(id)?.channel ?? '',
    status: byId.get(id)?.deliveryStatus ?? '',
  }));
}

async function firstOf({ client }: TestProgram, path: string): Promise<Record<string, unknown>> {
  const answer = await client.request('GET', `${MS}${path}`);
  return (answer.body as { data: Record<string, unknown>[] }).data[0] ?? {};
}

test('single sends fall back through the sandbox networks, from WhatsApp to RCS to SMS, as far as needed', async () => {
  await using program = await startSandboxed();
  const { phoneNumberId } = await firstOf(program, '/whatsapp/phone-numbers');
  const { agentId } = await firstOf(program, '/rcs/agents');
  const fallbackRcs = { agentId, body: text };
  // Outside of 24 hours a free-form message ends as CONVERSATION_CLOSED.
  const closed = { phoneNumberId, body: text, destination: '+393331234567' };

  const rcs = await chainOf(program, '/whatsapp/send', { ...closed, fallbackRcs, fallbackSms }, 'DELIVERED');
  expect(rcs).toMatchObject([
    { channel: 'WHATSAPP', status: 'CONVERSATION_CLOSED' },
    { channel: 'RCS', status: 'DELIVERED' },
  ]);
  const sms = await chainOf(program, '/whatsapp/send', { ...closed, fallbackSms }, 'DELIVERED');
  expect(sms).toMatchObject([{ channel: 'WHATSAPP' }, { channel: 'SMS', status: 'DELIVERED' }]);
  const unsupported = '+393331230007';
  const all = { ...closed, destination: unsupported, fallbackRcs, fallbackSms };
  expect(await chainOf(program, '/whatsapp/send', all, 'DELIVERED')).toMatchObject([
    { channel: 'WHATSAPP' },
    { channel: 'RCS', status: 'UNSUPPORTED' },
    { channel: 'SMS', status: 'DELIVERED' },
  ]);
  const alone = { agentId, destination: unsupported, body: text, fallbackSms };
  expect(await chainOf(program, '/rcs/send', alone, 'DELIVERED')).toMatchObject([
    { channel: 'RCS', status: 'UNSUPPORTED' },
    { channel: 'SMS', status: 'DELIVERED' },
  ]);
  const simulated = { ...alone, simulation: true };
  expect(await chainOf(program, '/rcs/send', simulated, 'DELIVERED')).toMatchObject([
    { channel: 'RCS', status: 'UNSUPPORTED' },
    { channel: 'SMS', status: 'DELIVERED' },
  ]);
});
