import { Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { SidePanel } from '../ui/dialog/dialog.tsx';
import { ErrorState } from '../ui/error-state.tsx';
import { TableSkeleton } from '../ui/table/table-skeleton.tsx';
import { useLast } from '../ui/use-last.ts';
import { findProfile, type Network } from './profile.ts';
import classes from './social.module.css';

type LinkedPanelProps = { readonly network: Network | null; readonly onClose: () => void };

/** Side panel with the pages, organisations and locations linked to a profile; null closes it. */
export function LinkedPanel({ network, onClose }: LinkedPanelProps) {
  const { t } = useTranslation('social');
  const shown = useLast(network);
  return (
    <SidePanel opened={network !== null} onClose={onClose} title={t('linked.title', { network: shown?.label ?? '' })}>
      {shown && <Linked network={shown} />}
    </SidePanel>
  );
}

function Linked({ network: { platform } }: { readonly network: Network }) {
  const { t } = useTranslation('social');
  const profile = useQuery({
    queryKey: ['social-profile', platform],
    queryFn: ({ signal }) => findProfile(platform, signal),
  });
  if (profile.isError) return <ErrorState error={profile.error} onRetry={() => void profile.refetch()} />;
  if (!profile.data) return <TableSkeleton rows={4} />;
  return (
    <ul className={classes.linked}>
      {profile.data.linked.map(({ id, name, type }) => (
        <li key={`${type} ${id}`}>
          <Group justify="space-between" wrap="nowrap">
            <Text size="sm" fw={600} dir="auto" className="foreign-text">
              {name}
            </Text>
            <Text size="xs" c="dimmed">
              {t(`linked.${type}`, { defaultValue: type })}
            </Text>
          </Group>
          <Text size="xs" c="dimmed" className="foreign-text">
            {id}
          </Text>
        </li>
      ))}
    </ul>
  );
}
