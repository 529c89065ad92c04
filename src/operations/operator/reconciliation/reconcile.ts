import type { Pool } from 'pg';
import type { Db } from '../../../platform/db/query.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { firstIdAt } from '../../../platform/lib/ids.ts';
import { fromMicros } from '../../../platform/lib/money.ts';
import * as db from './sql.ts';
import { HOUR_MS } from '../../../platform/lib/time.ts';

export type Check = {
  readonly name: 'ledger_balanced' | 'balances_match' | 'frozen_matches' | 'figures_match' | 'receipts_matched';
  /** Null: it took too long. */
  readonly ok: boolean | null;
  readonly detail: string;
  readonly durationMs: number;
  /** The differences, or the sums, 20 at most. */
  data: Record<string, unknown>[];
};

type Verdict = Pick<Check, 'ok' | 'detail' | 'data'>;

/** So long each check may take: they read whole tables, and nobody should wait for them who sends. */
const MOST_SECONDS = 20;
/** A receipt may overtake the answer to its submit, and is parked for a moment. */
const PARKED_MS = HOUR_MS;

/**
 * Whether money, figures and receipts agree with each other, over all accounts: each check is one statement, so that it
 * sees one instant. The figures are those of messages that were accepted in the last `hours` full hours.
 */
export async function reconcile(
  pool: Pool,
  { hours, now }: { readonly hours: number; readonly now: Date },
): Promise<Check[]> {
  const checks: [Check['name'], (tx: Db) => Promise<Verdict>][] = [
    ['ledger_balanced', checkLedger],
    ['balances_match', (tx) => compared(db.listBalanceDifferences(tx), 'Every balance is what its ledger says.')],
    ['frozen_matches', (tx) => compared(db.listFrozenDifferences(tx), 'What is frozen is what is reserved.')],
    ['figures_match', (tx) => checkFigures(tx, hours, now)],
    ['receipts_matched', (tx) => checkReceipts(tx, now)],
  ];
  const done: Check[] = [];
  for (const [name, look] of checks) done.push({ name, ...(await within(pool, look)) });
  return done;
}

async function within(pool: Pool, look: (tx: Db) => Promise<Verdict>): Promise<Omit<Check, 'name'>> {
  const started = performance.now();
  const verdict = await transaction(pool, async (tx) => {
    await db.updateStatementTimeout(tx, { seconds: MOST_SECONDS });
    return look(tx);
  }).catch(tooLong);
  return { ...verdict, durationMs: Math.round(performance.now() - started) };
}

/** The statement was cancelled (57014). */
function tooLong(error: unknown): Verdict {
  if (!(error instanceof Error && 'code' in error && error.code === '57014')) throw error;
  return { ok: null, detail: `Not known: it takes longer than ${MOST_SECONDS} s.`, data: [] };
}

async function checkLedger(tx: Db): Promise<Verdict> {
  const totals = await db.listBookTotals(tx);
  const sums = totals.map((row) => row.outsideMicros + row.availableMicros + row.frozenMicros + row.earnedMicros);
  const ok = sums.every((sum) => sum === 0);
  return {
    ok,
    detail: ok ? 'The books of every currency make zero.' : 'The books of a currency do not make zero.',
    data: totals.map((row) => ({
      currency: row.currency,
      outside: fromMicros(row.outsideMicros),
      available: fromMicros(row.availableMicros),
      frozen: fromMicros(row.frozenMicros),
      earned: fromMicros(row.earnedMicros),
    })),
  };
}

async function compared(differences: Promise<db.Difference[]>, fine: string): Promise<Verdict> {
  const found = await differences;
  const data = found.map((row) => ({
    ...row,
    expected: fromMicros(row.expected),
    found: fromMicros(row.found),
  }));
  return { ok: data.length === 0, detail: data.length === 0 ? fine : saying(data.length), data };
}

const saying = (count: number): string =>
  count < db.MAX_LISTED ? `${count} figures differ.` : `${count} figures or more differ.`;

async function checkFigures(tx: Db, hours: number, now: Date): Promise<Verdict> {
  const to = new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS);
  const from = new Date(to.getTime() - hours * HOUR_MS);
  const data = await db.listFigureDifferences(tx, { from, to, firstId: firstIdAt(from), endId: firstIdAt(to) });
  const fine = `The figures of ${hours} hours are what the messages say.`;
  return { ok: data.length === 0, detail: data.length === 0 ? fine : saying(data.length), data };
}

/** Those that were parked a moment ago may still find their message. */
async function checkReceipts(tx: Db, now: Date): Promise<Verdict> {
  const parked = await db.listParkedReceipts(tx);
  const ok = parked.every(({ oldest }) => now.getTime() - oldest.getTime() < PARKED_MS);
  const count = parked.reduce((sum, { receipts }) => sum + receipts, 0);
  const detail = count === 0 ? 'Every receipt fits a message.' : `${count} receipts fit no message, or several.`;
  return { ok, detail, data: parked.map((row) => ({ ...row, oldest: row.oldest.toISOString() })) };
}
