import type { Pool } from 'pg';
import { Type } from 'typebox';
import { isServedHere } from '../accounts/accounts.ts';
import { connectionField, isoOrNull, OPERATOR_PATH } from '../accounts/operator-fields.ts';
import { as, columns, type Db, many, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { invalidFields } from '../core/errors.ts';
import type { App, PlatformDeps } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { createNodeServer } from '../core/http/server.ts';
import { firstIdAt } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import { fromMicros } from '../core/money.ts';
import { instant, orNull } from '../core/schema.ts';
import { DAY_MS, HOUR_MS, instantField, parseInstant } from '../core/time.ts';
import { reconcileNamed } from '../messages/receipt-store.ts';
import { examine } from './doctor.ts';

const tags = ['Operator: health'];

const CheckOut = Type.Object({
  name: Type.Enum(['ledger_balanced', 'balances_match', 'frozen_matches', 'figures_match', 'receipts_matched'], {
    type: 'string',
  }),
  ok: orNull(Type.Boolean({ description: 'Null: the check took longer than 20 s.' })),
  detail: Type.String(),
  durationMs: Type.Integer(),
  data: Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: 'Up to 20 differences or sums.' }),
});

const HourOut = Type.Object({
  hour: instant('UTC'),
  connection: Type.String(),
  submitted: Type.Integer({ description: 'Parts that the carrier accepted: the sum of final, open and unmatched.' }),
  final: Type.Integer(),
  open: Type.Integer(),
  unmatched: Type.Integer({ description: 'Receipts that match no known submit.' }),
  finalPercent: Type.Number({ description: 'The share of the submitted parts that are final.' }),
  oldestOpen: orNull(instant('UTC')),
});

const FindingOut = Type.Object({
  name: Type.String(),
  ok: Type.Boolean(),
  detail: Type.String(),
  advice: orNull(Type.String({ description: 'Remedy for a failed check.' })),
});

const HoursQuery = Type.Object({
  hours: Type.Integer({
    minimum: 1,
    maximum: 168,
    default: 24,
    description: 'Number of full hours that are compared.',
  }),
});
const PeriodQuery = Type.Object({
  from: Type.Optional(instantField('The start, inclusive. Default: a day before `to`.')),
  to: Type.Optional(instantField('The end, exclusive. Default: now.')),
  connection: connectionField,
});

/** Registers the routes that check the stored data against itself, and the state of this machine. */
export function operatorHealthRoutes(app: App, { pool, config, clock }: PlatformDeps): void {
  const onRequest = requireOperator();

  app.get(`${OPERATOR_PATH}/reconciliation`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorReconcile',
      summary: 'Check whether money, figures and receipts agree',
      description: 'Reads whole tables; each check stops after 20 s. Not meant for polling.',
      querystring: HoursQuery,
      response: {
        200: Type.Object({ asOf: instant('UTC'), ok: Type.Boolean(), checks: Type.Array(CheckOut) }),
      },
    },
    handler: async ({ query }) => {
      const now = clock.now();
      const checks = await reconcile(pool, { hours: query.hours, now });
      return { asOf: now.toISOString(), ok: checks.every(({ ok }) => ok !== false), checks };
    },
  });

  app.get(`${OPERATOR_PATH}/receipts/hours`, {
    onRequest,
    config: { command: 'receipts reconcile' },
    schema: {
      tags,
      operationId: 'operatorReconcileReceipts',
      summary: 'List submits and their receipts by connection and hour',
      querystring: PeriodQuery,
      response: { 200: Type.Object({ data: Type.Array(HourOut) }) },
    },
    handler: async ({ query }) => {
      const { connection } = query;
      const hours = await reconcileNamed(pool, { ...periodOf(query, clock.now()), connection });
      return {
        data: hours.map((row) => ({ ...row, hour: row.hour.toISOString(), oldestOpen: isoOrNull(row.oldestOpen) })),
      };
    },
  });

  app.get(`${OPERATOR_PATH}/doctor`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorDoctor',
      summary: 'Check database, carriers, disk, clock, secrets and TLS',
      description: 'As seen by the machine that responds.',
      response: { 200: Type.Object({ ok: Type.Boolean(), findings: Type.Array(FindingOut) }) },
    },
    handler: async () => {
      const makeServer = (): unknown => createNodeServer(config, () => undefined);
      const findings = await examine({ config, pool, makeServer });
      return {
        ok: findings.every(({ ok }) => ok),
        findings: findings.map(({ advice = null, ...finding }) => ({ ...finding, advice: finding.ok ? null : advice })),
      };
    },
  });
}

type Period = { readonly from?: string | undefined; readonly to?: string | undefined };

