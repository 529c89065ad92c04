import { findGuardStatus } from '../../../messaging/restore-guard/sql.ts';
import { kindOf } from '../../../network/connections/kinds/kinds.ts';
import type { Db } from '../../../platform/db/query.ts';
import { toChannels } from '../../../platform/lib/channel.ts';
import { fromMicros } from '../../../platform/lib/money.ts';
import { DAY_MS, MINUTE_MS } from '../../../platform/lib/time.ts';
import { listWorkers } from '../../workers/sql.ts';
import { listAttention } from '../attention/attention.ts';
import type { Attention } from '../attention/sql.ts';
import { type ConnectionRow, listConnectionPage } from '../connections/sql.ts';
import { isoOrNull } from '../fields.ts';
import { toMarginOut } from '../margins/margin.ts';
import { findMargin } from '../margins/sql.ts';
import { findDepth } from '../queues/sql.ts';
import * as db from './sql.ts';

/** In practice a gateway has only a few connections. */
const MAX_CONNECTIONS = 1000;
const MINUTES = 60;

/**
 * Describes the rates and totals of all accounts and the items that need attention, from roll-ups and from the reports
 * of workers every ten seconds.
 */
export async function describeGateway(pool: Db, now: Date) {
  const [guard, workers] = [await findGuardStatus(pool), await listWorkers(pool)];
  const connections = await listConnectionPage(pool, { name: null, limit: MAX_CONNECTIONS, offset: 0 });
  const attention = await listAttention(pool, { guard, workers, connections, now });
  const channels = (await db.listChannelTraffic(pool)).map(toFigures);
  const { waiting, inFlight, oldestSeconds } = await findDepth(pool);
  return {
    asOf: now.toISOString(),
    fence: { paused: guard.state === 'paused', reason: guard.reason, since: guard.since.toISOString() },
    workers: workers.filter(({ alive }) => alive).length,
    accounts: await db.countAccountsByStatus(pool),
    last24h: sumOf(channels),
    channels,
    margin: toMarginOut(await findMargin(pool, lastDays(now))),
    credit: (await db.listCreditTotals(pool)).map(toCredit),
    queue: { waiting, inFlight, oldestSeconds },
    perSecond: connections.reduce((sum, { perSecond }) => sum + perSecond, 0),
    connections: connections.map(toConnection),
    series: seriesOf(await db.listMinutesByKind(pool), now),
    top: await db.listBusiestAccounts(pool, { limit: 10 }),
    attention: attention.map(toAttention),
  };
}

/** Today and the six days before. */
const lastDays = (now: Date) => ({ from: new Date(now.getTime() - 7 * DAY_MS), to: now });

const toAttention = ({ since, ...attention }: Attention) => ({ ...attention, since: isoOrNull(since) });

const toCredit = ({ currency, availableMicros, frozenMicros }: db.CreditTotal) => ({
  currency,
  available: fromMicros(availableMicros),
  frozen: fromMicros(frozenMicros),
});

const toFigures = ({ channel, costMicros, ...counts }: db.ChannelTraffic) => ({
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
function seriesOf(rows: readonly db.KindMinute[], now: Date) {
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
