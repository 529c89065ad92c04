import { queryOptions } from '@tanstack/react-query';
import { useState } from 'react';
import { useAction } from '../api/action.ts';
import { useProblemText } from '../api/passkey.ts';
import { ApiError, api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';

export const NEED: Need = { scope: 'keys', write: true };
const PATH = '/api/partner-gateway/v1/account/security';

export const settingsQuery = queryOptions({
  queryKey: ['account-security'],
  queryFn: ({ signal }) => ok(api.GET(PATH, { signal })),
});

type AllowListChange = { readonly ipAllowList: string[]; readonly enforced: boolean };

/**
 * Returns true if the server rejected the list because it lacks the user's own address. The error is then on the list
 * itself, not on an entry.
 */
const locksOut = (error: unknown): boolean =>
  error instanceof ApiError && error.details.some(({ field }) => field === 'ipAllowList');

/** Changes the allowlist. The server first rejects a change that would lock the user out; `force` applies it anyway. */
export function useUpdateAllowList({ done, onDone }: { readonly done: string; readonly onDone: () => void }) {
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
    /** Applies the change anyway; the user's own address is blocked from the next request on. */
    force: (): void => void (asked && put.run({ ...asked, force: true })),
    reset: put.reset,
    busy: put.busy,
    wouldLockOut,
    /** Any other error, as a sentence. */
    fault: put.error === null || wouldLockOut ? null : wrong.join('; ') || problemText(put.error),
  };
}

export type AllowListUpdate = ReturnType<typeof useUpdateAllowList>;

/** Checked in this order, because Edge and Opera also contain "Chrome", and Chrome contains "Safari". */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Headless)?Chrom(?:e|ium)\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];

/** Checked in this order, because Android also contains "Linux", and iPhones contain "Mac OS". */
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

type Device = { readonly browser: string | null; readonly system: string | null };

const nameIn = (names: readonly (readonly [RegExp, string])[], text: string): string | null =>
  names.find(([sign]) => sign.test(text))?.[1] ?? null;

/** The browser and the system named in a user agent; null if unknown. */
export const deviceOf = (userAgent: string): Device => ({
  browser: nameIn(BROWSERS, userAgent),
  system: nameIn(SYSTEMS, userAgent),
});