function periodOf(query: Period, now: Date): { from: Date; to: Date } {
  const to = query.to === undefined ? now : parseInstant(query.to);
  const from = query.from === undefined ? to && new Date(to.getTime() - DAY_MS) : parseInstant(query.from);
  const message = 'is not a valid date';
  if (!from || !to)
    throw invalidFields([
      ...(to ? [] : [{ field: 'to', message }]),
      ...(from || query.from === undefined ? [] : [{ field: 'from', message }]),
    ]);
  if (from >= to) throw invalidFields([{ field: 'from', message: 'must be before to' }]);
  return { from, to };
}

type Check = {
  readonly name: 'ledger_balanced' | 'balances_match' | 'frozen_matches' | 'figures_match' | 'receipts_matched';
  /** Null when the check took too long. */
  readonly ok: boolean | null;
  readonly detail: string;
  readonly durationMs: number;
  /** Up to 20 differences or sums. */
  data: Record<string, unknown>[];
};

type Verdict = Pick<Check, 'ok' | 'detail' | 'data'>;

/** The checks read whole tables and must not slow down sending. */
const MAX_SECONDS = 20;
/**
 * Minimum age of parked receipts that count: a receipt may overtake the response to its submit, and is then parked for
 * a moment.
 */
const MIN_PARKED_MS = HOUR_MS;

/**
 * Checks whether money, figures and receipts agree with each other, over all accounts. Each check is one statement, so that
 * it sees one instant. The figures are those of the messages that were accepted in the last `hours` full hours.
 */
export async function reconcile(
  pool: Pool,
  { hours, now }: { readonly hours: number; readonly now: Date },
): Promise<Check[]> {
  const checks: [Check['name'], (tx: Db) => Promise<Verdict>][] = [
    ['ledger_balanced', checkLedger],
    ['balances_match', (tx) => checkMoney(listBalanceDifferences(tx), 'Every balance matches its ledger.')],
    ['frozen_matches', (tx) => checkMoney(listFrozenDifferences(tx), 'Frozen credit matches what is reserved.')],
    ['figures_match', (tx) => checkFigures(tx, hours, now)],
    ['receipts_matched', (tx) => checkReceipts(tx, now)],
  ];
  const results: Check[] = [];
  for (const [name, check] of checks) results.push({ name, ...(await runWithTimeout(pool, check)) });
  return results;
}

async function runWithTimeout(pool: Pool, check: (tx: Db) => Promise<Verdict>): Promise<Omit<Check, 'name'>> {
  const started = performance.now();
  const verdict = await transaction(pool, async (tx) => {
    await updateStatementTimeout(tx, { seconds: MAX_SECONDS });
    return check(tx);
  }).catch(explainTimeout);
  return { ...verdict, durationMs: Math.round(performance.now() - started) };
}

/** PostgreSQL reports a cancelled statement with the code 57014. */
function explainTimeout(error: unknown): Verdict {
  if (!(error instanceof Error && 'code' in error && error.code === '57014')) throw error;
  return { ok: null, detail: `Not known: the check takes longer than ${MAX_SECONDS} s.`, data: [] };
}

async function checkLedger(tx: Db): Promise<Verdict> {
  const totals = await listBookTotals(tx);
  const sums = totals.map((row) => row.outsideMicros + row.availableMicros + row.frozenMicros + row.earnedMicros);
  const ok = sums.every((sum) => sum === 0);
  return {
    ok,
    detail: ok ? 'The books of every currency add up to zero.' : 'The books of a currency do not add up to zero.',
    data: totals.map((row) => ({
      currency: row.currency,
      outside: fromMicros(row.outsideMicros),
      available: fromMicros(row.availableMicros),
      frozen: fromMicros(row.frozenMicros),
      earned: fromMicros(row.earnedMicros),
    })),
  };
}

async function checkMoney(differences: Promise<Difference[]>, success: string): Promise<Verdict> {
  const found = await differences;
  const data = found.map((row) => ({
    ...row,
    expected: fromMicros(row.expected),
    found: fromMicros(row.found),
  }));
  return { ok: data.length === 0, detail: data.length === 0 ? success : describeDifferences(data.length), data };
}

function describeDifferences(count: number): string {
  if (count === 1) return '1 figure differs.';
  return count < MAX_LISTED ? `${count} figures differ.` : `${count} figures or more differ.`;
}

async function checkFigures(tx: Db, hours: number, now: Date): Promise<Verdict> {
  const to = new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS);
  const from = new Date(to.getTime() - hours * HOUR_MS);
  const data = await listFigureDifferences(tx, { from, to, firstId: firstIdAt(from), endId: firstIdAt(to) });
  const success = `The figures of the last ${hours} hours match the messages.`;
  return { ok: data.length === 0, detail: data.length === 0 ? success : describeDifferences(data.length), data };
}

