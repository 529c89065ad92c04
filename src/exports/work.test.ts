import { once } from 'node:events';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { readXlsx } from 'hucre/xlsx';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { actor } from '../../test/support/drafts.ts';
import { runJobs } from '../../test/support/jobs.ts';
import { newMessage } from '../../test/support/queue.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { until } from '../../test/support/until.ts';
import { bitOf, CHANNELS } from '../core/channels.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { newOwnerKey } from '../core/db/worker-session.ts';
import { createJobRunner } from '../core/jobs.ts';
import { silentLog } from '../core/log.ts';
import { STATUS, STATUS_NAMES } from '../core/message-state.ts';
import { createLocalStorage, fileRemoval, type Storage } from '../core/storage.ts';
import { DAY_MS } from '../core/time.ts';
import { insertMessages } from '../messages/new-messages.ts';
import { listRecordsById, toStatusRecord } from '../messages/status.ts';
import { createAccount } from '../operate/account-commands.ts';
import { expireExports, exportJob } from './make.ts';
import type { ExportFormat, ExportRequest } from './store.ts';
import * as db from './store.ts';

const database = testDatabase();

let folder: string;
let storage: Storage;
let accountId: number;
beforeAll(async () => {
  folder = await temporaryFolder('heliograph-test-');
  storage = createLocalStorage(folder);
});
beforeEach(async () => {
  await exec(database.pool, sql`DELETE FROM job`);
  ({ accountId } = await createAccount(database.pool, { name: 'Acme', plan: 'unlimited' }));
});

const span = () => ({
  startDateTime: new Date(Date.now() - DAY_MS).toISOString(),
  endDateTime: new Date(Date.now() + DAY_MS).toISOString(),
});
const history = (filters: object = {}): ExportRequest => ({ type: 'HISTORY', filters: { ...span(), ...filters } });

const enqueue = (wanted: ExportRequest, format: ExportFormat = 'csv'): Promise<db.ExportRow> =>
  transaction(database.pool, async (tx) => {
    const row = await db.insertExport(tx, { ...wanted, accountId, format });
    await exportJob.add(tx, { accountId, key: row.id, payload: { exportId: row.id } });
    return row;
  });
const find = (id: string) => db.findExport(database.pool, { accountId, id });

type Store = Pick<Storage, 'put'>;
const kind = (store: Store = storage) => {
  const config = { dataDir: folder, databaseUrlRead: undefined };
  return exportJob.using({ ...database, storage: store, config, log: silentLog, mediaLinks: NO_LINKS });
};
const NO_LINKS = () => ({ url: '', thumbnailUrl: null });
/** Lets a worker make all exports that are due. */
const makeAll = (store?: Store): Promise<number> => runJobs(database.pool, kind(store));

/** Makes an export from start to end. */
async function made(
  wanted: ExportRequest,
  format: ExportFormat = 'csv',
): Promise<{ row: db.ExportRow; bytes: Buffer }> {
  const { id } = await enqueue(wanted, format);
  await makeAll();
  const row = await find(id);
  if (!row?.fileKey) throw new Error(`${row?.status}: ${row?.failure}`);
  return { row, bytes: await read(row.fileKey) };
}
async function read(key: string): Promise<Buffer> {
  return Buffer.concat(await (await storage.get(key)).toArray());
}
const linesOf = (bytes: Buffer): Record<string, string>[] => parse(bytes, { columns: true });

async function store(count: number, more: Parameters<typeof newMessage>[0] = {}): Promise<string[]> {
  const messages = Array.from({ length: count }, () => newMessage({ accountId, ...more }));
  for (let i = 0; i < count; i += 1000) await insertMessages(database.pool, messages.slice(i, i + 1000));
  return messages.map(({ id }) => id);
}

test('a history has one line per message with the values of its record, for every status and channel', async () => {
  const ids: string[] = [];
  for (const channel of CHANNELS) {
    ids.push(...(await store(1, { channel, clientId: `=${channel}`, sender: '+393331234567', priceMicros: 35_000 })));
    for (const name of STATUS_NAMES) {
      const [id = ''] = await store(1, {
        channel,
        source: 'CAMPAIGN',
        campaignId: 7,
        parts: 2,
        priceMicros: 12_345_678,
      });
      ids.push(id);
      await exec(
        database.pool,
        sql`INSERT INTO message_state (account_id, id, status, attempts, channel, submitted_at, done_at, updated_at, error_code,
              error_text, possible_duplicate)
            VALUES (${accountId}, ${id}, ${STATUS[name]}, 1, ${bitOf(channel)}, '2026-11-21T10:00:00.9996Z',
              '2026-11-21T10:00:01Z', now(), '8', ${'a "b",\nc'}, true)`,
      );
    }
  }
  const records = (await listRecordsById(database.pool, { accountId, ids })).map((record) =>
    toStatusRecord(record, actor(accountId)),
  );
  const { row, bytes } = await made(history());
  const lines = linesOf(bytes);
  // Messages of the same millisecond are in the order of their ids.
  expect(lines.map((line) => line['messageId'])).toEqual(ids.toSorted());
  expect(row).toMatchObject({ status: 'COMPLETED', rows: ids.length, sizeBytes: bytes.length });
  for (const { customerMessageId, stage: _1, scheduledDate: _2, metadata: _3, tags: _4, ...record } of records) {
    const {
      source,
      customerMessageId: reference,
      ...line
    } = lines.find((l) => l['messageId'] === record.messageId) ?? {};
    expect(line).toEqual(Object.fromEntries(Object.entries(record).map(([key, value]) => [key, String(value ?? '')])));
    expect(reference).toBe(customerMessageId ? `'${customerMessageId}` : '');
    expect(source).toBe(record.campaignId === null ? 'API' : 'CAMPAIGN');
  }
});

