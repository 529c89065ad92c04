import { QueryCache, MutationCache, QueryClient } from '@tanstack/react-query';
import { ApiError, isSignedOut } from './errors.ts';

const RETRIES = 2;
/** Data younger than this is shown again without a request. */
const FRESH_MS = 5_000;

/** Whether to retry: only when the server could not be reached or answered 503. */
const isWorthRetrying = (failures: number, error: unknown): boolean =>
  failures < RETRIES && error instanceof ApiError && (error.status === 0 || error.status === 503);

/** Creates the query client. `onSignedOut` is called when a session that existed has ended. */
export function createQueryClient(onSignedOut: () => void): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({
      onError(error, { queryKey, state }) {
        // Without a session from the start, the user was not signed in; the router handles that.
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
