import { randomInt } from 'node:crypto';
import type { Db } from '../../platform/db/query.ts';
import * as db from './sql.ts';

/** Part of the price of a batch, by account. */
export type Charge = { readonly accountId: number; readonly micros: number };

/** Accepts lock the balance anyway, so they share one row; those who settle spread over the others. */
const FREEZING_SHARD = 0;
const SETTLING_SHARDS = 8;
const settlingShard = (): number => 1 + randomInt(SETTLING_SHARDS);

type Total = { readonly accountId: number; readonly micros: number; readonly messages: number };

/** Sums per account, in the order of the account ids: the order in which balances are locked everywhere. */
function totals(charges: readonly Charge[]): Total[] {
  const sums = new Map<number, { micros: number; messages: number }>();
  for (const { accountId, micros } of charges) {
    const sum = sums.get(accountId) ?? { micros: 0, messages: 0 };
    sums.set(accountId, { micros: sum.micros + micros, messages: sum.messages + 1 });
  }
  return [...sums].map(([accountId, sum]) => ({ accountId, ...sum })).sort((a, b) => a.accountId - b.accountId);
}

/**
 * Freezes the price of messages that are being stored: available → frozen. Fails the transaction (`isShortage`) when an
 * account has not enough.
 *
 * Make it the last statements of the transaction: the balance is one row for all of an account's traffic, and its
 * lock is held until the commit. Everything is sent before this returns, so it may be part of a `burst`.
 */
export async function freeze(tx: Db, charges: readonly Charge[], reference: string): Promise<void> {
  const sums = totals(charges.filter((charge) => charge.micros > 0));
  if (sums.length === 0) return;
  const side = { kind: 'freeze', fromBook: 'available', toBook: 'frozen', reference } as const;
  await Promise.all([
    db.insertEntries(
      tx,
      sums.map((s) => ({ ...s, ...side, amountMicros: s.micros })),
    ),
    // The balance first: whoever looks what fits (`fitIntoCredit`) holds it already when he comes here.
    db.moveAvailable(
      tx,
      sums.map((s) => ({ accountId: s.accountId, micros: -s.micros })),
    ),
    db.moveFrozen(tx, { moves: sums, shard: FREEZING_SHARD }),
  ]);
}

/** A price that is paid once for all messages with the same key. */
export type OnceCharge = Charge & { readonly key: string | null };

/**
 * Tells which of these messages fit into the credit, one by one in order: a message that does not fit is passed over,
 * and a cheaper one behind it may still fit. Locks the balances until the end of the transaction.
 */
export async function fitIntoCredit(tx: Db, charges: readonly OnceCharge[]): Promise<boolean[]> {
  const balances = await db.claimBalances(tx, { accountIds: [...new Set(charges.map((charge) => charge.accountId))] });
  const left = new Map(balances.map((b) => [b.accountId, b.unlimited ? Number.POSITIVE_INFINITY : b.availableMicros]));
  const paid = new Set<string>();
  return charges.map(({ accountId, micros, key }) => {
    if (key !== null && paid.has(key)) return true;
    const available = left.get(accountId) ?? 0;
    if (micros > available) return false;
    left.set(accountId, available - micros);
    if (key !== null) paid.add(key);
    return true;
  });
}

/**
 * Ends frozen charges: `earned` goes to the operator, `returned` back to the account. Last statements of the
 * transaction and fit for a `burst`, as with `freeze`.
 */
export async function settleCharges(
  tx: Db,
  { earned, returned, reference }: { earned: readonly Charge[]; returned: readonly Charge[]; reference: string },
): Promise<void> {
  const used = totals(earned.filter((charge) => charge.micros > 0));
  const back = totals(returned.filter((charge) => charge.micros > 0));
  if (used.length + back.length === 0) return;
  const settle = { kind: 'settle', fromBook: 'frozen', toBook: 'earned', reference } as const;
  const giveBack = { kind: 'return', fromBook: 'frozen', toBook: 'available', reference } as const;
  await Promise.all([
    db.insertEntries(tx, [
      ...used.map((s) => ({ ...s, ...settle, amountMicros: s.micros })),
      ...back.map((s) => ({ ...s, ...giveBack, amountMicros: s.micros })),
    ]),
    db.moveFrozen(tx, { moves: leaving(used, back), shard: settlingShard() }),
    ...(back.length > 0 ? [db.moveAvailable(tx, back)] : []),
  ]);
}

/** What leaves the frozen book, one move an account. */
const leaving = (used: readonly Total[], back: readonly Total[]): db.Move[] =>
  totals([...used, ...back]).map(({ accountId, micros }) => ({ accountId, micros: -micros }));

/** Puts credit on an account: outside → available. The amount must be positive. */
export async function topUp(
  tx: Db,
  { accountId, micros, reference }: Charge & { readonly reference: string },
): Promise<void> {
  await db.insertEntries(tx, [
    {
      accountId,
      kind: 'topup',
      fromBook: 'outside',
      toBook: 'available',
      amountMicros: micros,
      messages: 0,
      reference,
    },
  ]);
  await db.moveAvailable(tx, [{ accountId, micros }]);
}