test.each([
  [{ channel: 'RCS' }, 2],
  [{ status: 'ACCEPTED' }, 3],
  [{ status: 'UNKNOWN', channel: 'RCS' }, 2],
  [{ sender: "O'Neil\\" }, 1],
  [{ recipient: '+15550001111' }, 1],
  [{ startDateTime: '2020-01-01T00:00:00Z', endDateTime: '2020-01-02T00:00:00Z' }, 0],
] as const)('a history with %j has those messages alone', async (filters, count) => {
  await store(2, { channel: 'RCS' });
  await store(1);
  await store(1, { sender: "O'Neil\\" });
  await store(1, { destination: '+15550001111' });
  await store(3, { accountId: accountId + 1_000_000 });
  const { row, bytes } = await made(history(filters));
  expect([row.rows, linesOf(bytes).length]).toEqual([count, count]);
});

test('the reports of a campaign contain only its messages, and when they were read', async () => {
  const { id: campaignId } = await one<{ id: number }>(
    database.pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode) VALUES (${accountId}, 'A', 0, 'RCS') RETURNING id`,
  );
  const [id = ''] = await store(1, { campaignId, channel: 'RCS', source: 'CAMPAIGN' });
  await store(2, { campaignId: campaignId + 1 });
  await exec(
    database.pool,
    sql`INSERT INTO message_state (account_id, id, status, attempts, channel, updated_at, read_at)
        VALUES (${accountId}, ${id}, 3, 1, 2, now(), '2026-11-21T10:00:01.5Z')`,
  );
  const { bytes } = await made({ type: 'DELIVERY_REPORTS', filters: { campaignId } });
  expect(linesOf(bytes)).toMatchObject([{ messageId: id, readDate: '2026-11-21T10:00:01.500Z', source: 'CAMPAIGN' }]);
  const inTime = await made({ type: 'DELIVERY_REPORTS', filters: span() });
  expect(inTime.row.rows).toBe(3);
});

test('the report of those not reached has the last message of each recipient, and nobody to whom one was delivered', async () => {
  const { id: campaignId } = await one<{ id: number }>(
    database.pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode) VALUES (${accountId}, 'A', 0, 'SMS') RETURNING id`,
  );
  const send = async (destination: string, status: keyof typeof STATUS): Promise<string> => {
    const [id = ''] = await store(1, { campaignId, destination, source: 'CAMPAIGN' });
    await exec(
      database.pool,
      sql`INSERT INTO message_state (account_id, id, status, attempts, channel, updated_at)
          VALUES (${accountId}, ${id}, ${STATUS[status]}, 1, 1, now())`,
    );
    return id;
  };
  const failed = await send('+393331110001', 'UNDELIVERABLE');
  await send('+393331110002', 'DELIVERED');
  await send('+393331110003', 'UNKNOWN');
  await store(1, { campaignId, destination: '+393331110004', source: 'CAMPAIGN' });
  await send('+393331110005', 'UNDELIVERABLE');
  await send('+393331110005', 'DELIVERED');
  await send('+393331110006', 'DELIVERED');
  await send('+393331110006', 'EXPIRED');
  // Ids of one millisecond are in no order: the last one is the greatest.
  const [, last] = [await send('+393331110007', 'UNDELIVERABLE'), await send('+393331110007', 'EXPIRED')].sort();
  const { row, bytes } = await made({ type: 'DELIVERY_REPORTS', filters: { campaignId, notReached: true } });
  expect(linesOf(bytes).map(({ messageId }) => messageId)).toEqual([failed, last]);
  expect(row.rows).toBe(2);
});

