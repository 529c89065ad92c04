import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { createAccountWithCredit } from '../../test/support/money.ts';
import { listChunks, queueMessages, statesOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { operatorAuthor } from '../accounts/audit.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { STATUS } from '../core/message-state.ts';
import { MINUTE_MS } from '../core/time.ts';
import { claimChunks } from '../dispatch/store.ts';
import { cancelMessage } from './cancellation.ts';
import { cancelMissed, listMissed, releaseMissed, updateObservedSchedules } from './schedules.ts';

const { pool } = testDatabase();

const BY = { by: 'ada' };

let accountId: number;
beforeAll(async () => {
  accountId = await createAccountWithCredit(pool, 0);
});
beforeEach(() => reset(pool, sql`TRUNCATE message, message_state, message_event, dispatch_chunk`));

/** Messages that were scheduled this many minutes ago. */
const scheduled = (minutesAgo: number, count = 1): Promise<string[]> =>
  queueMessages(pool, { accountId, count, availableAt: new Date(Date.now() - minutesAgo * MINUTE_MS) });
const claimed = async (): Promise<string[]> =>
  (await claimChunks(pool, { connectionId: 1, owner: 7, messages: 1000, belowPriority: 9 })).flatMap((c) => c.ids);
const missedId = async (): Promise<number> => (await listMissed(pool))[0]?.id ?? 0;
/** Moves the due times of the queue back by this many minutes, as if the program had been down for so long. */
const pass = (minutes: number) =>
  exec(pool, sql`UPDATE dispatch_chunk SET available_at = available_at - ${minutes} * interval '1 minute'`);

test('a schedule is sent up to an hour late, and asks when it was missed by more', async () => {
  const late = await scheduled(59);
  const missed = await scheduled(61, 3);
  expect(await claimed()).toEqual(late);
  expect(await listMissed(pool)).toMatchObject([{ accountId, messages: 3 }]);
  expect((await listChunks(pool)).find((chunk) => chunk.owner === null)?.ids).toEqual(missed);
});

test('a schedule that was not missed is not listed, and cannot be released or cancelled as one', async () => {
  await scheduled(-10);
  await scheduled(59);
  expect(await listMissed(pool)).toEqual([]);
  for (const { id } of await listChunks(pool)) {
    await expect(releaseMissed(pool, { id, ...BY })).rejects.toMatchObject({ code: 'not_found' });
    await expect(cancelMissed(pool, { id, ...BY, now: new Date() })).rejects.toMatchObject({ code: 'not_found' });
  }
});

test('a schedule that came due while a worker ran is not missed, however long the carrier or the queue delays it', async () => {
  const ids = await scheduled(1);
  await scheduled(-10);
  expect(await updateObservedSchedules(pool)).toBe(1);
  expect(await updateObservedSchedules(pool)).toBe(0);
  await pass(600);
  expect(await claimed()).toEqual(ids);
});

test('a schedule that came due while no worker ran stays missed when one starts hours later', async () => {
  await scheduled(61);
  expect(await updateObservedSchedules(pool)).toBe(0);
  expect(await claimed()).toEqual([]);
});

test('only schedules can be missed: messages that were queued at once are sent however long they have waited', async () => {
  const ids = await queueMessages(pool, { accountId });
  await pass(600);
  expect(await claimed()).toEqual(ids);
});

test('a released schedule is sent at once, and the history of its messages names the operator', async () => {
  const ids = await scheduled(120, 2);
  expect(await releaseMissed(pool, { id: await missedId(), ...BY })).toBe(2);
  expect(await listMissed(pool)).toEqual([]);
  expect(await claimed()).toEqual(ids);
  const events = await many(pool, sql`SELECT kind, text FROM message_event`);
  expect(events).toEqual(Array(2).fill({ kind: 'released', text: 'by the operator ada' }));
  const audit = await many(
    pool,
    sql`SELECT action, actor_kind AS kind, detail FROM audit_entry ORDER BY id DESC LIMIT 1`,
  );
  expect(audit).toEqual([{ action: 'schedule.release', kind: 'operator', detail: { messages: 2 } }]);
});

test('the messages of a cancelled schedule end DELETED, and nothing is left of it', async () => {
  const ids = await scheduled(120, 2);
  expect(await cancelMissed(pool, { id: await missedId(), ...BY, now: new Date() })).toBe(2);
  const states = await statesOf(pool, ids);
  expect(ids.map((id) => states.get(id)?.status)).toEqual([STATUS.DELETED, STATUS.DELETED]);
  expect(await listChunks(pool)).toEqual([]);
  const audit = await many(pool, sql`SELECT action, detail FROM audit_entry ORDER BY id DESC LIMIT 1`);
  expect(audit).toEqual([{ action: 'schedule.cancel', detail: { messages: 2 } }]);
});

test('messages that their client has cancelled do not count and are not touched again', async () => {
  const [first = ''] = await scheduled(120, 3);
  await cancelMessage(pool, operatorAuthor(accountId), { id: first, now: new Date() });
  expect(await listMissed(pool)).toMatchObject([{ messages: 2 }]);
  expect(await cancelMissed(pool, { id: await missedId(), ...BY, now: new Date() })).toBe(2);
});

test('a decision about a schedule that was not missed, or a second decision, is 404', async () => {
  await scheduled(120);
  const id = await missedId();
  await releaseMissed(pool, { id, ...BY });
  for (const none of [id, 0, Number.NaN]) {
    await expect(releaseMissed(pool, { id: none, ...BY })).rejects.toMatchObject({ code: 'not_found' });
    await expect(cancelMissed(pool, { id: none, ...BY, now: new Date() })).rejects.toMatchObject({ code: 'not_found' });
  }
});

test('of two people who decide at the same time only one succeeds', async () => {
  await scheduled(120);
  const id = await missedId();
  const both = await Promise.allSettled([
    releaseMissed(pool, { id, ...BY }),
    cancelMissed(pool, { id, ...BY, now: new Date() }),
  ]);
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});
