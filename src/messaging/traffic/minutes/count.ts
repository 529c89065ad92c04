import { randomInt } from 'node:crypto';
import type { Db } from '../../../platform/db/query.ts';
import { timeOfId } from '../../../platform/lib/ids.ts';
import { HOUR_MS } from '../../../platform/lib/time.ts';
import { insertMinutes, type MinuteRow } from './sql.ts';

/** Addition of a campaign's message to the minute in which its outcome became known. */
export type MinuteDelta = {
  readonly accountId: number;
  readonly id: string;
  readonly campaignId: number | null;
  /** The bit of the channel. */
  readonly channel: number;
  readonly sent?: number;
  readonly delivered?: number;
  readonly failed?: number;
  /** Reason why it is among `failed`. */
  readonly reason?: FailureReason | undefined;
};

/** The final status of a message that failed, and the code of the carrier or our own; null where there is none. */
export type FailureReason = { readonly status: number; readonly code: string | null };

const SHARDS = 4;
const CODE_LENGTH = 40;

/**
 * Adds the outcomes of campaign messages to this minute, in the transaction that moves them, so that the figures are
 * exact at any instant and add up to the hourly ones. Messages without a campaign are omitted, and without any there is
 * no statement. It is sent before this returns, as a `burst` needs it. Call it after `insertTraffic`: the tables are
 * locked in this order.
 */
export async function countMinutes(tx: Db, deltas: readonly MinuteDelta[]): Promise<void> {
  const rows = sumUp(deltas);
  if (rows.length > 0) await insertMinutes(tx, { rows, shard: randomInt(SHARDS) });
}

function sumUp(deltas: readonly MinuteDelta[]): MinuteRow[] {
  const rows = new Map<string, MinuteRow>();
  for (const delta of deltas) {
    if (delta.campaignId === null || delta.campaignId === 0) continue;
    const { sent = 0, delivered = 0, failed = 0, reason } = delta;
    if (sent !== 0 || delivered !== 0) {
      const row = rowOf(rows, delta, delta.campaignId, PROGRESS);
      row.sent += sent;
      row.delivered += delivered;
    }
    if (failed !== 0) rowOf(rows, delta, delta.campaignId, reason ?? PROGRESS).failed += failed;
  }
  return [...rows.values()];
}

/** Key of the rows that count messages without a reason. */
const PROGRESS: FailureReason = { status: 0, code: null };

function rowOf(
  rows: Map<string, MinuteRow>,
  { accountId, id, channel }: MinuteDelta,
  campaignId: number,
  reason: FailureReason,
): MinuteRow {
  const hour = Math.floor(timeOfId(id).getTime() / HOUR_MS) * HOUR_MS;
  const code = (reason.code ?? '').slice(0, CODE_LENGTH);
  const key = `${campaignId}/${hour}/${channel}/${reason.status}/${code}`;
  const known = rows.get(key);
  if (known) return known;
  const row = { accountId, campaignId, hour: new Date(hour), channel, status: reason.status, code, ...NOTHING };
  rows.set(key, row);
  return row;
}

const NOTHING = { sent: 0, delivered: 0, failed: 0 };
