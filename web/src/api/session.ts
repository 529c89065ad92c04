import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, ok } from './client.ts';
import { ApiError } from './errors.ts';

/** The areas of the interface, and the channels: what `may` is asked for. */
export type Scope =
  | ('SMS' | 'WHATSAPP' | 'RCS' | 'campaigns' | 'contacts' | 'tracking' | 'inbox')
  | ('exports' | 'webhooks' | 'media' | 'keys');

/** Who is signed in, which account they look at, and what they may do there now. */
export type Session = Awaited<ReturnType<typeof fetchSession>>;

const fetchSession = () => ok(api.GET('/api/partner-gateway/v1/session'));

/** Asked anew when it is older than a minute: roles, plans and operators change while a page is open. */
export const sessionQuery = queryOptions({ queryKey: ['session'], queryFn: fetchSession, staleTime: 60_000 });

/** Why something is not allowed: the key of a text under `ui:why`; null when it is. */
export type Refusal = 'scope' | 'plan' | 'viewer' | 'owner' | 'operator' | null;
/** What a page or a button needs. `write`: it changes something, which the role viewer may not. */
export type Need = {
  readonly scope?: Scope | undefined;
  readonly write?: boolean | undefined;
  /** `admin`: owners and admins; `owner`: owners. */
  readonly role?: 'admin' | 'owner' | undefined;
  /** An operator of the program, not of the account. */
  readonly operator?: boolean | undefined;
};

const CHANNELS: readonly string[] = ['SMS', 'WHATSAPP', 'RCS'];

/** What the server would answer, known beforehand; the server decides all the same. */
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

/** Inside the shell, where somebody is signed in. */
export function useSession() {
  const { data } = useQuery(sessionQuery);
  if (data === undefined) throw new ApiError({ status: 401, message: '' });
  return {
    ...data,
    isOperator: data.user.isOperator,
    /** An operator looks at an account that is not theirs. */
    isElsewhere: data.account.id !== data.ownAccountId,
    refusal: (need: Need): Refusal => refusalOf(data, need),
    may: (need: Need): boolean => refusalOf(data, need) === null,
  };
}
