import { recordAudit } from '../../audit/record.ts';
import type { Db } from '../../../platform/db/query.ts';
import { invalidFields } from '../../../platform/errors.ts';
import type { Actor } from '../../../platform/http/actor.ts';
import { canonicalAddress, canonicalBlock, createAddressList } from '../../../platform/lib/address.ts';
import { type AllowList, moveAllowList } from './sql.ts';

export type AllowListInput = {
  /** Addresses and CIDR blocks, in any spelling. */
  readonly ipAllowList: readonly string[];
  readonly enforced: boolean;
  /** Also when the caller would be refused from then on. */
  readonly force: boolean;
  /** Where the caller calls from. */
  readonly ip: string;
};

/**
 * Replaces the allow-list of the actor's account; answers it in canonical form, without repetitions. Call it in a
 * transaction: the audit entry goes with it.
 * Errors: 400 naming every entry that is no address or block, or when the caller's own address would be refused.
 */
export async function changeAllowList(tx: Db, actor: Actor, input: AllowListInput): Promise<AllowList> {
  const { enforced, force, ip } = input;
  const ipAllowList = canonical(input.ipAllowList);
  if (enforced && !force && !createAddressList(ipAllowList)(ip)) throw lockedOut(ip);
  await moveAllowList(tx, { accountId: actor.accountId, ipAllowList, enforced });
  await recordAudit(tx, actor, {
    action: 'account.security',
    subject: `account:${actor.accountId}`,
    detail: { ipAllowList, enforced },
  });
  return { ipAllowList, enforced };
}

function canonical(entries: readonly string[]): string[] {
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
      message: `does not hold the address ${canonicalAddress(ip) ?? ip} that you call from, so you would be locked out; "force": true does it all the same`,
    },
  ]);
