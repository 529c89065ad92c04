import { expect, test } from 'vitest';
import { many, sql } from '../../src/db/query.ts';
import { connectGraph } from '../../src/testing/networks.ts';
import { startTestProgram, type TestProgram } from '../../src/testing/program.ts';
import { messagesTaken } from '../../src/testing/taken.ts';
import { until } from '../../src/testing/until.ts';
import { startWorkerProcess } from '../../src/testing/worker-process.ts';

const MS = '/api/message-server';
const text = { type: 'TEXT', text: 'Hello' };
const fallbackSms = { body: 'Hello by SMS' };

const startSandboxed = () =>
  startTestProgram({ carriers: {}, roles: { sandbox: true }, environment: { SANDBOX: 'on' } });

type Sent = { id: string; channel: string; status: string };

/** Posts, and answers the messages of the account in the order in which they were made, when the last one has its end. */
async function chainOf({ client, pool }: TestProgram, path: string, body: object, last: string): Promise<Sent[]> {
  const messageId = `chain-${body.constructor.name}-${Math.random()}`;
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

test('single sends go on over the sandbox networks, from WhatsApp to RCS to SMS, as far as they must', {
  timeout: 60_000,
}, async () => {
  await using program = await startSandboxed();
  const { phoneNumberId } = await firstOf(program, '/whatsapp/phone-numbers');
  const { agentId } = await firstOf(program, '/rcs/agents');
  const fallbackRcs = { agentId, body: text };
  // Outside of 24 hours a free-form message ends CONVERSATION_CLOSED.
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

test('workers killed while chains go on leave nobody without the next message, and nobody with two', {
  timeout: 60_000,
}, async () => {
  await using program = await startTestProgram({ roles: { worker: false } });
  const { graph, number: phoneNumberId } = await connectGraph(program);
  const destinations = Array.from({ length: 60 }, (_, i) => `+39333000${String(i).padStart(4, '0')}`);
  const bodies = destinations.map((destination) => ({ phoneNumberId, destination, body: text, fallbackSms }));
  const accepted = async (body: object): Promise<boolean> => {
    const answer = await program.client.request('POST', `${MS}/whatsapp/send`, { body });
    return (answer.body as { messageId: string | null }).messageId !== null;
  };
  const [first = {}, ...others] = bodies;
  await until('the sender', () => accepted(first));
  for (const body of others) expect(await accepted(body)).toBe(true);

  const countSms = async (): Promise<number> =>
    (await many(program.pool, sql`SELECT FROM message WHERE channel = 'SMS'`)).length;
  for (const count of [1, 20, 40]) {
    const worker = startWorkerProcess(program);
    await until(`${count} next messages`, async () => (await countSms()) >= count);
    await worker.kill();
    // Their leases would last for two minutes.
    await program.pool.query("UPDATE message_fallback SET due_at = now() WHERE due_at < now() + interval '5 minutes'");
  }
  const last = startWorkerProcess(program);
  await until('all to be made', async () => (await countSms()) >= destinations.length);
  await until('all to be taken', () => messagesTaken(program.smsc).length >= destinations.length);
  expect(await last.stop()).toBe(0);
  const taken = messagesTaken(program.smsc).map(({ destination }) => `+${destination}`);
  expect(taken.toSorted()).toEqual(destinations);
  await graph.close();
});
