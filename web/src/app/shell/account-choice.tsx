import { Button, Group, Stack, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { useSession } from '../../api/session.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { SearchField } from '../../ui/filter-bar.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import { useSwitchAccount } from './switch-account.ts';

const MAX_SHOWN = 8;

const listAccounts = (search: string, signal: AbortSignal) => {
  const query = { page: 0, limit: MAX_SHOWN, ...(search !== '' && { search }) };
  return ok(api.GET('/api/operator/v1/accounts', { params: { query }, signal }));
};

type AccountChoiceProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog in which operators switch to another account. */
export function AccountChoice({ opened, onClose }: AccountChoiceProps) {
  const { t } = useTranslation('app');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('switch.title')} size="md">
      {opened && <Accounts onChosen={onClose} />}
    </Dialog>
  );
}

function Accounts({ onChosen }: { readonly onChosen: () => void }) {
  const { t } = useTranslation('app');
  const [search, setSearch] = useState('');
  const { data, error, refetch } = useQuery({
    queryKey: ['operator', 'account-choice', search],
    queryFn: ({ signal }) => listAccounts(search, signal),
    placeholderData: keepPreviousData,
  });
  return (
    <Stack>
      <SearchField label={t('switch.search')} value={search} onChange={setSearch} />
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <TableSkeleton rows={4} />}
      {data?.data.map(({ id, name }) => (
        <AccountLine key={id} id={id} name={name} onChosen={onChosen} />
      ))}
      {data && data.total > MAX_SHOWN && (
        <Text size="xs" c="dimmed">
          {t('switch.more', { count: data.total - MAX_SHOWN })}
        </Text>
      )}
      {data?.total === 0 && <Text size="sm">{t('switch.none')}</Text>}
    </Stack>
  );
}

type AccountLineProps = { readonly id: number; readonly name: string; readonly onChosen: () => void };

function AccountLine({ id, name, onChosen }: AccountLineProps) {
  const { t } = useTranslation('app');
  const { account, ownAccountId } = useSession();
  const switching = useSwitchAccount(onChosen);
  const isHere = account.id === id;
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm" className="foreign-text" dir="auto" fw={isHere ? 650 : 400}>
        {name}
      </Text>
      {isHere ? (
        <Text size="xs" c="dimmed">
          {t('switch.here')}
        </Text>
      ) : (
        <Button
          size="xs"
          variant="default"
          loading={switching.busy}
          onClick={() => switching.run(id === ownAccountId ? null : id)}
          aria-label={t('switch.lookAt', { name })}
        >
          {t('switch.look')}
        </Button>
      )}
    </Group>
  );
}
