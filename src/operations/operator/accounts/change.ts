import { setLimits } from '../../../engagement/contacts/set-limits.ts';
import { changeStatus } from '../../../identity/accounts/change-status.ts';
import { changeNumberRules } from '../../../identity/accounts/numbers/change.ts';
import { renameAccount } from '../../../identity/accounts/rename.ts';
import { clearAllowList, setRate } from '../../../identity/accounts/security/change.ts';
import type { Author } from '../../../identity/audit/record.ts';
import type { Db } from '../../../platform/db/query.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import { changeChannels, changePlan } from '../../subscription/change.ts';
import { operatorAuthorOf } from '../author.ts';
import { requireAccount } from './find.ts';
import type { AccountPatch } from './schema.ts';

/**
 * Changes the fields of an account that the patch names, effective with its next request. Each change is recorded in the
 * account's audit log. Call it in a transaction. Errors: 404; 400 naming the field; 409 when operators would suspend their
 * own account, or when the account owes credit and the plan does not allow it.
 */
export async function changeAccount(
  tx: Db,
  actor: Actor,
  { id, ...patch }: AccountPatch & { readonly id: number },
): Promise<void> {
  const author = operatorAuthorOf(actor, id);
  const account = await requireAccount(tx, { id });
  if (patch.name !== undefined) await renameAccount(tx, author, { name: patch.name });
  if (patch.plan !== undefined) await changePlan(tx, author, { plan: patch.plan });
  if (patch.channels !== undefined) await changeChannels(tx, author, { channels: patch.channels });
  await changeRate(tx, author, account, patch);
  if (patch.contactLimits !== undefined) await setLimits(tx, author, patch.contactLimits);
  if (patch.defaultCountry !== undefined || patch.numberChecks !== undefined)
    await changeNumberRules(tx, author, patch);
  if (patch.allowListEnforced === false) await clearAllowList(tx, author);
  if (patch.status !== undefined) await suspendOrResume(tx, actor, author, patch.status);
}

type Rates = { readonly ratePerMinute: number | null; readonly ratePerSecond: number | null };

async function changeRate(tx: Db, author: Author, current: Rates, patch: AccountPatch): Promise<void> {
  if (patch.ratePerMinute === undefined && patch.ratePerSecond === undefined) return;
  const { ratePerMinute: perMinute = current.ratePerMinute, ratePerSecond: perSecond = current.ratePerSecond } = patch;
  // An account without its own limit per minute has both limits of the plan.
  await setRate(tx, author, { perMinute, perSecond: perMinute === null ? null : perSecond });
}

async function suspendOrResume(tx: Db, actor: Actor, author: Author, to: 'active' | 'suspended'): Promise<void> {
  const home = actor.session?.accountId ?? actor.accountId;
  if (to === 'suspended' && home === author.accountId)
    throw new AppError('conflict', { message: 'This is your own account: you would lock yourself out' });
  await changeStatus(tx, author, { from: to === 'active' ? 'suspended' : 'active', to });
}
