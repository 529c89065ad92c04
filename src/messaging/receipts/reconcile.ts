import { listConnections } from '../../network/connections/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import { countSubmitsByHour, countUnmatchedByHour, type Period } from './submits/sql.ts';

/** One connection in one hour: submitted = final + open + unmatched. Counted in parts, as carriers count. */
export type ReconciledHour = {
  readonly connectionId: number;
  readonly hour: Date;
  /** Parts that the carrier accepted, according to its responses and receipts. */
  readonly submitted: number;
  readonly final: number;
  readonly open: number;
  /** Receipts for a submit that is not known: it was never answered, or it is not ours. */
  readonly unmatched: number;
  /** The percentage of `submitted` that is final, with one decimal. */
  readonly finalPercent: number;
  readonly oldestOpen: Date | null;
};

const EMPTY = { final: 0, open: 0, unmatched: 0, oldestOpen: null };

/**
 * Compares submits with their receipts, by connection and hour (UTC): submits by the hour in which they were written,
 * receipts that match none by the hour in which they arrived. A message whose submit was never answered counts only by
 * such a receipt.
 */
export async function reconcileReceipts(db: Db, period: Period): Promise<ReconciledHour[]> {
  const hours = new Map<string, Omit<ReconciledHour, 'submitted' | 'finalPercent'>>();
  for (const row of [...(await countSubmitsByHour(db, period)), ...(await countUnmatchedByHour(db, period))]) {
    const key = `${row.connectionId}/${row.hour.getTime()}`;
    hours.set(key, { ...EMPTY, ...hours.get(key), ...row });
  }
  return [...hours.values()]
    .map(sumUp)
    .sort((a, b) => Number(a.hour) - Number(b.hour) || a.connectionId - b.connectionId);
}

function sumUp(hour: Omit<ReconciledHour, 'submitted' | 'finalPercent'>): ReconciledHour {
  const submitted = hour.final + hour.open + hour.unmatched;
  return { ...hour, submitted, finalPercent: Math.round((hour.final / submitted) * 1000) / 10 };
}

/** A `ReconciledHour` with the name of its connection. */
export type NamedHour = Omit<ReconciledHour, 'connectionId'> & { readonly connection: string };

/** Runs `reconcileReceipts` for all connections or the named one, and returns their names. Errors: 404. */
export async function reconcileNamed(
  db: Db,
  { connection: name, ...period }: Omit<Period, 'connectionId'> & { readonly connection?: string | undefined },
): Promise<NamedHour[]> {
  const connections = await listConnections(db);
  const wanted = connections.find((connection) => connection.name === name);
  if (name !== undefined && !wanted) throw new AppError('not_found', { message: `There is no connection ${name}` });
  const names = new Map(connections.map((connection) => [connection.id, connection.name]));
  const hours = await reconcileReceipts(db, { ...period, connectionId: wanted?.id ?? null });
  return hours.map(({ connectionId, ...hour }) => ({
    connection: names.get(connectionId) ?? `#${connectionId}`,
    ...hour,
  }));
}