/** Receipts that were parked a moment ago may still match a message. */
async function checkReceipts(tx: Db, now: Date): Promise<Verdict> {
  const parked = await listParkedReceipts(tx);
  const ok = parked.every(({ oldest }) => now.getTime() - oldest.getTime() < MIN_PARKED_MS);
  const count = parked.reduce((sum, { receipts }) => sum + receipts, 0);
  const detail = count === 0 ? 'Every receipt matches a message.' : `${count} receipts match no message, or several.`;
  return { ok, detail, data: parked.map((row) => ({ ...row, oldest: row.oldest.toISOString() })) };
}

/** Maximum number of differences that a check lists. */
const MAX_LISTED = 20;

const BOOK_TOTALS = columns({
  currency: as<string>(`coalesce(b.currency, '?')`),
  outsideMicros: as<number>(`coalesce(sum(s.micros) FILTER (WHERE s.book = 'outside'), 0)::bigint`),
  availableMicros: as<number>(`coalesce(sum(s.micros) FILTER (WHERE s.book = 'available'), 0)::bigint`),
  frozenMicros: as<number>(`coalesce(sum(s.micros) FILTER (WHERE s.book = 'frozen'), 0)::bigint`),
  earnedMicros: as<number>(`coalesce(sum(s.micros) FILTER (WHERE s.book = 'earned'), 0)::bigint`),
});
type BookTotals = RowOf<typeof BOOK_TOTALS>;

/** Lists the totals of each book over the ledgers of all accounts, by currency. */
async function listBookTotals(db: Db): Promise<BookTotals[]> {
  return many(
    db,
    sql`WITH side AS (
          SELECT account_id, to_book AS book, amount_micros AS micros FROM ledger_entry
          UNION ALL SELECT account_id, from_book, -amount_micros FROM ledger_entry)
        SELECT ${BOOK_TOTALS}
        FROM side s LEFT JOIN credit_balance b ON b.account_id = s.account_id GROUP BY 1 ORDER BY 1`,
  );
}

type Difference = {
  accountId: number;
  /** Subject of the comparison, as in the response. */
  of: string;
  expected: number;
  found: number;
};

const FROZEN = sql`(SELECT account_id, sum(micros)::bigint AS micros FROM credit_frozen GROUP BY account_id)`;

/** Lists balances, of accounts that are served here, that do not match the ledger. A single statement, so that both sides are of the same instant. */
async function listBalanceDifferences(db: Db): Promise<Difference[]> {
  return many(
    db,
    sql`WITH books AS (
          SELECT account_id, sum(micros) FILTER (WHERE book = 'available')::bigint AS available,
                 sum(micros) FILTER (WHERE book = 'frozen')::bigint AS frozen
          FROM (SELECT account_id, to_book AS book, amount_micros AS micros FROM ledger_entry
                UNION ALL SELECT account_id, from_book, -amount_micros FROM ledger_entry) AS side
          GROUP BY account_id),
        both_sides AS (
          SELECT b.account_id, 'available' AS of, coalesce(k.available, 0) AS expected, b.available_micros AS found
          FROM credit_balance b LEFT JOIN books k USING (account_id)
          UNION ALL
          SELECT b.account_id, 'frozen', coalesce(k.frozen, 0), coalesce(f.micros, 0)
          FROM credit_balance b LEFT JOIN books k USING (account_id) LEFT JOIN ${FROZEN} AS f USING (account_id))
        SELECT account_id AS "accountId", of, expected, found FROM both_sides
        WHERE expected <> found AND ${isServedHere(sql`both_sides.account_id`)}
        ORDER BY account_id, of LIMIT ${MAX_LISTED}`,
  );
}

/**
 * Lists accounts that are served here and whose frozen credit is not the sum of its reservations: waiting messages,
 * messages whose price a receipt may still return, and the rest of the reserves of campaigns. In a campaign with one
 * channel the price of each message is frozen separately. A combined campaign keeps its reserve, which only earned
 * amounts leave.
 */
