import type { Receipt } from '../channels/carrier.ts';
import { bareId, spellings } from '../channels/smpp/receipts.ts';
import { bigint, input, insertRows, int, json, rowsOf, text, timestamptz } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, one, onePlan, plainArray, type RowOf, sql } from '../core/db/query.ts';
import { AppError } from '../core/errors.ts';
import { firstIdAt } from '../core/ids.ts';
import { OPEN_STATES } from '../core/message-state.ts';
import { HOUR_MS } from '../core/time.ts';
import { listConnections } from '../routing/connection-store.ts';
import { listByCarrierIds, listNumbers, type SpelledId } from './parts.ts';

/**
 * Most receipts arrive within hours. Searching the messages of these first keeps the partitions of other days out of
 * the plan.
 */
const RECENT_MS = 6 * HOUR_MS;
const EVER = firstIdAt(new Date(0));

/** The message of a receipt: a message or a part of one, none, or one of several. */
export type Match = Hit | { readonly kind: 'unknown' } | { readonly kind: 'ambiguous' };
type Hit = {
  readonly kind: 'hit';
  readonly accountId: number;
  readonly messageId: string;
  readonly part: number | null;
  /** True if the content of the message was erased, which receipts quote. */
  readonly erased?: boolean;
  /** The place of the spelling in the search: two parts under one have one id. */
  readonly spelling?: number;
};

/**
 * Finds the messages that receipts of one connection report on, in the order of the receipts. It searches recent
 * messages for the id exactly as spelled, and then, for the remaining receipts, all messages for every spelling (any
 * case, any leading zeros, hex and decimal). When several messages fit, as after an SMSC has restarted its count, the
 * one that was sent to the number of the receipt is meant; if that is none or several, the match is ambiguous.
 */
export async function matchReceipts(
  db: Db,
  connectionId: number,
  receipts: readonly Receipt[],
  now: Date,
): Promise<Match[]> {
  const lastId = firstIdAt(new Date(now.getTime() + HOUR_MS));
  const recent = { connectionId, firstId: firstIdAt(new Date(now.getTime() - RECENT_MS)), lastId };
  const exact = await matchBy(db, recent, receipts, (id) => [{ bare: bareId(id), exact: id }]);
  const rest = receipts.filter((_, i) => exact[i]?.kind === 'unknown');
  if (rest.length === 0) return exact;
  const ever = { connectionId, firstId: EVER, lastId };
  const spelled = await matchBy(db, ever, rest, (id) => spellings(id).map((bare) => ({ bare, exact: null })));
  let next = 0;
  return exact.map((match) => (match.kind === 'unknown' ? (spelled[next++] as Match) : match));
}

/** Finds the message that each receipt reports on, by its ids in these spellings. */
async function matchBy(
  db: Db,
  range: { connectionId: number; firstId: string; lastId: string },
  receipts: readonly Receipt[],
  spell: (id: string) => SpelledId[],
): Promise<Match[]> {
  const idLists = receipts.map(({ carrierIds }) => carrierIds.flatMap(spell));
  const hits: Hit[][] = idLists.map(() => []);
  const listOf = idLists.flatMap((ids, i) => ids.map(() => i));
  for (const [n, accountId, messageId, part, erased] of await listByCarrierIds(db, {
    ...range,
    carrierIds: idLists.flat(),
  }))
    hits[listOf[n] ?? 0]?.push({ kind: 'hit', accountId, messageId, part, spelling: n, ...(erased && { erased }) });
  const matches = hits.map(combineAll);
  const contested = hits.flatMap((some, i) => (matches[i] === AMBIGUOUS ? some : []));
  if (contested.length === 0) return matches;
  const numbers = await listNumbers(
    db,
    contested.map(({ accountId, messageId }) => ({ accountId, id: messageId })),
  );
  const numberOf = new Map(numbers.map(([accountId, id, number]) => [`${accountId} ${id}`, number]));
  return matches.map((match, i) => {
    if (match !== AMBIGUOUS) return match;
    const sentThere = ({ accountId, messageId }: Hit): boolean =>
      isSameNumber(numberOf.get(`${accountId} ${messageId}`) ?? '', receipts[i]?.destination ?? '');
    const meant = combineAll((hits[i] ?? []).filter(sentThere));
    return meant.kind === 'hit' ? meant : AMBIGUOUS;
  });
}

