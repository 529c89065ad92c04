import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, ok } from './client.ts';
import { ApiError } from './errors.ts';

/** The scopes that `may` checks: the areas of the API and the channels. */
export type Scope =
  | ('SMS' | 'WHATSAPP' | 'RCS' | 'campaigns' | 'contacts' | 'tracking' | 'inbox')
  | ('exports' | 'webhooks' | 'media' | 'keys');

/** The signed-in user, the account they are in, and their permissions there. */
export type Session = Awaited<ReturnType<typeof fetchSession>>;

const fetchSession = () => ok(api.GET('/api/partner-gateway/v1/session'));

/** Refetched after a minute, because roles, plans and operator rights may change while a page is open. */
export const sessionQuery = queryOptions({ queryKey: ['session'], queryFn: fetchSession, staleTime: 60_000 });

/** Why something is not allowed, as a key under `ui:why`; null if it is allowed. */
export type Refusal = 'scope' | 'plan' | 'viewer' | 'owner' | 'operator' | null;
/** The permission that a page or a button requires. `write`: it changes something, which viewers may not. */
export type Need = {
  readonly scope?: Scope | undefined;
  readonly write?: boolean | undefined;
  /** `admin`: owners and administrators; `owner`: owners only. */
  readonly role?: 'admin' | 'owner' | undefined;
  /** Requires an operator of the installation (not the account role `operator`). */
  readonly operator?: boolean | undefined;
};

const CHANNELS: readonly string[] = ['SMS', 'WHATSAPP', 'RCS'];

/** Predicts the server's refusal for display only; the server enforces permissions itself. */
function refusalOf(session: Session, need: Need): Refusal {
  const { scope, role } = need;
  if (need.operator && !session.user.isOperator) return 'operator';
  if (need.write && session.role === 'viewer') return 'viewer';
  if (role === 'owner' && session.role !== 'owner') return 'owner';
  if (role === 'admin' && session.role !== 'owner' && session.role !== 'admin') return 'owner';
  if (scope === undefined) return null;
  if (CHANNELS.includes(scope) && !session.account.channels.some((channel) => channel === scope)) return 'plan';
  return session.operations.includes(scope) ? null : 'scope';
}

/** The session, for components inside the shell, where a user is always signed in. */
export function useSession() {
  const { data } = useQuery(sessionQuery);
  if (data === undefined) throw new ApiError({ status: 401, message: '' });
  return {
    ...data,
    isOperator: data.user.isOperator,
    /** Whether an operator is in another account than their own. */
    isElsewhere: data.account.id !== data.ownAccountId,
    refusal: (need: Need): Refusal => refusalOf(data, need),
    may: (need: Need): boolean => refusalOf(data, need) === null,
  };
}