async function listFrozenDifferences(db: Db): Promise<Difference[]> {
  return many(
    db,
    sql`WITH reserved AS (
          SELECT m.account_id, m.price_micros AS micros
          FROM dispatch_chunk c CROSS JOIN unnest(c.ids) AS i (id)
          JOIN message m ON m.account_id = c.account_id AND m.id = i.id
          LEFT JOIN message_state s ON s.account_id = c.account_id AND s.id = i.id
          WHERE s.id IS NULL AND NOT m.keeps_reserve AND i.id <> ALL (coalesce(c.withdrawn, '{}'))
          UNION ALL
          SELECT m.account_id, m.price_micros
          FROM message_state s JOIN message m ON m.account_id = s.account_id AND m.id = s.id
          WHERE s.credit_held AND NOT m.keeps_reserve
          UNION ALL
          SELECT c.account_id, c.reserved_micros - CASE WHEN position('_' IN c.sending_mode) > 0
                   THEN (SELECT coalesce(sum(t.cost_micros), 0) FROM traffic_hour t
                         WHERE t.account_id = c.account_id AND t.campaign_id = c.id AND t.campaign_id <> 0)
                   ELSE (SELECT coalesce(sum(m.price_micros), 0)
                         FROM campaign_batch b CROSS JOIN unnest(b.message_ids) AS i (id)
                         JOIN message m ON m.account_id = b.account_id AND m.id = i.id
                         WHERE b.account_id = c.account_id AND b.campaign_id = c.id) END
          FROM campaign_job j JOIN campaign c ON c.account_id = j.account_id AND c.id = j.campaign_id),
        expected AS (SELECT account_id, sum(micros)::bigint AS micros FROM reserved GROUP BY account_id)
        SELECT account_id AS "accountId", 'frozen' AS of, coalesce(e.micros, 0) AS expected, coalesce(f.micros, 0) AS found
        FROM expected e FULL JOIN ${FROZEN} AS f USING (account_id)
        WHERE coalesce(e.micros, 0) <> coalesce(f.micros, 0) AND ${isServedHere(sql`coalesce(e.account_id, f.account_id)`)}
        ORDER BY account_id LIMIT ${MAX_LISTED}`,
  );
}

type Hours = { readonly from: Date; readonly to: Date; readonly firstId: string; readonly endId: string };

/** Lists accounts that are served here and whose hourly figures do not match the states of the messages accepted from `from` until `to`. */
export async function listFigureDifferences(db: Db, { from, to, firstId, endId }: Hours): Promise<Difference[]> {
  return many(
    db,
    sql`WITH counted AS (
          SELECT account_id, sum(delivered)::bigint AS delivered, sum(failed)::bigint AS failed, sum(read)::bigint AS read
          FROM traffic_hour WHERE hour >= ${from} AND hour < ${to} GROUP BY account_id),
        states AS (
          SELECT s.account_id, count(*) FILTER (WHERE s.status = ${STATUS.DELIVERED}) AS delivered,
                 count(*) FILTER (WHERE s.status NOT IN (${STATUS.UNKNOWN}, ${STATUS.ACCEPTED}, ${STATUS.DELIVERED}))
                   AS failed,
                 count(s.read_at) AS read
          FROM message_state s JOIN message m ON m.account_id = s.account_id AND m.id = s.id
            AND m.id >= ${firstId} AND m.id < ${endId}
          WHERE s.id >= ${firstId} AND s.id < ${endId} AND NOT m.simulation GROUP BY s.account_id)
        SELECT account_id AS "accountId", v.of, v.expected, v.found
        FROM states s FULL JOIN counted c USING (account_id)
        CROSS JOIN LATERAL (VALUES
          ('delivered', coalesce(s.delivered, 0), coalesce(c.delivered, 0)),
          ('failed', coalesce(s.failed, 0), coalesce(c.failed, 0)),
          ('read', coalesce(s.read, 0), coalesce(c.read, 0))) AS v (of, expected, found)
        WHERE v.expected <> v.found AND ${isServedHere(sql`coalesce(s.account_id, c.account_id)`)}
        ORDER BY account_id, v.of LIMIT ${MAX_LISTED}`,
  );
}

const PARKED_RECEIPTS = columns({
  connection: as<string>(`coalesce(c.name, '#' || u.connection_id)`),
  reason: as<string>('u.reason'),
  receipts: as<number>('count(*)'),
  oldest: as<Date>('min(u.received_at)'),
});
type ParkedReceipts = RowOf<typeof PARKED_RECEIPTS>;

/** Counts the receipts that match no message, or several, by connection and reason. */
async function listParkedReceipts(db: Db): Promise<ParkedReceipts[]> {
  return many(
    db,
    sql`SELECT ${PARKED_RECEIPTS}
        FROM receipt_unmatched u LEFT JOIN connection c ON c.id = u.connection_id
        GROUP BY 1, 2 ORDER BY receipts DESC LIMIT ${MAX_LISTED}`,
  );
}

/** Limits the duration of every further statement in this transaction. */
export async function updateStatementTimeout(tx: Db, { seconds }: { seconds: number }): Promise<void> {
  await many(tx, sql`SELECT set_config('statement_timeout', ${String(seconds * 1000)}, true)`);
}
