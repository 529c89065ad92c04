import { Code, Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../../ui/table/data-table.tsx';
import { DateTime } from '../../ui/values/date-time.tsx';
import { Num } from '../../ui/values/num.tsx';
import { AccountLink } from '../shared/account-link.tsx';
import type { Bind } from './bind.ts';

type Figure = 'perSecond' | 'submits' | 'throttled' | 'window' | 'unanswered' | 'waiting';

const HIDDEN: readonly Figure[] = ['submits', 'unanswered'];

export function useBindColumns(): readonly Column<Bind>[] {
  const { t } = useTranslation('operator');
  return useMemo(() => {
    const figure = (id: Figure): Column<Bind> => ({
      id,
      header: t(`bind.${id}`),
      align: 'right',
      hidden: HIDDEN.includes(id),
      cell: (bind) => <Num value={bind[id]} />,
    });
    return [
      {
        id: 'account',
        header: t('account.word'),
        phone: 'title',
        cell: ({ accountId, account }) => <AccountLink id={accountId} name={account} />,
      },
      { id: 'credential', header: t('bind.credential'), cell: (bind) => <Who bind={bind} /> },
      { id: 'mode', header: t('bind.mode'), cell: ({ mode }) => t(`bind.modes.${mode}`) },
      { id: 'address', header: t('bind.address'), cell: ({ address }) => <Code dir="ltr">{address}</Code> },
      { id: 'boundAt', header: t('bind.boundAt'), cell: ({ boundAt }) => <DateTime value={boundAt} /> },
      figure('perSecond'),
      figure('throttled'),
      figure('window'),
      figure('waiting'),
      figure('submits'),
      figure('unanswered'),
      {
        id: 'version',
        header: t('bind.version'),
        hidden: true,
        cell: ({ version }) => <Code dir="ltr">{version}</Code>,
      },
    ];
  }, [t]);
}

function Who({ bind: { name, systemId } }: { readonly bind: Bind }) {
  return (
    <Stack gap={2} align="flex-start">
      {name !== '' && (
        <Text size="sm" dir="auto">
          {name}
        </Text>
      )}
      <Code dir="ltr">{systemId}</Code>
    </Stack>
  );
}
