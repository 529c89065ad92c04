import { QueryCache, MutationCache, QueryClient } from '@tanstack/react-query';
import { ApiError, isSignedOut } from './errors.ts';

const RETRIES = 2;
/** What was fetched so recently is shown again without asking. */
const FRESH_MS = 5_000;

/** A refusal stays one; what could not be reached, and 503, are worth another try. */
const isWorthRetrying = (failures: number, error: unknown): boolean =>
  failures < RETRIES && error instanceof ApiError && (error.status === 0 || error.status === 503);

/** `onSignedOut` hears of each answer of 401, from wherever it came. */
export function createQueryClient(onSignedOut: () => void): QueryClient {
  const onError = (error: unknown): void => {
    if (isSignedOut(error)) onSignedOut();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: { queries: { retry: isWorthRetrying, staleTime: FRESH_MS }, mutations: { retry: false } },
  });
}
