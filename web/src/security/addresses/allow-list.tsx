import { Alert, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Globe } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { AddButton } from '../../ui/actions/add-button.tsx';
import { CopyButton } from '../../ui/actions/copy-button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Facts } from '../../ui/values/facts.tsx';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { Section } from '../../ui/section.tsx';
import { StatusBadge } from '../../ui/values/status-badge.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import { AddDialog } from './add-dialog.tsx';
import { Blocks } from './blocks.tsx';
import { EnforceDialog, LockOutDialog, RemoveDialog } from './dialogs.tsx';
import { NEED, settingsQuery, useUpdateAllowList } from './security-settings.ts';

type Settings = { readonly ipAllowList: string[]; readonly enforced: boolean; readonly callerAddress: string };
type Open = { readonly what: 'add' | 'enforce' } | { readonly what: 'remove'; readonly block: string } | null;

/** The IP allowlist for users and API keys of the account. */
export function AllowList() {
  const query = useQuery(settingsQuery);
  if (query.data !== undefined) return <Loaded settings={query.data} />;
  if (query.error === null) return <TableSkeleton rows={4} />;
  return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
}

function Loaded({ settings }: { readonly settings: Settings }) {
  const { t } = useTranslation('security');
  const [open, setOpen] = useState<Open>(null);
  const change = useUpdateAllowList({ done: t('addresses.saved'), onDone: () => setOpen(null) });
  const close = (): void => {
    setOpen(null);
    change.reset();
  };
  const { ipAllowList, callerAddress } = settings;
  const shared = { settings, change, onClose: close };
  const isAsking = !change.wouldLockOut;
  const add = (
    <AddButton need={NEED} onClick={() => setOpen({ what: 'add' })}>
      {t('addresses.add')}
    </AddButton>
  );
  return (
    <Stack gap="lg">
      <State settings={settings} onSwitch={() => setOpen({ what: 'enforce' })} />
      <Section title={t('addresses.listTitle')} description={t('addresses.listText')} actions={add}>
        {ipAllowList.length === 0 ? (
          <EmptyState icon={Globe} title={t('addresses.none')} text={t('addresses.noneText')} />
        ) : (
          <Blocks {...settings} onRemove={(block) => setOpen({ what: 'remove', block })} />
        )}
      </Section>
      <AddDialog {...shared} opened={open?.what === 'add' && isAsking} />
      <RemoveDialog {...shared} block={open?.what === 'remove' && isAsking ? open.block : null} />
      <EnforceDialog {...shared} opened={open?.what === 'enforce' && isAsking} />
      <LockOutDialog address={callerAddress} change={change} onClose={close} />
    </Stack>
  );
}

function State({ settings, onSwitch }: { readonly settings: Settings; readonly onSwitch: () => void }) {
  const { t } = useTranslation('security');
  const { enforced, ipAllowList, callerAddress } = settings;
  const isEmpty = ipAllowList.length === 0 && !enforced && t('addresses.addFirst');
  const action = (
    <GuardedButton need={NEED} reason={isEmpty} variant="default" onClick={onSwitch}>
      {t(enforced ? 'addresses.stop' : 'addresses.enforce')}
    </GuardedButton>
  );
  const badge: ReactNode = (
    <StatusBadge tone={enforced ? 'good' : 'neutral'}>{t(enforced ? 'addresses.on' : 'addresses.off')}</StatusBadge>
  );
  return (
    <Section title={t('addresses.title')} description={t('addresses.text')} actions={action}>
      <Facts
        facts={[
          { label: t('addresses.state'), value: badge },
          { label: t('addresses.yours'), value: <Address address={callerAddress} /> },
        ]}
      />
      {!enforced && ipAllowList.length > 0 && (
        <Alert color="amber" title={t('addresses.offTitle')}>
          <Text size="sm">{t('addresses.offText')}</Text>
        </Alert>
      )}
    </Section>
  );
}

function Address({ address }: { readonly address: string }) {
  const { t } = useTranslation('security');
  return (
    <Group gap={4}>
      <bdi dir="ltr" className="tabular">
        {address}
      </bdi>
      <CopyButton text={address} label={t('addresses.copy')} />
    </Group>
  );
}
