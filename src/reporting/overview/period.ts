import { invalidFields } from '../../platform/errors.ts';
import type { Db } from '../../platform/db/query.ts';
import { amountFor, type AmountReader } from '../../platform/lib/amounts.ts';
import { bitOf, CHANNELS } from '../../platform/lib/channel.ts';
import { DAY_MS } from '../../platform/lib/time.ts';
import { readRange } from '../stats/range.ts';
import type { PeriodOut } from './schema.ts';
import { type DayRow, listDays } from './sql.ts';

const MAX_DAYS = 366;

type Reader = AmountReader & { readonly accountId: number };
type Days = { readonly startDate: string; readonly endDate: string };

/**
 * Finds the figures of a period of days, UTC, and those of the period of the same length before it, to compare. They
 * are exact, whether hours have been folded into days or not. Errors: 400 for more than 366 days, or if the last day is
 * before the first.
 */
export async function findPeriod(db: Db, reader: Reader, days: Days): Promise<PeriodOut> {
  const { from, to } = readRange(days);
  const count = Math.round((to.getTime() - from.getTime()) / DAY_MS);
  if (count > MAX_DAYS)
    throw invalidFields([{ field: 'endDate', message: `must be at most ${MAX_DAYS} days after startDate` }]);
  const before = new Date(from.getTime() - count * DAY_MS);
  const rows = await listDays(db, { accountId: reader.accountId, from: before, to });
  const first = dayOf(from);
  const [current, previous] = [rows.filter(({ day }) => day >= first), rows.filter(({ day }) => day < first)];
  return {
    startDate: first,
    endDate: days.endDate,
    totals: totalsOf(current, reader),
    previous: {
      startDate: dayOf(before),
      endDate: dayOf(new Date(from.getTime() - DAY_MS)),
      totals: totalsOf(previous, reader),
    },
    series: seriesOf(current, from, count),
  };
}

const dayOf = (midnight: Date): string => midnight.toISOString().slice(0, 10);

function totalsOf(rows: readonly DayRow[], reader: AmountReader): PeriodOut['totals'] {
  const sum = (of: (row: DayRow) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const [sent, delivered, failed] = [sum((row) => row.sent), sum((row) => row.delivered), sum((row) => row.failed)];
  const unsent = sum((row) => row.unsent);
  const cost = amountFor(
    reader,
    sum((row) => row.costMicros),
  );
  return { sent, delivered, failed, pending: sent - delivered - (failed - unsent), cost };
}

/** Makes an entry for every day and every channel, with zeros where nothing was sent. */
function seriesOf(rows: readonly DayRow[], from: Date, count: number): PeriodOut['series'] {
  const known = new Map(rows.map((row) => [`${row.day}/${row.channel}`, row]));
  return Array.from({ length: count }, (_, i) => dayOf(new Date(from.getTime() + i * DAY_MS))).flatMap((day) =>
    CHANNELS.map((channel) => {
      const { sent = 0, delivered = 0, failed = 0 } = known.get(`${day}/${bitOf(channel)}`) ?? {};
      return { day, channel, sent, delivered, failed };
    }),
  );
}
