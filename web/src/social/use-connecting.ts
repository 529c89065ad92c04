import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../api/errors.ts';
import { useProblemText } from '../api/problem-text.ts';
import { notify } from '../api/notify.ts';
import { connectProfile, type Network, type Platform, PLATFORMS, type Profile } from './profile.ts';

/** The state of connecting a network. */
export type Connecting =
  | { readonly step: 'asking' }
  /** `since` is when the existing profile was connected; null if there is none. */
  | { readonly step: 'waiting'; readonly authorizeUrl: string; readonly since: string | null }
  /** `missing` are the server settings named in the error. */
  | { readonly step: 'failed'; readonly reason: string; readonly missing: readonly string[] };

/** The names of server settings, such as `FACEBOOK_CLIENT_ID`. */
const SETTING = /\b[A-Z]+_CLIENT_(?:ID|SECRET)\b/g;

type All = Partial<Record<Platform, Connecting>>;

/**
 * Connects profiles: the user confirms at the network in another tab, and this page polls until the profile is
 * connected. The network's tab gets nothing from this page but the URL.
 */
export function useConnecting() {
  const { t } = useTranslation('social');
  const problemText = useProblemText();
  const [all, setAll] = useState<All>({});
  const set = (platform: Platform, now: Connecting | undefined): void =>
    setAll((before) => ({ ...before, [platform]: now }));
  const begin = async (platform: Platform, since: string | null): Promise<void> => {
    set(platform, { step: 'asking' });
    try {
      const { authorizeUrl } = await connectProfile(platform);
      set(platform, { step: 'waiting', authorizeUrl, since });
      window.open(authorizeUrl, '_blank', 'noopener,noreferrer');
    } catch (error) {
      const missing = error instanceof ApiError && error.status === 502 ? (error.message.match(SETTING) ?? []) : [];
      set(platform, { step: 'failed', reason: problemText(error), missing });
    }
  };
  const isDone = ({ platform }: Network, profiles: readonly Profile[]): boolean => {
    const now = all[platform];
    const profile = profiles.find((each) => each.platform === platform);
    return now?.step === 'waiting' && profile !== undefined && profile.connectedAt !== now.since;
  };
  return {
    of: (platform: Platform): Connecting | undefined => all[platform],
    begin: (platform: Platform, since: string | null): void => void begin(platform, since),
    giveUp: (platform: Platform): void => set(platform, undefined),
    /** Ends the waiting for networks whose profile is now connected. */
    updateFrom(profiles: readonly Profile[]): void {
      for (const network of PLATFORMS.filter((each) => isDone(each, profiles))) {
        set(network.platform, undefined);
        void notify({
          message: t('connect.done', { network: network.label }),
          tone: 'good',
          closeLabel: t('ui:close'),
        });
      }
    },
    isWaiting: Object.values(all).some((now) => now?.step === 'waiting'),
  };
}