async function storeContacts(): Promise<number[]> {
  const [field] = await many<{ id: number }>(
    database.pool,
    sql`INSERT INTO custom_field (account_id, name, type) VALUES (${accountId}, 'note', 'text'), (${accountId}, 'age', 'number')
        RETURNING id`,
  );
  const rows = await many<{ id: number }>(
    database.pool,
    sql`INSERT INTO contact (account_id, first_name, last_name, phone_number, email, is_valid, channels, custom_fields)
        SELECT ${accountId}, 'First', '+1+1', '+39333000000' || n, 'a@example.com', true, 5,
               jsonb_build_object(${String(field?.id)}::text, '+393331234567', ${String((field?.id ?? 0) + 1)}::text, -n)
        FROM generate_series(1, 3) AS n RETURNING id`,
  );
  await exec(
    database.pool,
    sql`INSERT INTO opt_out (account_id, phone_number, channel, source)
        VALUES (${accountId}, '+393330000001', 'SMS', 'API'), (${accountId}, '+393330000001', 'RCS', 'API')`,
  );
  return rows.map(({ id }) => id);
}

test('contacts have their custom fields and opt-outs; numbers stay, formulas do not', async () => {
  const ids = await storeContacts();
  const { bytes } = await made({ type: 'CONTACTS', filters: {} });
  const lines = linesOf(bytes);
  expect(lines.map(({ id }) => Number(id))).toEqual(ids);
  expect(lines[0]).toMatchObject({
    firstName: 'First',
    lastName: "'+1+1",
    fullName: 'First +1+1',
    phoneNumber: '+393330000001',
    communicationSupported: 'SMS WHATSAPP',
    optedOut: 'RCS SMS',
    note: "'+393331234567",
    age: '-1',
  });
});

test('contacts can be selected by id or by list, each exported once', async () => {
  const ids = await storeContacts();
  await exec(
    database.pool,
    sql`INSERT INTO contact_list_member (account_id, list_id, contact_id, name_key)
        SELECT ${accountId}, l, ${ids[1] ?? 0}, '' FROM generate_series(1, 2) AS l`,
  );
  const named = await made({ type: 'CONTACTS', filters: { contactIds: ids.slice(0, 2) } });
  const listed = await made({ type: 'CONTACTS', filters: { listIds: [1, 2] } });
  expect(linesOf(named.bytes).map(({ id }) => Number(id))).toEqual(ids.slice(0, 2));
  expect(linesOf(listed.bytes).map(({ id }) => Number(id))).toEqual([ids[1]]);
});

test('the compressed file has the content of the plain one', async () => {
  await store(100);
  const [plain, packed] = [await made(history()), await made(history(), 'csv.gz')];
  expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
});

test('a workbook has the same rows, numbers as numbers and every text as it is', async () => {
  const clientId = '=1+1\t\\n"<&>\r\n\u0007𝄞';
  const [id] = await store(1, { clientId, priceMicros: 35_000, sender: '-x' });
  await store(1999);
  const { row, bytes } = await made(history(), 'xlsx');
  const [sheet] = (await readXlsx(bytes)).sheets;
  const [head = [], ...rows] = sheet?.rows ?? [];
  const ours = rows.find((cells) => cells[0] === id) ?? [];
  const record = Object.fromEntries(head.map((name, i) => [String(name), ours[i]]));
  expect([sheet?.rows.length, row.rows]).toEqual([2001, 2000]);
  expect(record).toMatchObject({ messageId: id, parts: 1, price: 0.035, sender: '-x', deliveryStatusCode: 1 });
  expect(String(record['customerMessageId']).replaceAll('\r\n', '\n')).toBe(
    clientId.replaceAll('\r\n', '\n').replace('\u0007', '\ufffd'),
  );
});

test('a workbook is a plain ZIP, because LibreOffice 7.4 cannot open ZIP64', async () => {
  await store(100);
  const { bytes } = await made(history(), 'xlsx');
  const [endOfPlain, endOfLarge] = ['PK\x05\x06', 'PK\x06\x06'];
  expect([bytes.includes(endOfPlain), bytes.includes(endOfLarge)]).toEqual([true, false]);
});

test('many workers make each export once, and never two of one account at a time', async () => {
  await store(50);
  const rows = [await enqueue(history()), await enqueue(history()), await enqueue(history())];
  let [now, most] = [0, 0];
  const counted: Pick<Storage, 'put'> = {
    async put(...args) {
      most = Math.max(most, ++now);
      return storage.put(...args).finally(() => now--);
    },
  };
  await makeAll(counted);
  const found = await Promise.all(rows.map(({ id }) => find(id)));
  expect(found.map((row) => row?.status)).toEqual(['COMPLETED', 'COMPLETED', 'COMPLETED']);
  expect(most).toBe(1);
});