/** Minimum digits to compare: many numbers end with the same few digits. */
const MIN_DIGITS = 7;

/** True if two spellings can mean one number: with and without its country code, or with a zero replacing it. */
function isSameNumber(a: string, b: string): boolean {
  const [one, other] = [a, b].map((number) => number.replace(/\D/g, '').replace(/^0{1,2}/, ''));
  const [short = '', long = ''] = [one, other].toSorted((x = '', y = '') => x.length - y.length);
  return short.length >= MIN_DIGITS && long.endsWith(short);
}

const UNKNOWN: Match = { kind: 'unknown' };
const AMBIGUOUS: Match = { kind: 'ambiguous' };

const combineAll = (hits: readonly Hit[]): Match => hits.reduce<Match>(combine, UNKNOWN);

/**
 * Combines two matches of one receipt, which must agree on the message. When a message of unknown outcome was sent
 * again, one id may be its own and the other that of its first part. Some carriers give all parts one id: its receipt
 * is that of the message.
 */
function combine(a: Match, b: Match): Match {
  if (a.kind === 'unknown' || b.kind === 'ambiguous') return b;
  if (b.kind === 'unknown' || a.kind === 'ambiguous') return a;
  if (a.messageId !== b.messageId || a.accountId !== b.accountId) return AMBIGUOUS;
  if (a.part === b.part) return a;
  if (a.part === null) return a;
  if (b.part === null) return b;
  return a.spelling === b.spelling ? { ...a, part: null } : AMBIGUOUS;
}

/** One connection in one hour: submitted = final + open + unmatched. Counted in parts, as carriers count. */
type ReconciledHour = {
  readonly connectionId: number;
  readonly hour: Date;
  /** Parts that the carrier accepted, according to its responses and receipts. */
  readonly submitted: number;
  readonly final: number;
  readonly open: number;
  /** Receipts for a submit that is not known: it never got a response, or it is not ours. */
  readonly unmatched: number;
  /** The percentage of `submitted` that is final, with one decimal. */
  readonly finalPercent: number;
  readonly oldestOpen: Date | null;
};

const EMPTY = { final: 0, open: 0, unmatched: 0, oldestOpen: null };

/**
 * Compares submits with their receipts, by connection and hour (UTC): submits by the hour in which they were written,
 * receipts that match none by the hour in which they arrived. A message whose submit never got a response counts only by
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

/** Receipts of one connection that were committed together. */
export type ReceiptBatch = { id: number; connectionId: number; receipts: readonly Receipt[]; receivedAt: Date };

/**
 * A receipt as the inbox stores it until it is processed: without the names of its fields, which are a third of the
 * bytes, and with its time as a number. Writing and reading it takes a third of the time.
 */
type Row = readonly [
  carrierIds: readonly string[],
  state: Receipt['state'],
  doneAtMs: number | null,
  errorCode: string | null,
  destination: string,
  sender: string,
  raw: string,
  billing?: Receipt['billing'] | null,
];

const toRow = (r: Receipt): Row => [
  r.carrierIds,
  r.state,
  r.doneAt === null ? null : r.doneAt.getTime(),
  r.errorCode,
  r.destination,
  r.sender,
  r.raw,
  r.billing ?? null,
];

const fromRow = ([carrierIds, state, doneAtMs, errorCode, destination, sender, raw, billing]: Row): Receipt => ({
  carrierIds,
  state,
  doneAt: doneAtMs === null ? null : new Date(doneAtMs),
  errorCode,
  destination,
  sender,
  raw,
  ...(billing && { billing }),
});

