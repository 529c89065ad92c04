import { Type } from 'typebox';
import { amount, isoOrNull, OPERATOR_PATH } from '../accounts/operator-fields.ts';
import { toChannels } from '../core/channels.ts';
import { as, columns, type Db, many, one, type RowOf, sql } from '../core/db/query.ts';
import type { App, PlatformDeps } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { fromMicros } from '../core/money.ts';
import { channelName, instant, orNull } from '../core/schema.ts';
import { DAY_MS, MINUTE_MS } from '../core/time.ts';
import { findGuardStatus } from '../messages/restore-guard.ts';
import { findMargin, marginFigures, toMarginOut } from '../money/admin.ts';
import { KindName } from '../routing/kind-admin.ts';
import { type ConnectionKind, kindOf } from '../routing/kinds.ts';
import { type Attention, KIND_NAMES, listAttention, SEVERITIES } from './attention.ts';
import { type ConnectionRow, CountsOut, listConnectionPage } from './connection-store.ts';
import { findDepth } from './queues.ts';
import { listWorkers } from './workers.ts';

const figures = {
  sent: Type.Integer(),
  delivered: Type.Integer(),
  read: Type.Integer(),
  failed: Type.Integer(),
  cost: amount(),
};

const AttentionOut = Type.Object({
  kind: Type.Enum([...KIND_NAMES], {
    type: 'string',
    description: 'The thresholds of the kinds are listed by `operatorListAlertRules`.',
  }),
  severity: Type.Enum([...SEVERITIES], { type: 'string' }),
  count: orNull(
    Type.Integer({
      description:
        'Messages, receipts, routes, credentials or ranges; the percentage that was delivered (delivery_falling) or entered ' +
        '(verify_conversion_drop), MiB that are free (disk_low), or the days that are left (certificate_expiring).',
    }),
  ),
  accounts: orNull(Type.Integer({ description: 'The number of accounts whose messages wait.' })),
  compared: orNull(
    Type.Number({
      description:
        'The percentage of the week before (delivery_falling) or of four weeks (verify_conversion_drop), or the days until ' +
        'the first credential expires (token_expiring).',
    }),
  ),
  subject: orNull(Type.String({ description: 'The name of the connection, the account or the machine.' })),
  subjectId: orNull(Type.Integer({ description: 'The id of the connection or of the account.' })),
  since: orNull(instant('UTC')),
  detail: orNull(Type.String({ description: 'More about it, such as the error text of the carrier.' })),
});

const OverviewOut = Type.Object({
  asOf: instant('UTC'),
  fence: Type.Object({ paused: Type.Boolean(), reason: orNull(Type.String()), since: instant('UTC') }),
  workers: Type.Integer({ description: 'The number of live workers.' }),
  accounts: Type.Object({ total: Type.Integer(), active: Type.Integer(), suspended: Type.Integer() }),
  last24h: Type.Object(figures, { description: 'Messages of the last 24 hours and of the current hour.' }),
  channels: Type.Array(Type.Object({ channel: channelName(), ...figures })),
  margin: Type.Object(marginFigures, { description: 'Figures of today and the six days before, in UTC.' }),
  credit: Type.Array(Type.Object({ currency: Type.String(), available: amount(), frozen: amount() })),
  queue: Type.Object({
    waiting: Type.Integer(),
    inFlight: Type.Integer(),
    oldestSeconds: orNull(amount('The age of the oldest due message.')),
  }),
  perSecond: amount('Messages per second that carriers accepted in the last ten seconds.'),
  connections: Type.Array(
    Type.Object({
      name: Type.String(),
      kind: KindName,
      channel: channelName(),
      status: Type.Enum(['active', 'paused'], { type: 'string' }),
      up: Type.Boolean(),
      perSecond: amount('Messages per second that the carrier accepted in the last ten seconds.'),
      lastHour: CountsOut,
      queued: Type.Integer(),
      oldestSeconds: amount('The age of the oldest due message.'),
    }),
  ),
  series: Type.Array(
    Type.Object({
      minute: instant('UTC'),
      SMS: Type.Integer(),
      RCS: Type.Integer(),
      WHATSAPP: Type.Integer(),
      refused: Type.Integer(),
      unknown: Type.Integer(),
    }),
    { description: 'Messages that carriers accepted, by minute: the last 60 minutes, including empty ones.' },
  ),
  top: Type.Array(Type.Object({ accountId: Type.Integer(), account: Type.String(), sent: Type.Integer() }), {
    description: 'The accounts with the most messages in the current hour and the one before.',
  }),
  attention: Type.Array(AttentionOut),
});