test('accounts take turns, however many exports one of them has requested before', async () => {
  const names = new Map<string, string>();
  for (const [name, exports] of Object.entries({ first: 3, second: 3, third: 1 })) {
    ({ accountId } = await createAccount(database.pool, { name, plan: 'unlimited' }));
    names.set(String(accountId), name);
    for (let n = 0; n < exports; n++) await enqueue(history());
  }
  let isHeld = true;
  const stored: { name: string | undefined; release: () => void }[] = [];
  const held: Pick<Storage, 'put'> = {
    async put(key, ...args) {
      const { promise, resolve: release } = Promise.withResolvers<void>();
      if (!isHeld) release();
      stored.push({ name: names.get(key.split('/')[1] ?? ''), release });
      await promise;
      return storage.put(key, ...args);
    },
  };
  const making = makeAll(held);
  await until('both places to be taken', () => stored.length === 2);
  stored[0]?.release();
  await until('the free place to be taken', () => stored.length === 3);
  const [third, ...before] = stored.map(({ name }) => name).toReversed();
  expect([third, before.toSorted()]).toEqual(['third', ['first', 'second']]);
  isHeld = false;
  for (const { release } of stored) release();
  await making;
});

test('a worker that was taken for dead commits nothing, and its file is deleted', async () => {
  await store(10);
  const { id } = await enqueue(history());
  const keys: string[] = [];
  await makeAll({
    async put(key, ...rest) {
      keys.push(key);
      await exec(database.pool, sql`UPDATE job SET owner = 1 WHERE key = ${id}`);
      return storage.put(key, ...rest);
    },
  });
  expect(await removals(0)).toHaveLength(1);
  expect((await find(id))?.status).toBe('PENDING');
  await runJobs(database.pool, fileRemoval.using({ storage }));
  expect(await storage.exists(keys[0] ?? '')).toBe(false);
});

const removals = (afterHours: number) =>
  many<{ key: string }>(
    database.pool,
    sql`SELECT key FROM job WHERE kind = ${fileRemoval.kind} AND account_id = ${accountId} AND run_at <= now() + make_interval(hours => ${afterHours})`,
  );

test('a failed export is retried later, and fails for good after eight attempts', async () => {
  const { id } = await enqueue(history());
  const away = { put: () => Promise.reject(new Error('the store is away')) };
  for (let n = 1; n <= 8; n++) {
    await exec(database.pool, sql`UPDATE job SET run_at = now() WHERE key = ${id}`);
    expect(await makeAll(away)).toBe(1);
    expect((await find(id))?.status).toBe(n < 8 ? 'PENDING' : 'FAILED');
  }
  expect(await find(id)).toMatchObject({ status: 'FAILED', failure: 'Internal error: the file could not be created' });
  // The files of failed attempts are deleted after a day.
  expect((await removals(25)).length).toBe(8);
});

test('other workers can take over the exports of a stopping worker at once', async () => {
  const { id } = await enqueue(history());
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const stuck: Store = {
    async put(_, content) {
      begin();
      if ('on' in content) await once(content, 'end');
      return 0;
    },
  };
  const { pool } = database;
  const worker = { pool, owner: newOwnerKey(), jobs: [kind(stuck)], paused: () => false, log: silentLog };
  const { work, stop } = createJobRunner(worker);
  await work();
  await begun;
  await stop();
  expect(await makeAll()).toBe(1);
  expect(await find(id)).toMatchObject({ status: 'COMPLETED', rows: 0 });
});

test('an export becomes EXPIRED when its time is over, and its file is deleted', async () => {
  const { row } = await made(history());
  await exec(database.pool, sql`UPDATE export SET expires_at = now() WHERE account_id = ${accountId}`);
  expect(await find(row.id)).toMatchObject({ status: 'EXPIRED' });
  expect(await expireExports(database.pool)).toBe(1);
  expect(await find(row.id)).toMatchObject({ status: 'EXPIRED', fileKey: null });
  await runJobs(database.pool, fileRemoval.using({ storage }));
  expect(await storage.exists(row.fileKey ?? '')).toBe(false);
  expect(await db.deleteOldExports(database.pool, { days: 1 })).toBe(0);
  await exec(
    database.pool,
    sql`UPDATE export SET completed_at = now() - interval '2 days' WHERE account_id = ${accountId}`,
  );
  expect(await db.deleteOldExports(database.pool, { days: 1 })).toBe(1);
});

test('the progress of an export is updated while it is made, and not afterwards', async () => {
  const { id } = await enqueue(history());
  const progress = { accountId, id, rows: 5, expectedRows: 10 };
  expect(await db.updateProgress(database.pool, progress)).toBe(1);
  expect(await find(id)).toMatchObject({ rows: 5, expectedRows: 10 });
  await exec(database.pool, sql`UPDATE export SET status = 'FAILED' WHERE account_id = ${accountId}`);
  expect(await db.updateProgress(database.pool, progress)).toBe(0);
});
