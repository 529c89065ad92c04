import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from } from 'pg-copy-streams';
import { copyRate } from './lib/copy-rate.ts';
import { type Costs, costFigures, countCosts, cpuMicrosOf, memoryFigures } from './lib/costs.ts';
import type { Report } from './lib/report.ts';
import { openStage, type Stage, sendBulk, until } from './lib/stage.ts';
import { destinationOf } from './lib/traffic.ts';

const RECIPIENTS = Number(process.argv[3] ?? 1_000_000);
/** The messages in bulk, and the recipients of a campaign, before anything is measured. */
const WARM_UP = 100_000;
const BULK = 100_000;
/** Maximum CPU time of a recipient of a campaign, as a multiple of that of a message in bulk. */
const MAX_FACTOR = 1.3;
const LISTS = 10;
const ROWS_PER_CHUNK = 1000;
const PASSES = 3;
const DEMO = 1;
const TEXT =
  'Dear {{firstName|customer}}, your parcel arrives today between 10 and 12. Track it at example.com/t/4711.';

/**
 * Sends a campaign to contacts of ten overlapping lists, each with a personal text, through the sandbox carrier with a
 * receipt for every message: from the confirmation to the last receipt, including the making of recipients and
 * messages. The process is warm, from a smaller campaign and from messages in bulk, whose CPU time (gateway and
 * PostgreSQL) the ratio compares with that of a recipient. Also compares the time of the goal with that of the simplest
 * count over the same rows.
 */
export async function benchCampaign(): Promise<Report> {
  await using stage = await openStage();
  await sendBulk(stage, WARM_UP);
  await sendCampaign(stage, WARM_UP);
  const bulk = await costsOfBulk(stage);
  const { seconds, costs, goal } = await sendCampaign(stage, RECIPIENTS);
  const limit = await copyRate(stage.connectionString);
  const factor = cpuMicrosOf(costs) / cpuMicrosOf(bulk);
  return {
    name: 'campaign',
    ratio: MAX_FACTOR / factor,
    target: 1,
    figures: {
      recipients: RECIPIENTS,
      cpuToBulk: factor,
      cpuToBulkTarget: MAX_FACTOR,
      recipientsPerSecond: Math.round(RECIPIENTS / seconds),
      copyMessagesPerSecond: Math.round(limit.messagesPerSecond),
      ...costs,
      ...memoryFigures(stage),
      ...costFigures('bulk', bulk),
      ...goal,
    },
  };
}

async function costsOfBulk(stage: Stage): Promise<Costs> {
  const costsOf = await countCosts(stage);
  await sendBulk(stage, BULK);
  return costsOf(BULK);
}

/** Sends a campaign to as many new contacts, and waits for all receipts. */
export async function sendCampaign(stage: Stage, recipients: number) {
  const listIds = await fill(stage.db, recipients);
  const id = await createCampaign(stage, listIds);
  const goal = await compareGoal(stage, id, listIds);
  const costsOf = await countCosts(stage);
  const seconds = await send(stage, id, recipients);
  return { seconds, costs: await costsOf(recipients), goal };
}

/** Stores contacts, each in two of the lists; returns the ids of the lists. */
async function fill(db: pg.Client, count: number): Promise<number[]> {
  await db.query('DELETE FROM contact_list_member');
  await db.query('DELETE FROM contact_list');
  await db.query('DELETE FROM contact');
  const columns = 'account_id, first_name, phone_number, country, is_valid, channels';
  await pipeline(Readable.from(lines(count)), db.query(from(`COPY contact (${columns}) FROM STDIN`)));
  const lists = await db.query<{ id: string }>(
    `INSERT INTO contact_list (account_id, name) SELECT $1, 'List ' || n FROM generate_series(1, $2::int) AS n RETURNING id`,
    [DEMO, LISTS],
  );
  const ids = lists.rows.map((row) => Number(row.id));
  await db.query(
    `INSERT INTO contact_list_member (account_id, list_id, contact_id, name_key)
     SELECT account_id, ($2::bigint[])[1 + (id + shift) % $3], id, lower(full_name)
     FROM contact, unnest(ARRAY[0, 3]) AS shift WHERE account_id = $1 ON CONFLICT DO NOTHING`,
    [DEMO, ids, LISTS],
  );
  await db.query(
    `UPDATE contact_list l SET contact_count = (SELECT count(*) FROM contact_list_member m
       WHERE m.account_id = l.account_id AND m.list_id = l.id) WHERE account_id = $1`,
    [DEMO],
  );
  await db.query('UPDATE contact_book SET contacts = (SELECT count(*) FROM contact) WHERE account_id = $1', [DEMO]);
  await db.query('VACUUM (ANALYZE) contact, contact_list_member');
  return ids;
}

function* lines(count: number): Generator<string> {
  const chunk: string[] = [];
  for (let n = 0; n < count; n++) {
    chunk.push(`${DEMO}\tName ${n % 1000}\t${destinationOf(n)}\tIT\tt\t1\n`);
    if (chunk.length === ROWS_PER_CHUNK) yield chunk.splice(0).join('');
  }
  yield chunk.join('');
}

async function createCampaign(stage: Stage, contactListIds: readonly number[]): Promise<number> {
  const sms = { sendingMode: 'SMS', smsSender: 'Heliograph', smsBody: TEXT };
  const body = { name: 'Bench', ...sms, contactListIds, readyToSend: true };
  return (await stage.call<{ id: number }>('POST', '/campaigns', body)).id;
}

/** The best of several passes of each, run in turns. */
async function compareGoal(stage: Stage, id: number, listIds: readonly number[]) {
  const plain = `SELECT count(DISTINCT c.phone_number) FROM contact_list_member m
    JOIN contact c ON c.account_id = m.account_id AND c.id = m.contact_id
    WHERE m.account_id = $1 AND m.list_id = ANY($2::bigint[])`;
  const times: [goalSeconds: number, plainSeconds: number][] = [];
  for (let pass = 0; pass < PASSES; pass++)
    times.push([
      await timed(() => stage.call('POST', `/campaigns/${id}/calculateGoal`)),
      await timed(() => stage.db.query(plain, [DEMO, listIds])),
    ]);
  const goalSeconds = Math.min(...times.map(([goal]) => goal));
  const plainSeconds = Math.min(...times.map(([, count]) => count));
  return { goalSeconds, plainSeconds, goalRatio: goalSeconds / plainSeconds, goalRatioTarget: 4 };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}

/** Returns after how many seconds every message was sent and had its receipt. */
async function send(stage: Stage, id: number, recipients: number): Promise<number> {
  const start = performance.now();
  await stage.call('PUT', `/campaigns/${id}/confirm`);
  await until(async () => {
    const { rows } = await stage.pool.query<{ delivered: string }>(
      'SELECT coalesce(sum(delivered), 0) AS delivered FROM traffic_hour WHERE campaign_id = $1',
      [id],
    );
    return Number(rows[0]?.delivered) === recipients;
  });
  return (performance.now() - start) / 1000;
}
