import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../api/errors.ts';
import { useProblemText } from '../api/problem-text.ts';
import { tell } from '../api/tell.ts';
import { connectProfile, type Network, type Platform, PLATFORMS, type Profile } from './profile.ts';

/** Where connecting a network is. */
export type Connecting =
  | { readonly step: 'asking' }
  /** `since`: when the profile that is there already was connected; null when none is. */
  | { readonly step: 'waiting'; readonly authorizeUrl: string; readonly since: string | null }
  /** `missing`: the settings of the server that it names. */
  | { readonly step: 'failed'; readonly reason: string; readonly missing: readonly string[] };

/** As the server names its settings: `FACEBOOK_CLIENT_ID`. */
const SETTING = /\b[A-Z]+_CLIENT_(?:ID|SECRET)\b/g;

type All = Partial<Record<Platform, Connecting>>;

/**
 * Connecting profiles: the person agrees at the network in a tab of its own, and this one looks until the profile is
 * there. The network's tab gets nothing of ours but its address.
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
    /** What is connected now: ends the waiting for those that are there. */
    notice(profiles: readonly Profile[]): void {
      for (const network of PLATFORMS.filter((each) => isDone(each, profiles))) {
        set(network.platform, undefined);
        void tell({ message: t('connect.done', { network: network.label }), tone: 'good', closeLabel: t('ui:close') });
      }
    },
    isWaiting: Object.values(all).some((now) => now?.step === 'waiting'),
  };
}
