import { type Author, operatorAuthor } from '../../identity/audit/record.ts';
import type { Actor } from '../../platform/lib/actor.ts';

/** Returns the name under which the audit log records an operator's changes in the console. */
export const operatorNameOf = ({ username }: Pick<Actor, 'username'>): string => username ?? 'operator';

/** Returns the author of an operator's changes to an account. */
export const operatorAuthorOf = (actor: Actor, accountId: number): Author =>
  operatorAuthor(accountId, operatorNameOf(actor));
