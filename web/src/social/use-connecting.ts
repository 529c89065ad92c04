import { useCallback, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../api/errors.ts';
import { useProblemText } from '../api/problem-text.ts';
import { tell } from '../api/tell.ts';
import { connectProfile, type Platform, PLATFORMS, type Profile } from './profile.ts';

/** Where connecting a network is. `since`: when the profile that is there already was connected, if one is. */
export type Connecting =
  | { readonly step: 'asking' }
  | { readonly step: 'waiting'; readonly authorizeUrl: string; readonly since: string | null }
  | { readonly step: 'failed'; readonly reason: string; readonly isOurs: boolean };

type All = Partial<Record<Platform, Connecting>>;

/**
 * Connecting profiles: the person agrees at the network in a tab of its own, and this one looks until the profile is
 * there. The network's tab gets nothing of ours but its address.
 */
export function useConnecting() {
  const { t } = useTranslation('social');
  const problemText = useProblemText();
  const [all, setAll] = useState<All>({});
  const [known, setKnown] = useState<readonly Profile[]>();
  const set = useCallback((platform: Platform, now: Connecting | undefined): void => {
    setAll((before) => ({ ...before, [platform]: now }));
  }, []);
  const sinceOf = (platform: Platform): string | null =>
    known?.find((profile) => profile.platform === platform)?.connectedAt ?? null;
  const begin = async (platform: Platform): Promise<void> => {
    set(platform, { step: 'asking' });
    try {
      const { authorizeUrl } = await connectProfile(platform);
      set(platform, { step: 'waiting', authorizeUrl, since: sinceOf(platform) });
      window.open(authorizeUrl, '_blank', 'noopener,noreferrer');
    } catch (error) {
      const isOurs = error instanceof ApiError && error.status === 502;
      set(platform, { step: 'failed', reason: isOurs ? error.message : problemText(error), isOurs });
    }
  };
  useEffect(() => {
    for (const { platform, label } of PLATFORMS) {
      const now = all[platform];
      const profile = known?.find((each) => each.platform === platform);
      if (now?.step !== 'waiting' || !profile || profile.connectedAt === now.since) continue;
      set(platform, undefined);
      void tell({ message: t('connect.done', { network: label }), tone: 'good', closeLabel: t('ui:close') });
    }
  }, [all, known, set, t]);
  return {
    of: (platform: Platform): Connecting | undefined => all[platform],
    begin: (platform: Platform): void => void begin(platform),
    giveUp: (platform: Platform): void => set(platform, undefined),
    /** Tells what is connected now. */
    look: (profiles: readonly Profile[] | undefined): void => {
      if (profiles !== known) setKnown(profiles);
    },
    isWaiting: Object.values(all).some((now) => now?.step === 'waiting'),
  };
}
