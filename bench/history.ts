import { randomInt } from 'node:crypto';
import type pg from 'pg';
import { createPastDayIndexer, ensurePartitions } from '../src/core/db/partitions.ts';
import { createPool } from '../src/core/db/pool.ts';
import { silentLog } from '../src/core/log.ts';
import { DAY_MS } from '../src/core/time.ts';
import { type Backend, openBackend } from './lib/backend.ts';
import type { Report } from './lib/report.ts';
import { p99, timeFigures } from './lib/times.ts';

const MESSAGES = Number(process.argv[3] ?? 10_000_000);
const READS = Number(process.argv[4] ?? 100);
const WARM_UP = 10;
const SMALL_FACTOR = 100;
/**
 * Not lower, because all of the day that is written to is read for what it does not have
 * (src/core/db/partitions.ts).
 */
const TARGET = 5;
const DAYS = 30;
const PATH = '/messages/history';

const dayAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString();
const between = (from: string, to: string, more: string): string =>
  `${PATH}?${new URLSearchParams({ from, to })}&${more}`;
const allDays = (more: string): string => between(dayAgo(DAYS + 1), dayAgo(0), more);
/** A range of one day that begins at random. */
const oneDay = (more: string): string => {
  const days = 2 + randomInt(1_000_000) / (1_000_000 / (DAYS - 3));
  return between(dayAgo(days), dayAgo(days - 1), more);
};

/** The queries: over a range of all days, or of one of them. */
const QUERIES = {
  newest: () => allDays('channel=SMS'),
  large: () => allDays('channel=SMS&limit=1000'),
  page: () => allDays(`channel=SMS&page=${randomInt(100)}`),
  deepPage: () => allDays(`channel=SMS&page=${randomInt(3000)}`),
  day: () => oneDay('channel=WHATSAPP'),
  delivered: () => allDays('channel=SMS&status=DELIVERED'),
  anyPage: () => allDays(`channel=SMS&page=${randomInt((MESSAGES / SMALL_FACTOR / 20) * 0.8)}`),
  waiting: () => allDays('channel=SMS&status=ACCEPTED'),
  undeliverable: () => oneDay('channel=SMS&status=UNDELIVERABLE&limit=10'),
  noneOfStatus: () => allDays('channel=SMS&status=DELETED'),
  noneOfChannel: () => allDays('channel=RCS'),
} satisfies Readonly<Record<string, () => string>>;

type Kind = keyof typeof QUERIES;
const KINDS = Object.keys(QUERIES) as Kind[];

/**
 * Reads pages of a history of ten million messages over 30 days through HTTP, and of one of a hundredth of that size,
 * in turns, from two gateways on the same machine. The p99 of each kind of page may be five times as long.
 */
export async function benchHistory(): Promise<Report> {
  await using small = await openBackend();
  await using large = await openBackend();
  await fill(small, MESSAGES / SMALL_FACTOR);
  await fill(large, MESSAGES);
  const few = await measureInTurns(small, large);
  const figures: Record<string, number> = { messages: MESSAGES, reads: READS };
  for (const kind of KINDS)
    Object.assign(figures, timeFigures(kind, few[kind].large), { [`${kind}.times`]: few[kind].times });
  const worst = Math.max(...KINDS.map((kind) => few[kind].times));
  return { name: 'history', ratio: TARGET / worst, target: 1, figures: { ...figures, worstTimesSmall: worst } };
}

type Measured = { readonly large: readonly number[]; readonly times: number };

async function measureInTurns(small: Backend, large: Backend): Promise<Record<Kind, Measured>> {
  const taken = KINDS.map((kind) => [kind, { small: [] as number[], large: [] as number[] }] as const);
  for (let i = -WARM_UP; i < READS; i++)
    for (const [kind, own] of taken) {
      const path = QUERIES[kind]();
      const [few, many] = [await small.time(path), await large.time(path)];
      if (i >= 0) own.small.push(few);
      if (i >= 0) own.large.push(many);
    }
  const entries = taken.map(([kind, own]) => [kind, { large: own.large, times: p99(own.large) / p99(own.small) }]);
  return Object.fromEntries(entries) as Record<Kind, Measured>;
}

async function fill({ db, accountId, connectionString }: Backend, messages: number): Promise<void> {
  const pool = createPool(connectionString, { max: 1, applicationName: 'bench', log: silentLog });
  for (let day = DAYS; day >= 0; day--) await ensurePartitions(pool, new Date(Date.now() - day * DAY_MS));
  for (let day = DAYS; day > 0; day--) await fillDay(db, accountId, day, messages / DAYS);
  await db.query('VACUUM (ANALYZE) message, message_state');
  // As the worker does every hour.
  await createPastDayIndexer(pool).work(new Date());
  await pool.end();
}

/**
 * Four out of five messages are SMS, nearly all others WhatsApp, and 20 in ten million RCS. 19 out of 20 are delivered,
 * one in a thousand undeliverable, and 20 in all deleted.
 */
const fillDay = (db: pg.Client, accountId: number, daysAgo: number, messages: number): Promise<unknown> =>
  db.query(
    `WITH made AS (
       INSERT INTO message (account_id, id, client_id, channel, source, simulation, connection_id, sender, destination, body,
         parts, want_receipt, price_micros)
       SELECT $1, uuidv7(($2 + n / $3::float8) * interval '1 day'), 'order-' || n,
         CASE WHEN n % 500000 = 3 THEN 'RCS' WHEN n % 5 = 0 THEN 'WHATSAPP' ELSE 'SMS' END, 'API', false, 1, 'Heliograph',
         '+39333' || lpad(n::text, 7, '0'), 'Your order is on its way: it arrives tomorrow between 10 and 12.', 1, true, 35000
       FROM generate_series(1, $3::int) AS n RETURNING id, channel, right(client_id, -6)::int AS n)
     INSERT INTO message_state (account_id, id, status, attempts, connection_id, carrier_id, submitted_at, done_at, updated_at,
       channel)
     SELECT $1, id, CASE WHEN n % 500000 = 7 THEN 5 WHEN n % 1000 = 2 THEN 6 WHEN n % 20 = 1 THEN 4 ELSE 3 END, 1, 1,
       md5(id::text), now(), now(), now(), CASE channel WHEN 'SMS' THEN 1 WHEN 'RCS' THEN 2 ELSE 4 END FROM made`,
    [accountId, -daysAgo, Math.floor(messages)],
  );
