import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { newMessage, resultOf } from '../../test/support/queue.ts';
import { receipt } from '../../test/support/receipts.ts';
import { reset } from '../../test/support/reset.ts';
import type { Outcome } from '../channels/carrier.ts';
import { runCommand } from '../core/cli.ts';
import { exec, sql } from '../core/db/query.ts';
import { newId } from '../core/ids.ts';
import { registerOperations } from '../operations.ts';
import { insertConnection } from '../routing/connection-store.ts';
import { insertMessages } from './new-messages.ts';
import { insertReceiptBatches, listOpenSubmits, reconcileReceipts } from './receipt-store.ts';
import { processReceipts } from './receipts.ts';
import { settleOutcomes } from './settle.ts';

const { pool, connectionString } = testDatabase();

let main: number;
let other: number;
beforeAll(async () => {
  const add = async (name: string): Promise<number> =>
    (await insertConnection(pool, { name, kind: 'smpp', sandbox: false, settings: {} }))?.id ?? 0;
  [main, other] = [await add('main'), await add('other')];
});
beforeEach(() =>
  reset(pool, sql`TRUNCATE message, message_state, message_part, unknown_outcome, receipt_batch, receipt_unmatched`),
);

const NINE = new Date('2027-01-31T09:00:00Z');
const at = (text: string): Date => new Date(`2027-01-31T${text}Z`);

type Sent = { at?: Date; connectionId?: number; want?: boolean };

/** A message that the carrier took at this time, with an id for each part. */
async function taken(carrierIds: readonly string[], more: Sent = {}): Promise<string> {
  const { at: submittedAt = NINE, connectionId = main, want = true } = more;
  const id = newId();
  await insertMessages(pool, [newMessage({ id, connectionId, parts: carrierIds.length, wantReceipt: want })]);
  await settleOutcomes(pool, [resultOf(id, { kind: 'accepted', carrierIds }, { connectionId })], false);
  await exec(pool, sql`UPDATE message_state SET submitted_at = ${submittedAt} WHERE id = ${id}`);
  return id;
}

/** Receipts for these carrier ids arrive and are processed; those that fit nothing are parked as of `receivedAt`. */
async function arrive(carrierIds: readonly string[], connectionId = main, receivedAt = NINE): Promise<void> {
  await insertReceiptBatches(pool, [{ connectionId, receipts: carrierIds.map((id) => receipt(id)) }]);
  await processReceipts(pool, () => new Date());
  await exec(pool, sql`UPDATE receipt_unmatched SET received_at = ${receivedAt}`);
}

const DAY = { from: at('00:00:00'), to: new Date('2027-02-01T00:00:00Z'), connectionId: null };

test('a submit is final, open, or known from a receipt that matches nothing', async () => {
  for (const id of ['A1', 'A2', 'A3']) await taken([id]);
  await taken(['A4'], { at: at('09:59:59.999') });
  await arrive(['A1', 'A2', 'foreign']);
  expect(await reconcileReceipts(pool, DAY)).toEqual([
    {
      connectionId: main,
      hour: NINE,
      submitted: 5,
      final: 2,
      open: 2,
      unmatched: 1,
      finalPercent: 40,
      oldestOpen: NINE,
    },
  ]);
});

test('hours and connections are separate, in order, and the period excludes its end', async () => {
  await taken(['B1'], { at: at('10:00:00') });
  await taken(['B2'], { at: at('09:30:00') });
  await taken(['B3'], { at: at('09:00:00'), connectionId: other });
  await arrive(['B3'], other);
  await arrive(['foreign'], other, at('11:59:00'));
  const rows = await reconcileReceipts(pool, DAY);
  expect(rows.map((r) => [r.hour.getUTCHours(), r.connectionId, r.final, r.open, r.unmatched])).toEqual([
    [9, main, 0, 1, 0],
    [9, other, 1, 0, 0],
    [10, main, 0, 1, 0],
    [11, other, 0, 0, 1],
  ]);
  expect(await reconcileReceipts(pool, { ...DAY, from: NINE, to: at('10:00:00') })).toHaveLength(2);
  expect(await reconcileReceipts(pool, { ...DAY, connectionId: other })).toHaveLength(2);
});

test('each part of a long message counts, and all are final when the message is', async () => {
  await taken(['C1', 'C2', 'C3']);
  await arrive(['C2']);
  expect(await reconcileReceipts(pool, DAY)).toMatchObject([{ submitted: 3, final: 1, open: 2 }]);
  await exec(pool, sql`UPDATE message_state SET status = 4`);
  expect(await reconcileReceipts(pool, DAY)).toMatchObject([{ submitted: 3, final: 3, open: 0, oldestOpen: null }]);
});

