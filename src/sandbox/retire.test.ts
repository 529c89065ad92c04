import { randomBytes } from 'node:crypto';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { createAccountWithCredit, readBooks } from '../../test/support/money.ts';
import { newMessage, queueMessages, resultOf, statesOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { registerServeCommands } from '../commands.ts';
import { many, sql } from '../core/db/query.ts';
import { newId } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import { createSecretKey } from '../core/secrets.ts';
import { claimChunks, updateIntents } from '../dispatch/store.ts';
import { insertMessages } from '../messages/new-messages.ts';
import { countUnmatched } from '../messages/receipt-store.ts';
import { settleOutcomes } from '../messages/settle.ts';
import { checkSandbox } from '../operate/doctor-checks.ts';
import { registerOperations } from '../operations.ts';
import { createProbes } from '../probes.ts';
import { registerConnectionCommands } from '../routing/connection-commands.ts';
import { findConnection, insertConnection, listConnectionStatus } from '../routing/connection-store.ts';
import { listRoutes } from '../routing/routes.ts';
import { startSmsc } from './sandbox.ts';
import { isSandboxWanted, moveFromRetired } from './sandbox-store.ts';

const database = testDatabase();
const { pool } = database;
const run = commandsOn(database, registerServeCommands, registerConnectionCommands, registerOperations);
const key = createSecretKey(randomBytes(32));

beforeEach(() =>
  reset(
    pool,
    sql`TRUNCATE connection, route, message, message_state, message_event, dispatch_chunk, receipt_unmatched, audit_entry RESTART IDENTITY CASCADE`,
  ),
);

/** Starts the sandbox, and adds a real carrier when asked to. Returns the id of the sandbox's connection. */
async function start({ real = true } = {}): Promise<number> {
  await moveFromRetired(pool);
  const smsc = await startSmsc(pool, key);
  onTestFinished(() => smsc.close());
  if (real) await insertConnection(pool, { name: 'carrier', kind: 'smpp', sandbox: false, settings: {} });
  return (await findConnection(pool, { name: 'sandbox' }))?.id ?? 0;
}

const shown = async (): Promise<string[]> => (await listConnectionStatus(pool)).map(({ name }) => name);
const readiness = () =>
  createProbes(pool)
    .find(({ name }) => name === 'carriers')
    ?.check();

test('a retired sandbox is in no route, readiness, list or finding, and one command brings it back', async () => {
  await start();
  expect(await checkSandbox({ sandbox: 'auto' }, pool)).toMatchObject([{ ok: true, name: 'sandbox' }]);
  const { code, answer } = await run('sandbox', 'retire');
  expect({ code, answer }).toEqual({ code: 0, answer: { retired: true, withdrawn: 0, givenUp: 0 } });
  expect(await shown()).toEqual(['carrier']);
  expect(await readiness()).toMatchObject({ detail: 'down: carrier' });
  expect(await listRoutes(pool)).toEqual([]);
  expect(await checkSandbox({ sandbox: 'auto' }, pool)).toEqual([]);
  expect(await isSandboxWanted({ sandbox: 'auto' }, pool)).toBe(false);
  const resumed = await run('connection', 'resume', 'sandbox');
  expect(resumed).toMatchObject({ code: 1, stderr: expect.stringContaining('sandbox restore') });

  expect(await run('sandbox', 'restore')).toMatchObject({ code: 0, answer: { connections: ['sandbox'] } });
  expect(await isSandboxWanted({ sandbox: 'auto' }, pool)).toBe(true);
  const later = 'starts with the next start of the command serve';
  expect(await readiness()).toMatchObject({ detail: `down: carrier; sandbox ${later}` });
  const found = await run('connection', 'resume', 'sandbox');
  expect(found).toMatchObject({ code: 1, stderr: expect.stringContaining(later) });
  await start({ real: false });
  expect(await readiness()).toMatchObject({ detail: 'down: sandbox, carrier' });
  expect(await shown()).toEqual(['sandbox', 'carrier']);
  expect(await listRoutes(pool)).toMatchObject([{ connection: 'sandbox' }]);
  const audit = await many(pool, sql`SELECT subject, detail FROM audit_entry ORDER BY id`);
  expect(audit).toEqual([
    { subject: 'connection:sandbox', detail: { sandbox: 'retired' } },
    { subject: 'connection:sandbox', detail: { sandbox: 'kept' } },
  ]);
});

test('open messages are named, and end only when asked to: their frozen credit returns, none is sent on', async () => {
  const connectionId = await start();
  const accountId = await createAccountWithCredit(pool, 1000);
  const waiting = await queueMessages(pool, { accountId, connectionId, count: 3, size: 2, priceMicros: 10 });
  const sent = newId();
  await insertMessages(pool, [newMessage({ id: sent, accountId, connectionId })]);
  const outcome = { kind: 'accepted', carrierIds: ['A1'] } as const;
  await settleOutcomes(pool, [resultOf(sent, outcome, { accountId, connectionId })], false);
  const [other = ''] = await queueMessages(pool, { accountId, connectionId: connectionId + 1, priceMicros: 10 });

  const refused = await run('sandbox', 'retire');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('sandbox: 3 wait, 1 without a receipt') });
  expect(await shown()).toContain('sandbox');
  expect(await listRoutes(pool)).toHaveLength(1);

  const ended = await run('sandbox', 'retire', '--end-messages');
  expect(ended).toMatchObject({ code: 0, answer: { withdrawn: 3, givenUp: 1 } });
  const states = await statesOf(pool, [...waiting, sent, other]);
  for (const id of waiting) expect(states.get(id)).toMatchObject({ status: STATUS.DELETED });
  expect(states.get(sent)).toMatchObject({ status: STATUS.EXPIRED, errorText: 'the sandbox was retired' });
  expect(states.has(other)).toBe(false);
  expect(await readBooks(pool, accountId)).toMatchObject({ available: 990, frozen: 10, earned: 0 });
  expect(await shown()).toEqual(['carrier']);
});

