import { type Author, recordAudit } from '../../audit/record.ts';
import type { Db } from '../../../platform/db/query.ts';
import { AppError, invalidFields } from '../../../platform/errors.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import { canonicalAddress, canonicalBlock, createAddressList } from '../../../platform/lib/address.ts';
import { updateAccountRate } from '../sql.ts';
import {
  type AllowList,
  findSecondFactorPolicy,
  type SecondFactorPolicy,
  updateAllowList,
  updateSecondFactorPolicy,
} from './sql.ts';

export type AllowListInput = {
  /** Addresses and CIDR blocks, in any notation. */
  readonly ipAllowList: readonly string[];
  readonly enforced: boolean;
  /** Accepts a list that does not contain the caller's own address. */
  readonly force: boolean;
  /** The address that the caller calls from. */
  readonly ip: string;
};

/**
 * Replaces the allow-list of the actor's account and returns it in canonical form, without duplicates. Call it in a
 * transaction, which also commits the audit entry. Errors: 400 naming every entry that is not an address or block, or
 * when the caller's own address would be denied.
 */
export async function changeAllowList(tx: Db, actor: Actor, input: AllowListInput): Promise<AllowList> {
  const { enforced, force, ip } = input;
  const ipAllowList = canonicalBlocks(input.ipAllowList);
  if (enforced && !force && !createAddressList(ipAllowList)(ip)) throw lockedOut(ip);
  await storeAllowList(tx, actor, { ipAllowList, enforced });
  return { ipAllowList, enforced };
}

/**
 * Sets whether the users of the actor's account need a second factor, effective with their next requests: where it is
 * required, users without one may do nothing but add one. Call it in a transaction. Errors: 409 when the actor is a user
 * who would be the first to lose access.
 */
export async function changeSecondFactorPolicy(
  tx: Db,
  actor: Pick<Actor, 'kind'> & Author,
  { secondFactor }: { secondFactor: SecondFactorPolicy },
): Promise<void> {
  const { accountId, kind, userId } = actor;
  const found = await findSecondFactorPolicy(tx, { accountId, userId });
  if (secondFactor === 'required' && kind === 'user' && !found?.hasOwn)
    throw new AppError('conflict', { message: 'Add your own second factor first: you would need it immediately' });
  if ((await updateSecondFactorPolicy(tx, { accountId, secondFactor })) === 0) return;
  const detail = { secondFactor };
  await recordAudit(tx, actor, { action: 'account.second-factor', subject: `account:${accountId}`, detail });
}

/** Empties the allow-list of the author's account, so that every address is accepted. Call it in a transaction. */
export const clearAllowList = (tx: Db, author: Author): Promise<void> =>
  storeAllowList(tx, author, { ipAllowList: [], enforced: false });

async function storeAllowList(tx: Db, author: Author, list: AllowList): Promise<void> {
  const { accountId } = author;
  if ((await updateAllowList(tx, { accountId, ...list })) === 0) return;
  await recordAudit(tx, author, { action: 'account.security', subject: `account:${accountId}`, detail: list });
}

function canonicalBlocks(entries: readonly string[]): string[] {
  const blocks = entries.map((entry) => canonicalBlock(entry.trim()));
  const wrong = entries.flatMap((_, i) =>
    blocks[i] === undefined
      ? [{ field: `ipAllowList[${i}]`, message: 'must be an IP address or a CIDR block such as 203.0.113.0/24' }]
      : [],
  );
  if (wrong.length > 0) throw invalidFields(wrong);
  return [...new Set(blocks.filter((block) => block !== undefined))];
}

const lockedOut = (ip: string) =>
  invalidFields([
    {
      field: 'ipAllowList',
      message: `does not contain your own address ${canonicalAddress(ip) ?? ip}, so you would be locked out; "force": true saves it anyway`,
    },
  ]);

/**
 * Sets the request limit of each key and user of the author's account, effective with the next request: null restores
 * that of the plan, 0 per minute means no limit. Call it in a transaction.
 */
export async function setRate(
  tx: Db,
  author: Author,
  rate: { perMinute: number | null; perSecond: number | null },
): Promise<void> {
  const { accountId } = author;
  await updateAccountRate(tx, { accountId, ...rate });
  await recordAudit(tx, author, { action: 'account.limit', subject: `account:${accountId}`, detail: rate });
}
