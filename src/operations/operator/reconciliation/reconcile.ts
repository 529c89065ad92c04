import type { Pool } from 'pg';
import type { Db } from '../../../platform/db/query.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { firstIdAt } from '../../../platform/lib/ids.ts';
import { fromMicros } from '../../../platform/lib/money.ts';
import { HOUR_MS } from '../../../platform/lib/time.ts';
import * as db from './sql.ts';

export type Check = {
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
    ['balances_match', (tx) => checkMoney(db.listBalanceDifferences(tx), 'Every balance matches its ledger.')],
    ['frozen_matches', (tx) => checkMoney(db.listFrozenDifferences(tx), 'Frozen credit matches what is reserved.')],
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
    await db.updateStatementTimeout(tx, { seconds: MAX_SECONDS });
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
  const totals = await db.listBookTotals(tx);
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

async function checkMoney(differences: Promise<db.Difference[]>, success: string): Promise<Verdict> {
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
  return count < db.MAX_LISTED ? `${count} figures differ.` : `${count} figures or more differ.`;
}

async function checkFigures(tx: Db, hours: number, now: Date): Promise<Verdict> {
  const to = new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS);
  const from = new Date(to.getTime() - hours * HOUR_MS);
  const data = await db.listFigureDifferences(tx, { from, to, firstId: firstIdAt(from), endId: firstIdAt(to) });
  const success = `The figures of the last ${hours} hours match the messages.`;
  return { ok: data.length === 0, detail: data.length === 0 ? success : describeDifferences(data.length), data };
}

/** Receipts that were parked a moment ago may still match a message. */
async function checkReceipts(tx: Db, now: Date): Promise<Verdict> {
  const parked = await db.listParkedReceipts(tx);
  const ok = parked.every(({ oldest }) => now.getTime() - oldest.getTime() < MIN_PARKED_MS);
  const count = parked.reduce((sum, { receipts }) => sum + receipts, 0);
  const detail = count === 0 ? 'Every receipt matches a message.' : `${count} receipts match no message, or several.`;
  return { ok, detail, data: parked.map((row) => ({ ...row, oldest: row.oldest.toISOString() })) };
}
