import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { sessionQuery } from '../api/session.ts';

/** For operators: switches to another account, or back to their own (null). */
export function useSwitchAccount(onDone?: () => void) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useAction({
    run: (accountId: number | null) => ok(api.PUT('/api/partner-gateway/v1/session/account', { body: { accountId } })),
    onDone(session) {
      // No data of the previous account may be shown as the new one's.
      queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
      queries.setQueryData(sessionQuery.queryKey, session);
      onDone?.();
      void navigate({ to: '/' });
    },
  });
}
