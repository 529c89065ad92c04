import { openAsBlob } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { API } from './lib/backend.ts';
import { runCommand } from './lib/processes.ts';
import type { Report } from './lib/report.ts';
import { type Sent, startSingles } from './lib/singles-process.ts';
import { openStage, postBulk, type Stage, sendBulk, until } from './lib/stage.ts';
import { p50, p99 } from './lib/times.ts';
import { destinationOf } from './lib/traffic.ts';

const MESSAGES = Number(process.argv[3] ?? 200_000);
const CONTACTS = MESSAGES * 2.5;
const PER_SECOND = 100;
const ALONE_MS = 20_000;
const WARM_UP = Math.min(MESSAGES, 50_000);
/** Longest 99th percentile while both cores are saturated, as a multiple of that alone. */
const MAX_FACTOR = 3;
/** The same while the carrier's rate limits the bulk. */
const MAX_LIMITED_FACTOR = 1.5;
const LIMITED_PER_SECOND = 500;

/** Times of single sends while one of the loads ran, in ms. */
type Measured = { readonly answer: readonly number[]; readonly carrier: readonly number[]; readonly seconds: number };

/**
 * Single sends of one account, 100 a second, alone and during each of five loads of another: messages in bulk, a campaign,
 * an import of contacts, an export of all messages, and messages in bulk that wait for the rate of the carrier. Measures the time to the response, and from there to the response of
 * the carrier. The ratio is that of the worst load: what the 99th percentile may be, as a
 * multiple of that alone, to what it is.
 */
export async function benchMixed(): Promise<Report> {
  await using stage = await openStage();
  const apiKey = await addAccount(stage);
  const during = (load: () => Promise<unknown>): Promise<Measured> => measure(stage, apiKey, load);
  await during(() => sendBulk(stage, WARM_UP));
  const alone = await during(() => delay(ALONE_MS));
  const loads = {
    bulk: await during(() => sendBulk(stage, MESSAGES)),
    import: await during(() => importContacts(stage)),
    campaign: await during(() => sendCampaign(stage)),
    export: await during(() => exportMessages(stage)),
  };
  const limited = await whileLimited(stage, () => during(() => delay(ALONE_MS)));
  const factorOf = ({ answer, carrier }: Measured): number =>
    Math.max(p99(answer) / p99(alone.answer), p99(carrier) / p99(alone.carrier));
  return {
    name: 'mixed',
    ratio: Math.min(
      MAX_FACTOR / Math.max(...Object.values(loads).map(factorOf)),
      MAX_LIMITED_FACTOR / factorOf(limited),
    ),
    target: 1,
    figures: Object.assign(
      {},
      ...Object.entries({ alone, ...loads, limited }).map(([name, taken]) => figuresOf(name, taken)),
    ),
  };
}

/** Measures while messages in bulk wait for a carrier that takes 500 a second. */
async function whileLimited(stage: Stage, measureIt: () => Promise<Measured>): Promise<Measured> {
  await stage.operate('connection', 'update', 'bench', '--set', `tps=${LIMITED_PER_SECOND}`);
  await postBulk(stage, MESSAGES);
  return measureIt();
}

const figuresOf = (name: string, { answer, carrier, seconds }: Measured): Record<string, number> => ({
  [`${name}.seconds`]: seconds,
  [`${name}.answer.p50Ms`]: p50(answer),
  [`${name}.answer.p99Ms`]: p99(answer),
  [`${name}.answer.maxMs`]: Math.max(...answer),
  [`${name}.carrier.p50Ms`]: p50(carrier),
  [`${name}.carrier.p99Ms`]: p99(carrier),
  [`${name}.carrier.maxMs`]: Math.max(...carrier),
});

async function measure(stage: Stage, apiKey: string, load: () => Promise<unknown>): Promise<Measured> {
  const url = `${stage.address}/api/message-server/sms/send`;
  const end = await startSingles({ url, apiKey, perSecond: PER_SECOND });
  const start = performance.now();
  await load();
  const seconds = (performance.now() - start) / 1000;
  const sent = await end();
  return { answer: sent.times, carrier: await timesToCarrier(stage, sent), seconds };
}