/** Escapes NULs: a carrier may put one anywhere, but PostgreSQL's text may not contain one. */
const toJson = (value: unknown): string => JSON.stringify(value).replaceAll('\\u0000', '\\ufffd');

export const receiptsJson = (receipts: readonly Receipt[]): string => toJson(receipts.map(toRow));

/** Returns a receipt as it reads after storage: the database takes no NUL, so another character replaces it. */
export const storable = (receipt: Receipt): Receipt =>
  hasNul(receipt) ? fromRow(JSON.parse(toJson(toRow(receipt))) as Row) : receipt;

const hasNul = ({ raw, sender, destination, errorCode, carrierIds }: Receipt): boolean =>
  raw.includes('\0') ||
  sender.includes('\0') ||
  destination.includes('\0') ||
  (errorCode?.includes('\0') ?? false) ||
  carrierIds.some((id) => id.includes('\0'));

/**
 * Stores receipts that are to be settled later in the inbox, in one row for each connection of the batch. They must be
 * committed before the carrier gets its response.
 */
export async function insertReceiptBatches(
  db: Db,
  batches: readonly { readonly connectionId: number; readonly receipts: readonly Receipt[] }[],
): Promise<void> {
  await exec(
    db,
    onePlan(
      insertRows('receipt_batch', batches, {
        connectionId: bigint,
        receipts: json((b) => receiptsJson(b.receipts)),
      }),
    ),
  );
}

/** Stores receipts that another cell has passed on in the inbox; each as `receiptsJson` wrote it there. */
export async function insertPassedReceipts(
  db: Db,
  batches: readonly { readonly connectionId: number; readonly receipts: string }[],
): Promise<void> {
  await exec(db, insertRows('receipt_batch', batches, { connectionId: bigint, receipts: json }));
}

const TAKEN_BATCH = columns({
  id: as<number>('id'),
  connectionId: as<number>('connection_id'),
  receivedAt: as<Date>('received_at'),
  receipts: as<Row[]>('receipts'),
});

/** Takes the oldest batches of the inbox, in order. They are deleted when the caller's transaction commits. */
export async function deleteReceiptBatches(db: Db, limit: number): Promise<ReceiptBatch[]> {
  const rows = await many(
    db,
    sql`DELETE FROM receipt_batch WHERE id IN (
          SELECT id FROM receipt_batch ORDER BY id LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        RETURNING ${TAKEN_BATCH}`,
  );
  return rows
    .sort((a, b) => a.id - b.id)
    .map(({ receipts, ...batch }) => ({ ...batch, receipts: receipts.map(fromRow) }));
}

/** A receipt that matches no message, or several. */
export type Unmatched = {
  readonly connectionId: number;
  readonly receipt: Receipt;
  readonly reason: 'unknown' | 'ambiguous';
  readonly receivedAt: Date;
};

/** Parks receipts that match no message, or several. They are tried again after `retryMs`. */
export async function insertUnmatched(
  db: Db,
  rows: readonly (Unmatched & { readonly retryMs: number })[],
): Promise<void> {
  await exec(
    db,
    insertRows(
      'receipt_unmatched',
      rows,
      {
        connectionId: bigint,
        receipt: json((r) => toJson(r.receipt)),
        reason: text,
        receivedAt: timestamptz,
        retryMs: input(int),
      },
      { next_try_at: sql`now() + u.retry_ms * interval '1 millisecond'` },
    ),
  );
}

/** A receipt as parked: receipts stay parked for days and people read them, so the fields have names. */
type InJson = Omit<Receipt, 'doneAt'> & { readonly doneAt: string | null };
const fromJson = (r: InJson): Receipt => ({ ...r, doneAt: r.doneAt === null ? null : new Date(r.doneAt) });

const PARKED = columns({
  id: as<number>('id'),
  connectionId: as<number>('connection_id'),
  receipt: as<InJson>('receipt'),
  reason: as<Unmatched['reason']>('reason'),
  receivedAt: as<Date>('received_at'),
  tries: as<number>('tries'),
});
export type Parked = Omit<RowOf<typeof PARKED>, 'receipt'> & Pick<Unmatched, 'receipt'>;

