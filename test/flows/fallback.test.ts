import { expect, test } from 'vitest';
import { exec, many, sql } from '../../src/platform/db/query.ts';
import { newId } from '../../src/platform/lib/ids.ts';
import { connectGraph } from '../support/networks.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { listTaken } from '../support/taken.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

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

test('single sends fall back through the sandbox networks, from WhatsApp to RCS to SMS, as far as needed', {
  timeout: 60_000,
}, async () => {
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

/** Runs a worker until the condition holds, and stops it. */
async function workUntil(program: TestProgram, end: 'stop' | 'kill', look: () => Promise<boolean>): Promise<void> {
  const worker = startWorkerProcess(program);
  try {
    await until('what the worker does', look);
  } finally {
    await worker[end]();
  }
}

test('workers killed during fallbacks leave nobody without the next message, and nobody with two', {
  timeout: 60_000,
}, async () => {
  await using program = await startTestProgram({ roles: { worker: false } });
  const { graph, number: phoneNumberId } = await connectGraph(program);
  await using closing = new AsyncDisposableStack();
  closing.defer(graph.close);
  const callback = `${program.origin()}/api/callbacks/whatsapp/meta`;
  await until('the handshake', () => graph.verifyCallback(callback, 'verify-me'));
  const destinations = Array.from({ length: 150 }, (_, i) => `+39333001${1000 + i}`);
  const send = async (destination: string): Promise<boolean> => {
    const body = { phoneNumberId, destination, body: text, fallbackSms };
    const answer = await program.client.request('POST', `${MS}/whatsapp/send`, { body });
    return (answer.body as { messageId: string | null }).messageId !== null;
  };
  for (const destination of destinations) await until('the sender', () => send(destination));

  // They must fail before the next messages are made: a kill would leave those in progress in doubt.
  await exec(program.pool, sql`CREATE TABLE aside AS TABLE message_fallback`);
  await exec(program.pool, sql`TRUNCATE message_fallback`);
  const failed = sql`SELECT FROM message_state WHERE status = 12`;
  await workUntil(program, 'stop', async () => (await many(program.pool, failed)).length === destinations.length);
  await exec(
    program.pool,
    sql`INSERT INTO message_fallback SELECT account_id, message_id, hops, now() FROM aside
        ON CONFLICT (account_id, message_id) DO UPDATE SET due_at = now()`,
  );

  const made = async (): Promise<string[]> =>
    (await many<{ to: string }>(program.pool, sql`SELECT destination AS to FROM message WHERE channel = 'SMS'`)).map(
      ({ to }) => to,
    );
  for (const count of [1, 50, 100]) {
    await workUntil(program, 'kill', async () => (await made()).length >= count);
    // A dead worker's leases would last for two minutes.
    await exec(program.pool, sql`UPDATE message_fallback SET due_at = now()`);
  }
  const open = sql`SELECT FROM message_fallback UNION ALL SELECT FROM dispatch_chunk`;
  await workUntil(program, 'stop', async () => (await many(program.pool, open)).length === 0);
  expect((await made()).toSorted()).toEqual(destinations);
  const taken = listTaken(program.smsc).map(({ destination }) => destination);
  expect(new Set(taken).size).toBe(taken.length);
});
