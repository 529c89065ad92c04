import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { sessionQuery } from '../../api/session.ts';

/** For operators: looks at another account from now on, or at one's own again (null). */
export function useSwitchAccount(onDone?: () => void) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useAction({
    run: (accountId: number | null) => ok(api.PUT('/api/partner-gateway/v1/session/account', { body: { accountId } })),
    onDone(session) {
      // Nothing of the account before may be shown as the new one's.
      queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
      queries.setQueryData(sessionQuery.queryKey, session);
      onDone?.();
      void navigate({ to: '/' });
    },
  });
}