/** Locks up to `limit` parked receipts that are due to be tried again. */
export async function claimUnmatched(db: Db, limit: number): Promise<Parked[]> {
  const rows = await many(
    db,
    sql`SELECT ${PARKED}
        FROM receipt_unmatched WHERE next_try_at <= now() ORDER BY next_try_at LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
  );
  return rows.map((row) => ({ ...row, receipt: fromJson(row.receipt) }));
}

export async function deleteUnmatched(db: Db, ids: readonly number[]): Promise<void> {
  await exec(db, sql`DELETE FROM receipt_unmatched WHERE id = ANY(${plainArray(ids)}::bigint[])`);
}

/** Postpones parked receipts, twice as long each time, from 100 ms to an hour, and updates the reason. */
export async function updateUnmatchedRetry(
  db: Db,
  rows: readonly { readonly id: number; readonly reason: 'unknown' | 'ambiguous' }[],
): Promise<void> {
  await exec(
    db,
    sql`UPDATE receipt_unmatched r
        SET tries = tries + 1, reason = u.reason,
            next_try_at = now() + least(interval '1 hour', interval '100 milliseconds' * power(2, least(tries, 16)))
        FROM ${rowsOf(rows, {
          id: bigint((r) => r.id),
          reason: text((r) => r.reason),
        })} AS u
        WHERE r.id = u.id`,
  );
}

const UNMATCHED_COUNT = columns({
  connectionId: as<number>('connection_id'),
  count: as<number>('count(*)'),
  /** Time until the next one is tried, in ms; negative when it is overdue. */
  nextMs: as<number>('(extract(epoch FROM min(next_try_at) - now()) * 1000)::float8'),
});

/** Counts the parked receipts of each connection that has any. */
export const countUnmatched = (db: Db): Promise<RowOf<typeof UNMATCHED_COUNT>[]> =>
  many(db, sql`SELECT ${UNMATCHED_COUNT} FROM receipt_unmatched GROUP BY connection_id`);

/** Returns how long it is until a parked receipt is due to be tried again, in ms; null when none is parked. */
export async function findNextUnmatchedMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(next_try_at) - now()) * 1000)::float8 AS ms FROM receipt_unmatched`,
  );
  return ms;
}

/** Deletes parked receipts that arrived more than `days` ago. Returns how many. */
export async function deleteOldUnmatched(db: Db, days: number): Promise<number> {
  return exec(db, sql`DELETE FROM receipt_unmatched WHERE received_at < now() - ${days} * interval '1 day'`);
}

/** NOTIFY channel that is raised when a process without workers has left receipts to them. */
export const RECEIPTS_CHANNEL = 'heliograph_receipts';

/** Wakes workers, because this process has put receipts into the inbox or parked some. */
export async function notifyReceipts(db: Db, left: 'stored' | 'parked'): Promise<void> {
  await exec(db, sql`SELECT pg_notify(${RECEIPTS_CHANNEL}, ${left})`);
}

/** Limits how long each further statement of the transaction may take, and so how long it may wait for a lock. */
export async function setStatementTimeoutMs(tx: Db, ms: number): Promise<void> {
  await exec(tx, onePlan(sql`SELECT set_config('statement_timeout', ${String(ms)}, true)`));
}

/** Deletes the parked receipts of the connections of the sandbox. Returns how many. */
export async function deleteUnmatchedOfSandbox(db: Db): Promise<number> {
  return exec(db, sql`DELETE FROM receipt_unmatched r USING connection c WHERE c.id = r.connection_id AND c.sandbox`);
}

/** The time from `from` up to, but not including, `to`; `connectionId` null: every connection. */
type Period = { readonly from: Date; readonly to: Date; readonly connectionId: number | null };

