import { randomInt } from 'node:crypto';
import type { Db } from '../../platform/db/query.ts';
import { AccountAway } from '../../platform/errors.ts';
import * as db from './sql.ts';

/** An amount that is charged to an account. */
export type Charge = { readonly accountId: number; readonly micros: number };

/**
 * Transactions that accept messages lock the balance anyway, so they share one row of the frozen credit; those that
 * settle spread over the others.
 */
const FREEZING_SHARD = 0;
const SETTLING_SHARDS = 8;
const settlingShard = (): number => 1 + randomInt(SETTLING_SHARDS);

type Total = { readonly accountId: number; readonly micros: number; readonly messages: number };

/**
 * Returns the sums per account, with the number of messages that have a price. Balances are locked in the order of the
 * account ids.
 */
function totals(charges: readonly Charge[]): Total[] {
  const sums = new Map<number, { micros: number; messages: number }>();
  for (const { accountId, micros } of charges) {
    const sum = sums.get(accountId) ?? { micros: 0, messages: 0 };
    sums.set(accountId, { micros: sum.micros + micros, messages: sum.messages + (micros > 0 ? 1 : 0) });
  }
  return [...sums].map(([accountId, sum]) => ({ accountId, ...sum }));
}

/**
 * Freezes the price of messages that are being stored: available → frozen. Fails the transaction (`isShortage`) when an
 * account does not have enough credit, or, also for messages without a price, no balance (`cells/hold.ts`).
 *
 * These must be the last statements of the transaction: the balance is one row for all traffic of an account, and its
 * lock is held until the commit. All statements are sent before this returns, so it may be part of a `burst`.
 */
export async function freeze(tx: Db, charges: readonly Charge[], reference: string): Promise<void> {
  const all = totals(charges);
  if (all.length === 0) return;
  const sums = all.filter(({ micros }) => micros > 0);
  const side = { kind: 'freeze', fromBook: 'available', toBook: 'frozen', reference } as const;
  await Promise.all([
    ...(sums.length > 0
      ? [
          db.insertLedgerEntries(
            tx,
            sums.map((s) => ({ ...s, ...side, amountMicros: s.micros })),
          ),
        ]
      : []),
    // The balance first: a transaction that has called `fitIntoCredit` holds its lock already.
    db.updateAvailable(
      tx,
      all.map((s) => ({ accountId: s.accountId, micros: -s.micros })),
    ),
    ...(sums.length > 0 ? [db.updateFrozen(tx, { changes: sums, shard: FREEZING_SHARD })] : []),
  ]);
}

/**
 * Freezes as much of an amount as the credit of the account covers, and returns how much that is. As with `freeze`, it
 * must be the last step of the transaction.
 */
export async function freezeUpTo(tx: Db, { accountId, micros }: Charge, reference: string): Promise<number> {
  const [balance] = await db.claimBalances(tx, { accountIds: [accountId] });
  if (!balance) return 0;
  const covered = balance.unlimited ? micros : Math.max(0, Math.min(micros, balance.availableMicros));
  await freeze(tx, [{ accountId, micros: covered }], reference);
  return covered;
}

/** A price that is charged only once for all messages with the same key. */
export type OnceCharge = Charge & { readonly key: string | null };

/** The price of a message, and the credit that the account had left for it. */
export type Shortage = { readonly priceMicros: number; readonly availableMicros: number; readonly currency: string };

/**
 * Returns the shortage of each of these messages, or null if the credit covers it, one by one in order: a message that
 * is not covered is skipped, and a cheaper one after it may still be covered. Locks the balances until the end of the
 * transaction. Throws an AccountAway for those without a balance: it is put aside while they move.
 */
export async function fitIntoCredit(tx: Db, charges: readonly OnceCharge[]): Promise<(Shortage | null)[]> {
  const accountIds = [...new Set(charges.map((charge) => charge.accountId))];
  const balances = await db.claimBalances(tx, { accountIds });
  const away = accountIds.filter((id) => !balances.some(({ accountId }) => accountId === id));
  if (away.length > 0) throw new AccountAway(away);
  const left = new Map(balances.map((b) => [b.accountId, b.unlimited ? Number.POSITIVE_INFINITY : b.availableMicros]));
  const currencies = new Map(balances.map((b) => [b.accountId, b.currency]));
  const paid = new Set<string>();
  return charges.map(({ accountId, micros, key }) => {
    if (key !== null && paid.has(key)) return null;
    const available = left.get(accountId) ?? 0;
    if (micros > available)
      return { priceMicros: micros, availableMicros: available, currency: currencies.get(accountId) ?? '' };
    left.set(accountId, available - micros);
    if (key !== null) paid.add(key);
    return null;
  });
}

/**
 * Settles frozen charges: `earned` goes to the operator, `returned` back to the account. As with `freeze`, these must
 * be the last statements of the transaction, and may be part of a `burst`.
 */
export async function settleFrozen(
  tx: Db,
  { earned, returned, reference }: { earned: readonly Charge[]; returned: readonly Charge[]; reference: string },
): Promise<void> {
  const used = totals(earned.filter((charge) => charge.micros > 0));
  const back = totals(returned.filter((charge) => charge.micros > 0));
  if (used.length + back.length === 0) return;
  const settle = { kind: 'settle', fromBook: 'frozen', toBook: 'earned', reference } as const;
  const refund = { kind: 'return', fromBook: 'frozen', toBook: 'available', reference } as const;
  await Promise.all([
    db.insertLedgerEntries(tx, [
      ...used.map((s) => ({ ...s, ...settle, amountMicros: s.micros })),
      ...back.map((s) => ({ ...s, ...refund, amountMicros: s.micros })),
    ]),
    db.updateFrozen(tx, { changes: unfrozen(used, back), shard: settlingShard() }),
    ...(back.length > 0 ? [db.updateAvailable(tx, back)] : []),
  ]);
}

/** Returns the changes of the frozen credit, one per account. */
const unfrozen = (used: readonly Total[], back: readonly Total[]): db.BalanceChange[] =>
  totals([...used, ...back]).map(({ accountId, micros }) => ({ accountId, micros: -micros }));

/** Adds credit to an account: outside → available. The amount must be positive. */
export async function topUp(
  tx: Db,
  { accountId, micros, reference }: Charge & { readonly reference: string },
): Promise<void> {
  await db.insertLedgerEntries(tx, [
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
  await db.updateAvailable(tx, [{ accountId, micros }]).catch((error: unknown) => {
    throw db.isShortage(error) ? new AccountAway([accountId]) : error;
  });
}
