import { randomInt } from 'node:crypto';
import type { Db } from '../../platform/db/query.ts';
import { firstIdAt, timeOfId } from '../../platform/lib/ids.ts';
import { countMinutes, type FailureReason } from './minutes/count.ts';
import { insertTraffic, type TrafficRow } from './sql.ts';
import { HOUR_MS } from '../../platform/lib/time.ts';

/** Addition of one message to the figures of the hour of its id; negative where an earlier figure proved wrong. */
export type TrafficDelta = {
  readonly accountId: number;
  readonly id: string;
  readonly campaignId: number | null;
  /** The bit of the channel (src/platform/lib/channel.ts). */
  readonly channel: number;
  /** The message has an outcome: accepted by a carrier, rejected, or unknown. */
  readonly sent?: number;
  readonly delivered?: number;
  readonly read?: number;
  /** The message has a final state other than delivered. */
  readonly failed?: number;
  /** The message is among `failed` and ended before any carrier had it. */
  readonly unsent?: number;
  readonly costMicros?: number;
  /** Reason why it is among `failed`; only campaigns count the reasons. */
  readonly reason?: FailureReason | undefined;
};

/** Shards, as in `credit_frozen`: the dispatcher and the receipts would otherwise wait for each other's commits. */
const SHARDS = 8;

/**
 * Adds to the hourly figures, and for campaigns to those of the minute, in the transaction that moves the messages, so
 * that they are exact at any instant. Simulated messages are not counted.
 *
 * Call it at most once in a transaction: the rows of one call are locked in the order of their keys, those of two calls
 * are not. Each batch takes one statement, with campaigns two, which are sent before this returns, as a `burst` needs
 * it.
 */
export async function countTraffic(tx: Db, deltas: readonly TrafficDelta[]): Promise<void> {
  const rows = [...sumUp(deltas)].sort(byKey);
  if (rows.length === 0) return;
  await Promise.all([insertTraffic(tx, { rows, shard: randomInt(SHARDS) }), countMinutes(tx, deltas)]);
}

/**
 * Sums up deltas. Most messages of a batch have the same key, so each is compared with the key of the one before it
 * first.
 */
function sumUp(deltas: readonly TrafficDelta[]): Iterable<TrafficRow> {
  const rows = new Map<string, TrafficRow>();
  let hour: Hour | undefined;
  let row: TrafficRow | undefined;
  for (const delta of deltas) {
    if (!hour || delta.id < hour.firstId || delta.id >= hour.endId) hour = hourOf(delta.id);
    if (!row || !isOf(row, delta, hour.at)) row = rowOf(rows, delta, hour.at);
    add(row, delta);
  }
  return rows.values();
}

type Hour = { readonly at: Date; readonly firstId: string; readonly endId: string };

function hourOf(id: string): Hour {
  const at = new Date(Math.floor(timeOfId(id).getTime() / HOUR_MS) * HOUR_MS);
  return { at, firstId: firstIdAt(at), endId: firstIdAt(new Date(at.getTime() + HOUR_MS)) };
}

const isOf = (row: TrafficRow, { accountId, campaignId, channel }: TrafficDelta, hour: Date): boolean =>
  row.hour === hour && row.accountId === accountId && row.campaignId === (campaignId ?? 0) && row.channel === channel;

const NOTHING = { sent: 0, delivered: 0, read: 0, failed: 0, unsent: 0, costMicros: 0 };

function rowOf(
  rows: Map<string, TrafficRow>,
  { accountId, campaignId, channel }: TrafficDelta,
  hour: Date,
): TrafficRow {
  const key = `${accountId}/${hour.getTime()}/${campaignId}/${channel}`;
  const known = rows.get(key);
  if (known) return known;
  const row = { accountId, hour, campaignId: campaignId ?? 0, channel, ...NOTHING };
  rows.set(key, row);
  return row;
}

function add(row: TrafficRow, { sent, delivered, read, failed, unsent, costMicros }: TrafficDelta): void {
  if (sent !== undefined) row.sent += sent;
  if (delivered !== undefined) row.delivered += delivered;
  if (read !== undefined) row.read += read;
  if (failed !== undefined) row.failed += failed;
  if (unsent !== undefined) row.unsent += unsent;
  if (costMicros !== undefined) row.costMicros += costMicros;
}

const byKey = (a: TrafficRow, b: TrafficRow): number =>
  a.accountId - b.accountId ||
  a.hour.getTime() - b.hour.getTime() ||
  a.campaignId - b.campaignId ||
  a.channel - b.channel;
