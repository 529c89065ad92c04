import { queryOptions } from '@tanstack/react-query';
import { useState } from 'react';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';
import { useProblemText } from '../../api/problem-text.ts';
import type { Need } from '../../api/session.ts';

export const NEED: Need = { scope: 'keys', write: true };
const PATH = '/api/partner-gateway/v1/account/security';

export const settingsQuery = queryOptions({
  queryKey: ['account-security'],
  queryFn: ({ signal }) => ok(api.GET(PATH, { signal })),
});

export type AllowListChange = { readonly ipAllowList: string[]; readonly enforced: boolean };

/** The server refuses a list without the address that asks: the list as such is at fault, none of its entries. */
const locksOut = (error: unknown): boolean =>
  error instanceof ApiError && error.details.some(({ field }) => field === 'ipAllowList');

/** Changes the allow-list; what would lock oneself out is refused first, and done with `force`. */
export function useChange({ done, onDone }: { readonly done: string; readonly onDone: () => void }) {
  const problemText = useProblemText();
  const [asked, setAsked] = useState<AllowListChange | null>(null);
  const put = useAction({
    run: (body: AllowListChange & { readonly force?: boolean }) => ok(api.PUT(PATH, { body })),
    refresh: [['account-security'], ['audit']],
    quiet: true,
    done,
    onDone,
  });
  const wouldLockOut = locksOut(put.error);
  const wrong = put.error instanceof ApiError ? put.error.details.map(({ message }) => message) : [];
  return {
    run(change: AllowListChange): void {
      setAsked(change);
      put.run(change);
    },
    /** All the same: from the next request on, this very address is refused. */
    force: (): void => void (asked && put.run({ ...asked, force: true })),
    reset: put.reset,
    busy: put.busy,
    wouldLockOut,
    /** What else was wrong, as a sentence. */
    fault: put.error === null || wouldLockOut ? null : wrong.join('; ') || problemText(put.error),
  };
}

export type Changing = ReturnType<typeof useChange>;