test('receipts of the sandbox that match no message end with it, those of a carrier stay', async () => {
  const connectionId = await start();
  await pool.query(
    `INSERT INTO receipt_unmatched (connection_id, receipt, reason, received_at, next_try_at)
     SELECT c, '{}', 'unknown', now(), now() FROM unnest($1::bigint[]) AS c`,
    [[connectionId, connectionId + 1]],
  );
  await run('sandbox', 'retire');
  expect(await countUnmatched(pool)).toMatchObject([{ connectionId: connectionId + 1, count: 1 }]);
});

test('a message that is being submitted keeps the sandbox until it has an outcome', async () => {
  const connectionId = await start();
  const [id = ''] = await queueMessages(pool, { connectionId });
  const [chunk] = await claimChunks(pool, { connectionId, owner: 7, messages: 1, belowPriority: 9 });
  await updateIntents(pool, { owner: 7, intents: new Map([[chunk?.id ?? 0, 1]]) });
  const early = await run('sandbox', 'retire', '--end-messages');
  expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining('1 wait') });
  expect((await statesOf(pool, [id])).has(id)).toBe(false);
  expect(await checkSandbox({ sandbox: 'auto' }, pool)).toMatchObject([
    { ok: false, advice: expect.stringContaining('sandbox retire --end-messages') },
  ]);
  await pool.query('DELETE FROM dispatch_chunk');
  expect(await run('sandbox', 'retire')).toMatchObject({ code: 0 });
});

test('a sandbox that was kept, and whose retirement was interrupted, is not kept any more, and works again once it is wanted', async () => {
  const connectionId = await start();
  await run('sandbox', 'restore');
  await moveFromRetired(pool);
  await queueMessages(pool, { connectionId });
  const [chunk] = await claimChunks(pool, { connectionId, owner: 7, messages: 1, belowPriority: 9 });
  await updateIntents(pool, { owner: 7, intents: new Map([[chunk?.id ?? 0, 1]]) });
  expect(await run('sandbox', 'retire', '--end-messages')).toMatchObject({ code: 1 });
  expect(await isSandboxWanted({ sandbox: 'auto' }, pool)).toBe(false);
  await start({ real: false });
  expect(await findConnection(pool, { name: 'sandbox' })).toMatchObject({ status: 'active' });
});

test('a message that comes to a retired sandbox is a finding of the doctor', async () => {
  const connectionId = await start();
  await run('sandbox', 'retire');
  await queueMessages(pool, { connectionId });
  expect(await checkSandbox({ sandbox: 'auto' }, pool)).toMatchObject([
    { ok: false, detail: expect.stringContaining('sandbox: 1 wait') },
  ]);
});

test('the sandbox is not retired while it is the only carrier, and there is nothing to restore where it never ran', async () => {
  expect(await run('sandbox', 'restore')).toMatchObject({ code: 1, stderr: expect.stringContaining('SANDBOX=on') });
  await start({ real: false });
  expect(await run('sandbox', 'retire')).toMatchObject({ code: 1, stderr: expect.stringContaining('connection add') });
  expect(await shown()).toEqual(['sandbox']);
});

test('adding the first real carrier mentions the sandbox that is still there, adding the second does not', async () => {
  await start({ real: false });
  const add = (name: string) =>
    run(
      'connection',
      'add',
      'smpp',
      '--name',
      name,
      '--host',
      '127.0.0.1',
      '--port',
      '2775',
      '--system-id',
      'x',
      '--password',
      'y',
    );
  expect((await add('first')).answer).toMatchObject({ besideSandbox: true });
  expect((await add('second')).answer).not.toHaveProperty('besideSandbox');
});