test('the same receipt a thousand times counts as one submit', async () => {
  await arrive(Array.from({ length: 1000 }, () => 'foreign'));
  expect(await reconcileReceipts(pool, DAY)).toMatchObject([{ submitted: 1, unmatched: 1, finalPercent: 0 }]);
});

test('a submit that was rejected or never got a response does not count as submitted', async () => {
  const outcomes: Outcome[] = [
    { kind: 'refused', status: 'REJECTED', code: 'ESME_RINVDSTADR', text: 'no', carrierIds: [] },
    { kind: 'unknown', text: 'no response', carrierIds: [] },
  ];
  for (const outcome of outcomes) {
    const id = newId();
    await insertMessages(pool, [newMessage({ id, connectionId: main })]);
    await settleOutcomes(pool, [resultOf(id, outcome, { connectionId: main })], false);
  }
  const now = Date.now();
  const today = { from: new Date(now - 60_000), to: new Date(now + 60_000), connectionId: null };
  expect(await reconcileReceipts(pool, today)).toEqual([]);
});

test('open submits are listed oldest first, parts by themselves, without those that will have no receipt', async () => {
  await taken(['D1'], { at: at('09:02:00') });
  await taken(['D2', 'D3'], { at: at('09:01:00') });
  await taken(['D4'], { want: false });
  await taken(['D5'], { connectionId: other });
  await taken(['D6']);
  await arrive(['D2', 'D6']);
  const look = { connectionId: main, firstId: '00000000-0000-0000-0000-000000000000', limit: 10 };
  expect(await listOpenSubmits(pool, look)).toEqual([
    { carrierId: 'D3', sender: 'ACME', destination: '+351912345678', submittedAt: at('09:01:00') },
    { carrierId: 'D1', sender: 'ACME', destination: '+351912345678', submittedAt: at('09:02:00') },
  ]);
  expect(await listOpenSubmits(pool, { ...look, limit: 1 })).toMatchObject([{ carrierId: 'D3' }]);
  expect(await listOpenSubmits(pool, { ...look, firstId: newId() })).toEqual([]);
});

async function run(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const out = { stdout: '', stderr: '' };
  const writer = (name: keyof typeof out) => ({ write: (text: string) => (out[name] += text) });
  const code = await runCommand([registerOperations], {
    argv: ['node', 'main.ts', 'receipts', 'reconcile', ...args],
    env: { DATABASE_URL: connectionString, SECRET_KEY: '5e'.repeat(32) },
    stdout: writer('stdout'),
    stderr: writer('stderr'),
  });
  return { code, ...out };
}

test('the command names the connections, for people and for programs', async () => {
  await taken(['E1']);
  await taken(['E2'], { connectionId: other });
  await arrive(['E1']);
  const period = ['--from', '2027-01-31T00:00:00Z', '--to', '2027-01-31T12:00:00+01:00'];
  const { code, stdout } = await run(...period);
  expect(code).toBe(0);
  expect(stdout.trim().split('\n')[1]).toMatch(/main/);
  expect(JSON.parse((await run(...period, '--connection', 'other', '--json')).stdout).data).toEqual([
    {
      connection: 'other',
      hour: NINE.toISOString(),
      submitted: 1,
      final: 0,
      open: 1,
      unmatched: 0,
      finalPercent: 0,
      oldestOpen: NINE.toISOString(),
    },
  ]);
});

test('the default period is the last day', async () => {
  await taken(['F1'], { at: new Date(Date.now() - 23 * 3_600_000) });
  await taken(['F2'], { at: new Date(Date.now() - 25 * 3_600_000) });
  expect(JSON.parse((await run('--json')).stdout).data).toMatchObject([{ submitted: 1 }]);
});

test.each([
  [['--from', 'yesterday'], 'from: must be'],
  [['--to', '2027-02-30'], 'to: must be'],
  [['--from', '2027-01-31T00:00:00Z', '--to', '2027-01-31T00:00:00Z'], 'from: must be before to'],
  [['--connection', 'none'], 'There is no connection none'],
])('%j is refused with a reason', async (flags, reason) => {
  const { code, stderr } = await run(...flags);
  expect(code).toBe(1);
  expect(stderr).toContain(reason);
});