/** Returns the times from the creation of each message id, to its millisecond, to the response of the carrier. */
async function timesToCarrier({ pool }: Stage, { ids }: Sent): Promise<number[]> {
  const taken = 'SELECT id, submitted_at FROM message_state WHERE id = ANY($1::uuid[]) AND submitted_at IS NOT NULL';
  const rows = async () => (await pool.query<{ id: string; submitted_at: Date }>(taken, [ids])).rows;
  await until(async () => (await rows()).length === ids.length);
  return (await rows()).map(({ id, submitted_at }) => submitted_at.getTime() - millisecondOf(id));
}

/** The time in a UUIDv7. */
const millisecondOf = (id: string): number => Number.parseInt(id.replace('-', '').slice(0, 12), 16);

async function addAccount({ dataDir, operate }: Stage): Promise<string> {
  const { ready, stop } = await runCommand(['account', 'create', '--name', 'Codes', '--credit', '100000'], {
    DATA_DIR: dataDir,
  });
  await stop();
  await operate('account', 'change', 'Codes', '--rate-per-minute', '100000000');
  return String(ready['apiKey']);
}

async function importContacts({ address, apiKey, call, dataDir }: Stage): Promise<void> {
  const path = join(dataDir, 'contacts.csv');
  await using file = await open(path, 'w');
  await file.write('phoneNumber,firstName\n');
  for (let n = 0; n < CONTACTS; n += 1000)
    await file.write(Array.from({ length: 1000 }, (_, i) => `${destinationOf(n + i)},Name ${n % 999}\n`).join(''));
  const body = new FormData();
  body.append('file', await openAsBlob(path), 'contacts.csv');
  const answer = await fetch(`${address}${API}/contacts/upload`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey },
    body,
  });
  if (answer.status !== 202) throw new Error(`the import got ${answer.status}: ${await answer.text()}`);
  const { importId } = (await answer.json()) as { importId: number };
  await until(async () => {
    const { status } = await call<{ status: string }>('GET', `/contacts/imports/${importId}`);
    return status === 'COMPLETED';
  });
}

/** A campaign to as many contacts as messages were sent in bulk. */
async function sendCampaign({ accountId, call, db, pool }: Stage): Promise<void> {
  const { id: listId } = await call<{ id: number }>('POST', '/contacts/list', { name: 'Bench' });
  await db.query(
    `WITH added AS (
       INSERT INTO contact_list_member (account_id, list_id, contact_id, name_key)
       SELECT account_id, $2, id, lower(full_name) FROM contact WHERE account_id = $1 ORDER BY id LIMIT $3 RETURNING 1)
     UPDATE contact_list SET contact_count = (SELECT count(*) FROM added) WHERE account_id = $1 AND id = $2`,
    [accountId, listId, MESSAGES],
  );
  const sms = {
    sendingMode: 'SMS',
    smsSender: 'Heliograph',
    smsBody: 'Dear {{firstName}}, your parcel arrives today.',
  };
  const body = { name: 'Bench', ...sms, contactListIds: [listId], readyToSend: true };
  const { id } = await call<{ id: number }>('POST', '/campaigns', body);
  await call('POST', `/campaigns/${id}/calculateGoal`);
  await call('PUT', `/campaigns/${id}/confirm`);
  await until(async () => {
    const { rows } = await pool.query<{ delivered: string }>(
      'SELECT coalesce(sum(delivered), 0) AS delivered FROM traffic_hour WHERE campaign_id = $1',
      [id],
    );
    return Number(rows[0]?.delivered) === MESSAGES;
  });
}

async function exportMessages({ call }: Stage): Promise<void> {
  const day = 86_400_000;
  const range = {
    startDateTime: new Date(Date.now() - day).toISOString(),
    endDateTime: new Date(Date.now() + day).toISOString(),
  };
  const { exportId } = await call<{ exportId: string }>('POST', '/messages/history/export', range);
  await until(async () => {
    const { status } = await call<{ status: string }>('GET', `/exports/${exportId}`);
    return status === 'COMPLETED';
  });
}
