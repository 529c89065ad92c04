import { beforeAll, describe, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { explain, type Scan } from '../../test/support/plans.ts';
import { newMessage } from '../../test/support/queue.ts';
import { bareId } from '../channels/smpp/receipts.ts';
import { ensurePartitions } from '../core/db/partitions.ts';
import { type Db, exec, many, sql } from '../core/db/query.ts';
import { boundsOf, newId } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import * as dispatch from '../dispatch/store.ts';
import * as expiry from './expiry.ts';
import { insertClientIds } from './client-ids.ts';
import { insertMessages } from './new-messages.ts';
import * as parts from './parts.ts';
import { listByCarrierIds } from './parts.ts';
import * as db from './store.ts';

const { pool } = testDatabase();

/** A batch as the pipelines use it. */
const BATCH = 500;
/** Rows of the large tables. */
const MANY = 50_000;

/** Ids for the batches: of stored messages where the tables hold some. */
let ids: string[];
beforeAll(async () => {
  await ensurePartitions(pool, new Date(Date.now() + 20 * 86_400_000));
  await stopAutovacuum();
});

/** Without this, tables might get their statistics at any time during the tests. */
const stopAutovacuum = (): Promise<number> =>
  exec(
    pool,
    sql`DO $$
        DECLARE name regclass;
        BEGIN
          FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
            EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', name);
          END LOOP;
        END $$`,
  );

const accountOf = (n: number): number => 1 + (n % 3);
const batch = <T>(row: (id: string, n: number) => T): T[] => ids.map(row);
const range = () => {
  const [firstId, lastId] = boundsOf(ids);
  return { firstId, lastId };
};
const state = (id: string, n: number): db.NewState => ({
  accountId: accountOf(n),
  id,
  status: STATUS.ACCEPTED,
  attempts: 1,
  connectionId: 1,
  carrierId: id,
  submittedAt: new Date(),
  errorCode: null,
  errorText: null,
  creditHeld: false,
  creditReturned: false,
  possibleDuplicate: false,
  channel: 'SMS',
  campaignId: null,
});
const key = (messageId: string, n: number) => ({ accountId: accountOf(n), messageId });
const carrierIds = () => batch((id) => ({ bare: bareId(id), exact: id }));

/** The statements that run once a batch: each must reach its rows by index. */
const STATEMENTS: Record<string, (to: Db) => Promise<unknown>> = {
  listQueuedMessages: (to) =>
    db.listQueuedMessages(to, { messages: batch((id, n) => ({ accountId: accountOf(n), id })), ...range() }),
  moveStates: (to) => {
    const end = { status: STATUS.DELIVERED, doneAt: new Date(), errorCode: null, errorText: null };
    return db.moveStates(to, { moves: batch((id, n) => ({ accountId: accountOf(n), id, ...end })), ...range() });
  },
  updateReadTimes: (to) =>
    db.updateReadTimes(to, {
      reads: batch((id, n) => ({ accountId: accountOf(n), id, readAt: new Date() })),
      ...range(),
    }),
  listCharges: (to) =>
    db.listCharges(
      to,
      batch((id, n) => ({ accountId: accountOf(n), id })),
    ),
  listTraits: (to) =>
    db.listTraits(
      to,
      batch((id, n) => ({ accountId: accountOf(n), id })),
    ),
  listDeliveryStates: (to) =>
    expiry.listDeliveryStates(
      to,
      batch((id, n) => ({ accountId: accountOf(n), id })),
    ),
  insertOpenStates: (to) =>
    expiry.insertOpenStates(
      to,
      batch((id, n) => ({ accountId: accountOf(n), id })),
    ),
  listByCarrierIds: (to) => listByCarrierIds(to, { connectionId: 1, carrierIds: carrierIds(), ...range() }),
  insertStates: (to) => db.insertStates(to, batch(state)),
  moveOutcomes: (to) => db.moveOutcomes(to, batch(state)),
  claimStates: (to) => parts.claimStates(to, { keys: batch(key), ...range() }),
  moveParts: (to) => {
    const end = { part: 1, status: STATUS.DELIVERED, doneAt: new Date(), receiptText: 'stat:DELIVRD' };
    return parts.moveParts(to, { moves: batch((id, n) => ({ ...key(id, n), ...end })), ...range() });
  },
  listPartStatuses: (to) => parts.listPartStatuses(to, { keys: batch(key), ...range() }),
};

/** A table that grows without end. */
const isLarge = (table: string | null): boolean => /^(message|message_state|message_part)(_\d|$)/.test(table ?? '');
const sequential = (scans: readonly Scan[]): Scan[] => scans.filter((s) => s.how === 'Seq Scan' && isLarge(s.table));
/** The days that a plan touches: one, or two when the test runs at midnight. */
const days = (scans: readonly Scan[]): Set<string> =>
  new Set(scans.filter((s) => isLarge(s.table)).map((s) => s.table?.replace(/\D+/, '') ?? ''));

/** Those that name the range of their ids, so that the other days' partitions stay out of the plan. */
const PRUNED = [
  'listQueuedMessages',
  'moveStates',
  'updateReadTimes',
  'listByCarrierIds',
  'listCharges',
  'listTraits',
  'claimStates',
  'moveParts',
  'listPartStatuses',
];

function everyStatementIsIndexed(): void {
  test.each(Object.keys(STATEMENTS))('%s reads no table from end to end', async (name) => {
    const scans = await explain(pool, (to) => STATEMENTS[name]?.(to) ?? Promise.reject(new Error(name)));
    expect(sequential(scans)).toEqual([]);
  });

  test.each(PRUNED)('%s reads only the days of its ids', async (name) => {
    const scans = await explain(pool, (to) => STATEMENTS[name]?.(to) ?? Promise.reject(new Error(name)));
    expect([1, 2]).toContain(days(scans).size);
  });

  test.each(['for these values', 'generic'] as const)(
    'claimChunks and findNextDueMs find chunks by index, with a plan %s',
    async (plan) => {
      const claim = { connectionId: 1, owner: 1, messages: 1000, belowPriority: 9 };
      const scans = [
        ...(await explain(pool, (to) => dispatch.claimChunks(to, claim), plan)),
        ...(await explain(pool, (to) => dispatch.findNextDueMs(to, claim), plan)),
      ];
      expect(scans.length).toBeGreaterThan(1);
      expect(scans.filter((scan) => scan.table === 'dispatch_chunk' && scan.how === 'Seq Scan')).toEqual([]);
    },
  );
}

/** Checks that ids are searched. With empty tables any plan is as good, and PostgreSQL 16 takes another one. */
function idsAreSearched(): void {
  test('listByCarrierIds searches the index for the ids, and does not read the whole index', async () => {
    const scans = await explain(pool, (to) => STATEMENTS['listByCarrierIds']?.(to) ?? Promise.resolve());
    const searched = scans.filter(({ index }) => index?.includes('connection_id'));
    expect(searched.length).toBeGreaterThanOrEqual(2);
    for (const { condition } of searched) expect(condition).toContain('ANY');
  });
}

/** Stores messages with states and parts, and chunks, so many that reading them all would be the wrong plan. */
async function fill(count: number): Promise<void> {
  const stored: string[] = [];
  for (let at = 0; at < count; at += 1000) {
    const messages = Array.from({ length: 1000 }, (_, n) => newMessage({ accountId: accountOf(n), parts: 2 }));
    const list = messages.map((message) => message.id);
    await insertMessages(pool, messages);
    await db.insertStates(pool, list.map(state));
    await parts.insertParts(
      pool,
      list.map((id, n) => ({ ...key(id, n), part: 1, connectionId: 1, carrierId: `p${id}` })),
    );
    await insertClientIds(
      pool,
      list.map((id, n) => ({ ...key(id, n), clientId: id, contentHash: Buffer.alloc(32) })),
    );
    stored.push(...list);
  }
  const step = Math.floor(count / BATCH);
  ids = Array.from({ length: BATCH }, (_, n) => stored[n * step] ?? '');
  await exec(
    pool,
    sql`INSERT INTO dispatch_chunk (account_id, connection_id, priority, round, size, ids)
        SELECT n % 3, n % 5, 1, n, 1, ARRAY[gen_random_uuid()] FROM generate_series(1, 5000) AS n`,
  );
}

describe('on empty tables', () => {
  beforeAll(() => {
    ids = Array.from({ length: BATCH }, newId);
  });
  everyStatementIsIndexed();
});

describe('on fresh tables without statistics', () => {
  beforeAll(async () => {
    await fill(5000);
  });
  everyStatementIsIndexed();
  idsAreSearched();
});

describe('on large tables', () => {
  beforeAll(async () => {
    await fill(MANY);
    await exec(pool, sql`ANALYZE`);
  });
  everyStatementIsIndexed();
  idsAreSearched();
});

test('the partitions of other days exist, so that they can be left out', async () => {
  const rows = await many(pool, sql`SELECT FROM pg_inherits WHERE inhparent = 'message'::regclass`);
  expect(rows.length).toBeGreaterThan(15);
});
