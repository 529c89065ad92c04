import { expect, test } from 'vitest';
import { exec, many, sql } from '../../src/core/db/query.ts';
import { connectGraph } from '../support/networks.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { reset } from '../support/reset.ts';
import { listTaken } from '../support/taken.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const text = { type: 'TEXT', text: 'Hello' };
const fallbackSms = { body: 'Hello by SMS' };

/** Runs a worker until the condition holds, and stops it. */
async function workUntil(program: TestProgram, end: 'stop' | 'kill', look: () => Promise<boolean>): Promise<void> {
  const worker = startWorkerProcess(program);
  try {
    await until('what the worker does', look);
  } finally {
    await worker[end]();
  }
}

test('workers killed during fallbacks leave no recipient without the next message, and none with two', async () => {
  await using program = await startTestProgram({ roles: { worker: false } });
  const { graph, number: phoneNumberId } = await connectGraph(program);
  await using closing = new AsyncDisposableStack();
  closing.defer(graph.close);
  const callback = `${program.origin()}/api/callbacks/whatsapp/meta`;
  await until('the handshake', () => graph.verifyCallback(callback, 'verify-me'));
  const destinations = Array.from({ length: 150 }, (_, i) => `+39333001${1000 + i}`);
  const send = async (destination: string): Promise<boolean> => {
    const body = { phoneNumberId, destination, body: text, fallbackSms };
    const answer = await program.client.request('POST', '/api/message-server/whatsapp/send', { body });
    return (answer.body as { messageId: string | null }).messageId !== null;
  };
  for (const destination of destinations) await until('the sender', () => send(destination));

  // They must fail before the next messages are made: a kill would leave those in progress in doubt.
  await exec(program.pool, sql`CREATE TABLE aside AS TABLE message_fallback`);
  await reset(program.pool, sql`TRUNCATE message_fallback`);
  const failed = sql`SELECT FROM message_state WHERE status = 12`;
  await workUntil(program, 'stop', async () => (await many(program.pool, failed)).length === destinations.length);
  await exec(
    program.pool,
    sql`INSERT INTO message_fallback SELECT account_id, message_id, next_channels, now() FROM aside
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
