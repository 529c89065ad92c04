import { randomInt } from 'node:crypto';
import type { Db } from '../../../platform/db/query.ts';
import { timeOfId } from '../../../platform/lib/ids.ts';
import { callingCodeOf } from '../../../platform/lib/phone/phone.ts';
import { numberForPrefix } from '../../../platform/lib/phone/user-id.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';
import { insertMargins, type MarginRow } from './sql.ts';

/** Addition of one message to the margin of its day; negative where an earlier figure proved wrong. */
export type MarginDelta = {
  readonly accountId: number;
  readonly id: string;
  readonly connectionId: number;
  /** E.164 with its plus, or a user id. */
  readonly destination: string;
  readonly messages: number;
  /** E.164 with its plus, or a user id. */
  readonly units: number;
  /** Units by which the carrier charges it: parts on SMS. */
  readonly uncosted: number;
  readonly earnedMicros: number;
  readonly costMicros: number;
};

/** Shards, as of the hourly figures: the dispatcher and the receipts would otherwise wait for each other's commits. */
const SHARDS = 8;

/**
 * Adds to the daily margins in the transaction that settles the messages. Call it at most once in a transaction and
 * after `countTraffic`: rows are locked in the order of their keys, and the tables in this order. A batch takes one
 * statement, and none where no costs are known; it is sent before this returns, as a `burst` needs it.
 */
export async function countMargins(tx: Db, deltas: readonly MarginDelta[]): Promise<void> {
  const rows = sumUp(deltas).sort(byKey);
  if (rows.length > 0) await insertMargins(tx, { rows, shard: randomInt(SHARDS) });
}

function sumUp(deltas: readonly MarginDelta[]): MarginRow[] {
  const rows = new Map<string, MarginRow>();
  for (const delta of deltas) {
    const row = rowOf(rows, delta);
    row.messages += delta.messages;
    row.units += delta.units;
    row.uncosted += delta.uncosted;
    row.earnedMicros += delta.earnedMicros;
    row.costMicros += delta.costMicros;
  }
  return [...rows.values()];
}

const NOTHING = { messages: 0, units: 0, uncosted: 0, earnedMicros: 0, costMicros: 0 };

function rowOf(rows: Map<string, MarginRow>, { accountId, id, connectionId, destination }: MarginDelta): MarginRow {
  const country = callingCodeOf(numberForPrefix(destination).slice(1)) ?? '';
  const dayNumber = Math.floor(timeOfId(id).getTime() / DAY_MS);
  const key = `${accountId}/${dayNumber}/${connectionId}/${country}`;
  const known = rows.get(key);
  if (known) return known;
  const row = { accountId, day: new Date(dayNumber * DAY_MS), connectionId, country, ...NOTHING };
  rows.set(key, row);
  return row;
}

const byKey = (a: MarginRow, b: MarginRow): number =>
  a.accountId - b.accountId ||
  a.day.getTime() - b.day.getTime() ||
  a.connectionId - b.connectionId ||
  (a.country < b.country ? -1 : Number(a.country > b.country));
