import { type Author, operatorAuthor } from '../../identity/audit/record.ts';
import type { Actor } from '../../platform/http/actor.ts';

/** The name under which logs keep what an operator does at the console. */
export const operatorNameOf = ({ username }: Pick<Actor, 'username'>): string => username ?? 'operator';

/** An operator, at work on some account. */
export const operatorAuthorOf = (actor: Actor, accountId: number): Author =>
  operatorAuthor(accountId, operatorNameOf(actor));