/** Registers the route behind the first page of the operator console. */
export function operatorOverviewRoutes(app: App, { pool, clock }: PlatformDeps): void {
  app.get(`${OPERATOR_PATH}/overview`, {
    onRequest: requireOperator(),
    schema: {
      tags: ['Operator: health'],
      operationId: 'operatorFindOverview',
      summary: 'Get rates, totals and attention items of all accounts',
      response: { 200: OverviewOut },
    },
    handler: () => describeGateway(pool, clock.now()),
  });
}

/** In practice a gateway has only a few connections. */
const MAX_CONNECTIONS = 1000;
const MINUTES = 60;

/**
 * Describes the rates and totals of all accounts and the items that need attention, from roll-ups and from the reports
 * of workers every ten seconds.
 */
async function describeGateway(pool: Db, now: Date) {
  const [guard, workers] = [await findGuardStatus(pool), await listWorkers(pool)];
  const connections = await listConnectionPage(pool, { name: null, limit: MAX_CONNECTIONS, offset: 0 });
  const attention = await listAttention(pool, { guard, workers, connections, now });
  const channels = (await listChannelTraffic(pool)).map(toFigures);
  const { waiting, inFlight, oldestSeconds } = await findDepth(pool);
  return {
    asOf: now.toISOString(),
    fence: { paused: guard.state === 'paused', reason: guard.reason, since: guard.since.toISOString() },
    workers: workers.filter(({ alive }) => alive).length,
    accounts: await countAccountsByStatus(pool),
    last24h: sumOf(channels),
    channels,
    margin: toMarginOut(await findMargin(pool, lastDays(now))),
    credit: (await listCreditTotals(pool)).map(toCredit),
    queue: { waiting, inFlight, oldestSeconds },
    perSecond: connections.reduce((sum, { perSecond }) => sum + perSecond, 0),
    connections: connections.map(toConnection),
    series: seriesOf(await listMinutesByKind(pool), now),
    top: await listBusiestAccounts(pool, { limit: 10 }),
    attention: attention.map(toAttention),
  };
}

/** Today and the six days before. */
const lastDays = (now: Date) => ({ from: new Date(now.getTime() - 7 * DAY_MS), to: now });

const toAttention = ({ since, ...attention }: Attention) => ({ ...attention, since: isoOrNull(since) });

const toCredit = ({ currency, availableMicros, frozenMicros }: CreditTotal) => ({
  currency,
  available: fromMicros(availableMicros),
  frozen: fromMicros(frozenMicros),
});

const toFigures = ({ channel, costMicros, ...counts }: ChannelTraffic) => ({
  channel: toChannels(channel)[0] ?? 'SMS',
  ...counts,
  cost: fromMicros(costMicros),
});

type Figures = Omit<ReturnType<typeof toFigures>, 'channel'>;

const sumOf = (channels: readonly Figures[]): Figures =>
  channels.reduce(
    (sum, { sent, delivered, read, failed, cost }) => ({
      sent: sum.sent + sent,
      delivered: sum.delivered + delivered,
      read: sum.read + read,
      failed: sum.failed + failed,
      cost: sum.cost + cost,
    }),
    { sent: 0, delivered: 0, read: 0, failed: 0, cost: 0 },
  );

const toConnection = (row: ConnectionRow) => ({
  name: row.name,
  kind: row.kind,
  channel: kindOf(row).channel,
  status: row.status,
  up: row.up,
  perSecond: row.perSecond,
  lastHour: { accepted: row.accepted, refused: row.refused, retried: row.retried, unknown: row.unknown },
  queued: row.queued,
  oldestSeconds: row.oldestSeconds,
});

/** Makes a bucket for every minute, because a chart needs empty minutes too. */
function seriesOf(rows: readonly KindMinute[], now: Date) {
  const last = Math.floor(now.getTime() / MINUTE_MS);
  const byMinute = Map.groupBy(rows, ({ minute }) => minute.getTime() / MINUTE_MS);
  return Array.from({ length: MINUTES }, (_, n) => {
    const minute = last - MINUTES + 1 + n;
    const bucket = {
      minute: new Date(minute * MINUTE_MS).toISOString(),
      SMS: 0,
      RCS: 0,
      WHATSAPP: 0,
      refused: 0,
      unknown: 0,
    };
    for (const row of byMinute.get(minute) ?? []) {
      bucket[kindOf(row).channel] += row.accepted;
      bucket.refused += row.refused;
      bucket.unknown += row.unknown;
    }
    return bucket;
  });
}

