import { queryOptions, useQuery } from '@tanstack/react-query';
import { ApiError, api, ok } from './send.ts';

/** The scopes that `may` checks: the areas of the API and the channels. */
export type Scope =
  | ('SMS' | 'WHATSAPP' | 'RCS' | 'campaigns' | 'contacts' | 'tracking' | 'inbox')
  | ('exports' | 'webhooks' | 'media' | 'keys' | 'money' | 'social' | 'verify');

/** The signed-in user, the account they are in, and their permissions there. */
export type Session = Awaited<ReturnType<typeof fetchSession>>;

const fetchSession = () => ok(api.GET('/api/partner-gateway/v1/session'));

/** Refetched after a minute, because roles, plans and operator rights may change while a page is open. */
export const sessionQuery = queryOptions({ queryKey: ['session'], queryFn: fetchSession, staleTime: 60_000 });

/** Reason why something is not allowed, as a key under `ui:why`; null if it is allowed. */
export type Refusal = 'scope' | 'plan' | 'readOnly' | 'operator' | null;
/** The permission that a page or a button requires. `write`: it changes something; without a scope, in any area. */
export type Need = {
  readonly scope?: Scope | undefined;
  readonly write?: boolean | undefined;
  /** Requires an operator of the installation. */
  readonly operator?: boolean | undefined;
};

const CHANNELS: readonly string[] = ['SMS', 'WHATSAPP', 'RCS'];

/** Predicts the server's denial for display only; the server enforces permissions itself. */
function refusalOf(session: Session, need: Need): Refusal {
  const { scope } = need;
  if (need.operator && !session.user.isOperator) return 'operator';
  if (scope === undefined) return need.write && session.writable.length === 0 ? 'readOnly' : null;
  if (CHANNELS.includes(scope) && !session.account.channels.some((channel) => channel === scope)) return 'plan';
  if (!session.operations.includes(scope)) return 'scope';
  return need.write && !session.writable.includes(scope) ? 'readOnly' : null;
}

/** The session, for components inside the shell, where a user is always signed in. */
export function useSession() {
  const { data } = useQuery(sessionQuery);
  if (data === undefined) throw new ApiError({ status: 401, message: '' });
  return {
    ...data,
    isOperator: data.user.isOperator,
    /** True if an operator is in another account than their own. */
    isElsewhere: data.account.id !== data.ownAccountId,
    refusal: (need: Need): Refusal => refusalOf(data, need),
    may: (need: Need): boolean => refusalOf(data, need) === null,
  };
}
