import { cp, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { mobileNumbers } from '../../test/support/campaigns/campaign.ts';
import { openCampaignStage } from '../../test/support/campaigns/stage.ts';
import { commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { createAccountWithCredit, readBooks } from '../../test/support/money.ts';
import { listChunks, queueMessages, statesOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { exec, many, type Statement, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { openWorkerSession } from '../core/db/worker-session.ts';
import { silentLog } from '../core/log.ts';
import { STATUS } from '../core/message-state.ts';
import { updateIntents } from '../dispatch/store.ts';
import { freeze } from '../money/credit.ts';
import { registerRestoreGuardCommands } from '../operate/restore-guard.ts';
import * as db from './restore-guard.ts';
import { createRestoreGuard, type RestoreGuard, readMark, writeMark } from './restore-guard.ts';

const database = testDatabase();
const { pool } = database;

let accountId: number;
beforeAll(async () => {
  accountId = await createAccountWithCredit(pool, 1000);
});
beforeEach(async () => {
  await reset(
    pool,
    sql`TRUNCATE message, message_state, message_event, dispatch_chunk, campaign, campaign_job, restore_guard_machine`,
  );
  await exec(pool, sql`UPDATE restore_guard SET state = 'new', reason = NULL, decided_by = NULL`);
});

async function folder(): Promise<string> {
  const dataDir = await temporaryFolder('heliograph-guard-');
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  return dataDir;
}

/** A worker that has just started. */
async function start(dataDir: string, owner = 7, on = pool): Promise<RestoreGuard> {
  const guard = createRestoreGuard({ dataDir, pool: on, owner: () => owner, log: silentLog });
  await guard.check();
  return guard;
}

/** A machine that has worked on this database, with a message that waits. */
async function worked(): Promise<string> {
  const dataDir = await folder();
  const guard = await start(dataDir);
  await guard.check();
  await queueMessages(pool, { accountId });
  return dataDir;
}

/** The pool, with something done after each of its statements. */
const watched = (then: (text: string) => unknown): Pool =>
  Object.assign(Object.create(pool), {
    connect: () => pool.connect(),
    async query(statement: Statement) {
      const result = await pool.query(statement);
      then(statement.text);
      return result;
    },
  });

const isPaused = async (dataDir: string): Promise<boolean> => (await start(dataDir)).paused();
const commands = (...args: readonly string[]) => commandsOn(database, registerRestoreGuardCommands)('fence', ...args);
/** Puts the table back by some generations, as a restored backup would. */
const restore = (generations: number) =>
  exec(pool, sql`UPDATE restore_guard_machine SET generation = generation - ${generations}`);

describe('not paused is', () => {
  test('a new database, even when messages are queued before the first worker comes', async () => {
    await queueMessages(pool, { accountId });
    expect(await isPaused(await folder())).toBe(false);
    expect((await db.findGuardStatus(pool)).state).toBe('open');
  });

  test('a restart, however the program ended', async () => {
    expect(await isPaused(await worked())).toBe(false);
  });

  test('a start after a crash between the update of the database and that of the file', async () => {
    const dataDir = await worked();
    const { machine } = (await readMark(dataDir)) ?? { machine: '' };
    await db.updateGeneration(pool, { machine, owner: 7 });
    expect(await isPaused(dataDir)).toBe(false);
  });

  test('a start after any number of such crashes in a row', async () => {
    const dataDir = await worked();
    const killedAfterUpdate = watched((text) => {
      if (text.includes('INTO restore_guard_machine')) throw new Error('killed');
    });
    for (let i = 0; i < 3; i++) await expect(start(dataDir, 7, killedAfterUpdate)).rejects.toThrow('killed');
    expect(await isPaused(dataDir)).toBe(false);
  });

  test('a database that was restored while nothing waits: there is nothing to send twice', async () => {
    const dataDir = await worked();
    await reset(pool, sql`TRUNCATE dispatch_chunk`);
    await restore(1);
    expect(await isPaused(dataDir)).toBe(false);
    await queueMessages(pool, { accountId });
    expect(await isPaused(dataDir)).toBe(false);
  });

  test('a new machine next to a live worker whose own mark is in order', async () => {
    const session = await openWorkerSession({
      connectionString: database.connectionString,
      log: silentLog,
    });
    onTestFinished(session.close);
    await start(await folder(), session.owner);
    await queueMessages(pool, { accountId });
    expect(await isPaused(await folder())).toBe(false);
    await exec(pool, sql`UPDATE restore_guard_machine SET seen_at = now() - interval '1 minute'`);
    expect(await isPaused(await folder())).toBe(true);
  });

  test('one of several workers of a machine that check at the same time', async () => {
    const dataDir = await worked();
    const guards = await Promise.all([1, 2, 3, 4].map((owner) => start(dataDir, owner)));
    for (let i = 0; i < 10; i++) await Promise.all(guards.map((guard) => guard.check()));
    expect(guards.map((guard) => guard.paused())).toEqual([false, false, false, false]);
  });
});

describe('paused is', () => {
  const reasonNow = async (): Promise<string | null> => (await db.findGuardStatus(pool)).reason;

  test('a database that is older than the last check of the machine', async () => {
    const dataDir = await worked();
    await restore(1);
    expect(await isPaused(dataDir)).toBe(true);
    expect(await reasonNow()).toContain('restored from a backup');
  });

  test('a database from before the machine came', async () => {
    const dataDir = await worked();
    await exec(pool, sql`DELETE FROM restore_guard_machine`);
    expect(await isPaused(dataDir)).toBe(true);
  });

  test('a backup from after the last check, because an orderly end raises the generation once more', async () => {
    const dataDir = await worked();
    const guard = await start(dataDir);
    await guard.stop();
    await restore(1);
    expect(await isPaused(dataDir)).toBe(true);
  });

  test('a machine that is new to the database, when no other worker is alive', async () => {
    await worked();
    expect(await isPaused(await folder())).toBe(true);
  });

  test('another database, even if its table has the same content', async () => {
    const dataDir = await worked();
    const mark = await readMark(dataDir);
    await writeMark(dataDir, { machine: '', generation: 0, ...mark, database: 'elsewhere/1' });
    expect(await isPaused(dataDir)).toBe(true);
  });

  test('a copy of the whole data folder', async () => {
    const dataDir = await worked();
    const copy = join(await folder(), 'copy');
    await cp(dataDir, copy, { recursive: true, preserveTimestamps: true });
    expect(await isPaused(copy)).toBe(true);
  });

  test('a data folder that is older than the database', async () => {
    const dataDir = await worked();
    const { machine } = (await readMark(dataDir)) ?? { machine: '' };
    await db.updateGeneration(pool, { machine, owner: 7 });
    await db.updateGeneration(pool, { machine, owner: 7 });
    expect(await isPaused(dataDir)).toBe(true);
  });

  test('a machine whose file was damaged', async () => {
    const dataDir = await worked();
    await writeFile(join(dataDir, 'restore-guard.json'), '{"machine":');
    expect(await isPaused(dataDir)).toBe(true);
  });

  test('every worker on the database at its next check, when one of them finds that it was restored', async () => {
    const [dataDir, otherDir] = [await folder(), await folder()];
    const [guard, other] = [await start(dataDir, 1), await start(otherDir, 2)];
    await queueMessages(pool, { accountId });
    await exec(pool, sql`UPDATE restore_guard_machine SET generation = generation - 1 WHERE owner = 1`);
    await guard.check();
    await other.check();
    expect([guard.paused(), other.paused()]).toEqual([true, true]);
  });

  test('a worker that received a pause, until its next check', async () => {
    const guard = await start(await worked());
    guard.pauseUntilCheck();
    expect(guard.paused()).toBe(true);
  });

  test('a worker that received a pause in the middle of a check, until the next one', async () => {
    let doubt = (): void => undefined;
    const guard = await start(
      await worked(),
      7,
      watched((text) => text.includes('pg_control_system') && doubt()),
    );
    doubt = guard.pauseUntilCheck;
    await guard.check();
    expect(guard.paused()).toBe(true);
    doubt = () => undefined;
    await guard.check();
    expect(guard.paused()).toBe(false);
  });
});

test('only its owner may read the file', async () => {
  const dataDir = await worked();
  expect((await stat(join(dataDir, 'restore-guard.json'))).mode & 0o777).toBe(0o600);
});

test('machines that were away for long are deleted', async () => {
  await worked();
  expect(await db.deleteOldMachines(pool, { days: 1 })).toBe(0);
  await exec(pool, sql`UPDATE restore_guard_machine SET seen_at = now() - interval '2 days'`);
  expect(await db.deleteOldMachines(pool, { days: 1 })).toBe(1);
});

describe('a person', () => {
  test('sees why nothing is sent and what waits, without messages that were withdrawn or are with a carrier', async () => {
    const dataDir = await worked();
    await reset(pool, sql`TRUNCATE dispatch_chunk`);
    await queueMessages(pool, { accountId, count: 5 });
    await queueMessages(pool, { accountId, count: 2, availableAt: new Date(Date.now() + 3_600_000) });
    const [chunk] = (await listChunks(pool)).filter(({ size }) => size === 5);
    await exec(pool, sql`UPDATE dispatch_chunk SET owner = 9, withdrawn = ids[5:5] WHERE id = ${chunk?.id}`);
    await updateIntents(pool, { owner: 9, intents: new Map([[chunk?.id ?? 0, 1]]) });
    await restore(1);
    await start(dataDir);
    expect((await commands('show')).answer).toMatchObject({
      state: 'paused',
      reason: expect.stringContaining('restored'),
      unsent: [{ accountId, messages: 5, scheduled: 2 }],
    });
  });

  test('confirms, and both the waiting workers and new ones send again', async () => {
    const dataDir = await worked();
    await restore(1);
    const waiting = await start(dataDir);
    expect(await commands('confirm')).toMatchObject({ code: 0, answer: { confirmed: true } });
    await waiting.check();
    expect(waiting.paused()).toBe(false);
    expect(await isPaused(dataDir)).toBe(false);
    expect(await db.findGuardStatus(pool)).toMatchObject({
      state: 'open',
      decidedBy: expect.stringContaining('operator'),
    });
  });

  test('confirms while no worker runs, and the next one sends', async () => {
    await worked();
    const dataDir = await folder();
    await start(dataDir);
    await commands('confirm');
    expect(await isPaused(dataDir)).toBe(false);
  });

  test('is asked again after the next restore', async () => {
    const dataDir = await worked();
    await restore(1);
    await start(dataDir);
    await commands('confirm');
    await start(dataDir);
    await restore(1);
    expect(await isPaused(dataDir)).toBe(true);
  });

  test('discards what waited before the pause: it ends DELETED, its credit is returned, and later messages are sent', async () => {
    const dataDir = await worked();
    const before = await queueMessages(pool, { accountId, count: 3, size: 2 });
    await exec(pool, sql`UPDATE message SET price_micros = 10 WHERE id = ANY(${before}::uuid[])`);
    await transaction(pool, (tx) =>
      freeze(
        tx,
        before.map(() => ({ accountId, micros: 10 })),
        'test',
      ),
    );
    await restore(1);
    await start(dataDir);
    const later = await queueMessages(pool, { accountId });
    expect(await commands('discard')).toMatchObject({ code: 0, answer: { discarded: 4 } });
    const states = await statesOf(pool, [...before, ...later]);
    expect(before.map((id) => states.get(id)?.status)).toEqual(Array(3).fill(STATUS.DELETED));
    expect(states.get(later[0] ?? '')).toBeUndefined();
    expect(await readBooks(pool, accountId)).toMatchObject({ available: 1000, frozen: 0 });
    expect((await listChunks(pool)).flatMap(({ ids }) => ids)).toEqual(later);
    expect(await isPaused(dataDir)).toBe(false);
  });

  test('sees campaigns that have messages to make, and discards them: cancelled, or paused until their time', async () => {
    const dataDir = await worked();
    await reset(pool, sql`TRUNCATE dispatch_chunk`);
    const campaigns = await openCampaignStage(pool);
    const sending = await campaigns.confirmed({ numbers: mobileNumbers(2) });
    const scheduled = await campaigns.confirmed({ numbers: mobileNumbers(3), scheduledInMinutes: 30 });
    await restore(1);
    expect(await isPaused(dataDir)).toBe(true);
    const waiting = [sending, scheduled].map((id) => expect.objectContaining({ id, name: 'Spring' }));
    expect(await commands('show')).toMatchObject({ answer: { campaigns: waiting } });
    await commands('discard');
    expect(
      await many(
        pool,
        sql`SELECT id, cancelled_at IS NOT NULL AS cancelled, paused_at IS NOT NULL AS held FROM campaign ORDER BY id`,
      ),
    ).toEqual([
      { id: sending, cancelled: true, held: false },
      { id: scheduled, cancelled: false, held: true },
    ]);
    await campaigns.run();
    expect([await campaigns.messages(sending), await campaigns.messages(scheduled)]).toEqual([[], []]);
  });

  test('cannot decide while sending is not paused', async () => {
    const guard = await start(await worked());
    for (const command of ['confirm', 'discard'])
      expect(await commands(command)).toMatchObject({ code: 1, stderr: expect.stringContaining('not paused') });
    expect(guard.paused()).toBe(false);
  });
});

test('a database user without special rights may ask which database it is', async () => {
  const answer = transaction(pool, async (tx) => {
    await tx.query('SET LOCAL ROLE pg_read_all_data');
    return (await db.findDatabaseFacts(tx, { machine: null, owner: 7 })).database;
  });
  await expect(answer).resolves.toMatch(/^\d+\/\d+$/);
});