const ACCOUNT_TOTALS = columns({
  total: as<number>('count(*)'),
  active: as<number>(`count(*) FILTER (WHERE status = 'active')`),
  suspended: as<number>(`count(*) FILTER (WHERE status = 'suspended')`),
});
type AccountTotals = RowOf<typeof ACCOUNT_TOTALS>;

async function countAccountsByStatus(db: Db): Promise<AccountTotals> {
  return one(db, sql`SELECT ${ACCOUNT_TOTALS} FROM account`);
}

const CHANNEL_TRAFFIC = columns({
  /** The bit of the channel (src/core/channels.ts). */
  channel: as<number>('channel'),
  sent: as<number>('sum(sent)::bigint'),
  delivered: as<number>('sum(delivered)::bigint'),
  read: as<number>('sum(read)::bigint'),
  failed: as<number>('sum(failed)::bigint'),
  costMicros: as<number>('sum(cost_micros)::bigint'),
});
type ChannelTraffic = RowOf<typeof CHANNEL_TRAFFIC>;

/** Lists the traffic of all accounts by channel, from the roll-ups of the last 24 hours and of the current hour. */
async function listChannelTraffic(db: Db): Promise<ChannelTraffic[]> {
  return many(
    db,
    sql`SELECT ${CHANNEL_TRAFFIC}
        FROM traffic_hour WHERE hour >= date_trunc('hour', now()) - interval '24 hours'
        GROUP BY channel ORDER BY channel`,
  );
}

const BUSY_ACCOUNT = columns({
  accountId: as<number>('t.account_id'),
  account: as<string>('a.name'),
  sent: as<number>('t.sent'),
});

/** Lists the accounts with the most messages in the current hour and the one before. */
async function listBusiestAccounts(db: Db, { limit }: { limit: number }): Promise<RowOf<typeof BUSY_ACCOUNT>[]> {
  return many(
    db,
    sql`SELECT ${BUSY_ACCOUNT}
        FROM (SELECT account_id, sum(sent)::bigint AS sent FROM traffic_hour
              WHERE hour >= date_trunc('hour', now()) - interval '1 hour' GROUP BY account_id
              HAVING sum(sent) > 0 ORDER BY sent DESC, account_id LIMIT ${limit}) AS t
        JOIN account a ON a.id = t.account_id ORDER BY t.sent DESC, t.account_id`,
  );
}

const CREDIT_TOTAL = columns({
  currency: as<string>('b.currency'),
  availableMicros: as<number>('sum(b.available_micros)::bigint'),
  frozenMicros: as<number>('coalesce(sum(f.micros), 0)::bigint'),
});
type CreditTotal = RowOf<typeof CREDIT_TOTAL>;

/** Lists the credit of all accounts together, by currency. */
async function listCreditTotals(db: Db): Promise<CreditTotal[]> {
  return many(
    db,
    sql`SELECT ${CREDIT_TOTAL}
        FROM credit_balance b
        LEFT JOIN (SELECT account_id, sum(micros) AS micros FROM credit_frozen GROUP BY account_id) AS f
          ON f.account_id = b.account_id
        GROUP BY b.currency ORDER BY b.currency`,
  );
}

const KIND_MINUTE = columns({
  minute: as<Date>('m.minute'),
  kind: as<ConnectionKind>('c.kind'),
  accepted: as<number>('sum(m.accepted)::bigint'),
  refused: as<number>('sum(m.refused)::bigint'),
  unknown: as<number>('sum(m.unknown)::bigint'),
});
type KindMinute = RowOf<typeof KIND_MINUTE>;

/**
 * Lists the responses of carriers in the last 60 minutes, by minute and kind of connection. Empty minutes are missing.
 */
async function listMinutesByKind(db: Db): Promise<KindMinute[]> {
  return many(
    db,
    sql`SELECT ${KIND_MINUTE}
        FROM connection_minute m JOIN connection c ON c.id = m.connection_id
        WHERE m.minute > date_trunc('minute', now()) - interval '1 hour'
        GROUP BY m.minute, c.kind`,
  );
}
