import { MutationCache, onlineManager, QueryCache, QueryClient } from '@tanstack/react-query';
import { followConnection, followNetwork, isOutageStatus, isReachable } from './monitor.ts';
import { ApiError, isSignedOut } from './send.ts';

const RETRIES = 2;
/** Data younger than this is shown again without a request. */
const FRESH_MS = 5_000;

/** Returns true if a retry makes sense: only when the server could not be reached or could not do its work. */
const isWorthRetrying = (failures: number, error: unknown): boolean =>
  failures < RETRIES && error instanceof ApiError && isOutageStatus(error.status);

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
    defaultOptions: {
      queries: { retry: isWorthRetrying, staleTime: FRESH_MS },
      // `send` holds them while the server is away, and reports which were not confirmed.
      mutations: { retry: false, networkMode: 'always' },
    },
  });
}

/** Pauses all queries while the server cannot be reached, and refetches visible data when it is back. */
export function pauseWhileAway(queries: QueryClient): void {
  followNetwork();
  onlineManager.setEventListener((setOnline) => followConnection(() => setOnline(isReachable())));
  onlineManager.subscribe((isOnline) => {
    // Requests from before the outage may have lost their connection without noticing.
    if (isOnline) void queries.refetchQueries({ type: 'active', fetchStatus: 'fetching' });
  });
}
