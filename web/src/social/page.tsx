import { SimpleGrid } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../ui/error-state.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { TableSkeleton } from '../ui/table/table-skeleton.tsx';
import { DisconnectDialog } from './disconnect-dialog.tsx';
import { LinkedPanel } from './linked-panel.tsx';
import { NetworkCard } from './network-card.tsx';
import { listProfiles, type Network, PLATFORMS } from './profile.ts';
import { useConnecting } from './use-connecting.ts';

/** Poll interval while the user confirms at a network, in another tab. */
const WAITING_MS = 2_000;

/** The open dialog and its network. */
type Open = { readonly what: 'disconnect' | 'linked'; readonly network: Network } | null;

/** The page of the account's social profiles. */
export function Page() {
  const { t } = useTranslation('social');
  const [open, setOpen] = useState<Open>(null);
  const connecting = useConnecting();
  const profiles = useQuery({
    queryKey: ['socials'],
    queryFn: async ({ signal }) => {
      const found = await listProfiles(signal);
      connecting.updateFrom(found);
      return found;
    },
    refetchInterval: connecting.isWaiting ? WAITING_MS : false,
    refetchOnWindowFocus: 'always',
  });
  if (profiles.isError)
    return (
      <Frame title={t('title')} description={t('description')}>
        <ErrorState error={profiles.error} onRetry={() => void profiles.refetch()} />
      </Frame>
    );
  const chosen = (what: 'disconnect' | 'linked'): Network | null => (open?.what === what ? open.network : null);
  return (
    <Frame title={t('title')} description={t('description')}>
      {profiles.data === undefined ? (
        <TableSkeleton rows={6} />
      ) : (
        <SimpleGrid cols={{ base: 1, sm: 2, xl: 3 }} spacing="md">
          {PLATFORMS.map((network) => (
            <NetworkCard
              key={network.platform}
              network={network}
              profile={profiles.data.find(({ platform }) => platform === network.platform)}
              connecting={connecting.of(network.platform)}
              onConnect={(since) => connecting.begin(network.platform, since)}
              onGiveUp={() => connecting.giveUp(network.platform)}
              onOpen={(what) => setOpen({ what, network })}
            />
          ))}
        </SimpleGrid>
      )}
      <DisconnectDialog network={chosen('disconnect')} onClose={() => setOpen(null)} />
      <LinkedPanel network={chosen('linked')} onClose={() => setOpen(null)} />
    </Frame>
  );
}
