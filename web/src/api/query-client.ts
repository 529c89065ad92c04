import { QueryCache, MutationCache, QueryClient } from '@tanstack/react-query';
import { ApiError, isSignedOut } from './errors.ts';

const RETRIES = 2;
/** What was fetched so recently is shown again without asking. */
const FRESH_MS = 5_000;

/** A refusal stays one; what could not be reached, and 503, are worth another try. */
const isWorthRetrying = (failures: number, error: unknown): boolean =>
  failures < RETRIES && error instanceof ApiError && (error.status === 0 || error.status === 503);

/** `onSignedOut` hears when somebody who was signed in no longer is. */
export function createQueryClient(onSignedOut: () => void): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({
      onError(error, { queryKey, state }) {
        // Who asks for the session and has none was not signed in: the router sees to that.
        const isFirst = queryKey[0] === 'session' && state.data === undefined;
        if (isSignedOut(error) && !isFirst) onSignedOut();
      },
    }),
    mutationCache: new MutationCache({
      onError(error, _input, _context, { meta }) {
        if (isSignedOut(error) && meta?.['signsIn'] !== true) onSignedOut();
      },
    }),
    defaultOptions: { queries: { retry: isWorthRetrying, staleTime: FRESH_MS }, mutations: { retry: false } },
  });
}