const HOUR_OF_SUBMITS = columns({
  connectionId: as<number>('connection_id'),
  hour: as<Date>("date_trunc('hour', submitted_at)"),
  final: as<number>('count(*) FILTER (WHERE final)'),
  open: as<number>('count(*) FILTER (WHERE NOT final)'),
  /** Submit time of the oldest open one; null when none is open. */
  oldestOpen: as<Date | null>('min(submitted_at) FILTER (WHERE NOT final)'),
});
/** The submits on one connection in one hour (UTC). */
type HourOfSubmits = RowOf<typeof HOUR_OF_SUBMITS>;

/**
 * Counts the submits that carriers accepted under an id, by connection and hour of the submit (UTC). Each part of a
 * long message counts as one. A part is final as soon as its message is, even if another part or our own timer ended
 * that.
 */
const countSubmitsByHour = (db: Db, { from, to, connectionId }: Period): Promise<HourOfSubmits[]> =>
  many(
    db,
    sql`WITH taken AS (
          SELECT account_id, id, connection_id, carrier_id, status NOT IN (${OPEN_STATES}) AS final, submitted_at
          FROM message_state
          WHERE submitted_at >= ${from} AND submitted_at < ${to}
            AND (${connectionId}::bigint IS NULL OR connection_id = ${connectionId})),
        submit AS (
          SELECT connection_id, submitted_at, final FROM taken WHERE carrier_id IS NOT NULL
          UNION ALL
          SELECT p.connection_id, t.submitted_at, t.final OR p.status NOT IN (${OPEN_STATES})
          FROM taken t JOIN message_part p ON p.account_id = t.account_id AND p.message_id = t.id)
        SELECT ${HOUR_OF_SUBMITS} FROM submit GROUP BY 1, 2`,
  );

const UNMATCHED_HOUR = columns({
  connectionId: as<number>('connection_id'),
  hour: as<Date>("date_trunc('hour', received_at)"),
  unmatched: as<number>("count(DISTINCT receipt -> 'carrierIds' ->> 0)"),
});

/** Counts parked receipts by connection and hour of arrival (UTC); repeats of one receipt count once. */
const countUnmatchedByHour = (db: Db, { from, to, connectionId }: Period): Promise<RowOf<typeof UNMATCHED_HOUR>[]> =>
  many(
    db,
    sql`SELECT ${UNMATCHED_HOUR}
        FROM receipt_unmatched
        WHERE received_at >= ${from} AND received_at < ${to}
          AND (${connectionId}::bigint IS NULL OR connection_id = ${connectionId})
        GROUP BY 1, 2`,
  );

const OPEN_SUBMIT = columns({
  carrierId: as<string>('coalesce(p.carrier_id, s.carrier_id)'),
  sender: as<string>('m.sender'),
  destination: as<string>('m.destination'),
  submittedAt: as<Date>('s.submitted_at'),
});
/** A submit without a final receipt. */
export type OpenSubmit = RowOf<typeof OPEN_SUBMIT>;

/**
 * Lists the submits of one connection, of messages made since `firstId`, for which a receipt was requested and none has
 * brought a final state, oldest first.
 */
export const listOpenSubmits = (
  db: Db,
  { connectionId, firstId, limit }: { connectionId: number; firstId: string; limit: number },
): Promise<OpenSubmit[]> =>
  many(
    db,
    sql`SELECT ${OPEN_SUBMIT}
        FROM message_state s
        JOIN message m ON m.account_id = s.account_id AND m.id = s.id AND m.id >= ${firstId} AND m.want_receipt
        LEFT JOIN message_part p ON p.account_id = s.account_id AND p.message_id = s.id AND p.message_id >= ${firstId}
          AND s.carrier_id IS NULL
        WHERE s.connection_id = ${connectionId} AND s.id >= ${firstId} AND s.status IN (${OPEN_STATES})
          AND s.submitted_at IS NOT NULL AND coalesce(p.status, s.status) IN (${OPEN_STATES})
          AND coalesce(p.carrier_id, s.carrier_id) IS NOT NULL
        ORDER BY s.submitted_at LIMIT ${limit}`,
  );
