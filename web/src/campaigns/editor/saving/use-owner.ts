import { useSession } from '../../../api/session.ts';

/** The name under which this browser keeps copies of this user in this account. */
export function useOwner(): string {
  const { user, account } = useSession();
  return `${account.id}/${user.id}`;
}
