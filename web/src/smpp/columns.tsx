import { Code, Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../ui/table/data-table.tsx';
import { DateTime } from '../ui/values/date-time.tsx';
import { Num } from '../ui/values/num.tsx';
import type { Credential } from './credential.ts';

export function useCredentialColumns(): readonly Column<Credential>[] {
  const { t } = useTranslation('smpp');
  return useMemo(
    () => [
      { id: 'name', header: t('column.name'), phone: 'title', cell: (credential) => <Name credential={credential} /> },
      {
        id: 'maxBinds',
        header: t('column.maxBinds'),
        align: 'right',
        cell: ({ maxBinds }) => <Num value={maxBinds} />,
      },
      { id: 'window', header: t('field.window'), align: 'right', cell: ({ window }) => <Num value={window} /> },
      {
        id: 'tps',
        header: t('field.tps'),
        align: 'right',
        cell: ({ tps }) => (tps === null ? t('field.tpsOfAccount') : <Num value={tps} />),
      },
      {
        id: 'lastBoundAt',
        header: t('column.lastBoundAt'),
        cell: ({ lastBoundAt }) => (lastBoundAt ? <DateTime value={lastBoundAt} /> : t('never')),
      },
      {
        id: 'inbound',
        header: t('column.inbound'),
        hidden: true,
        cell: ({ inbound }) => t(inbound ? 'yes' : 'no'),
      },
      {
        id: 'createdAt',
        header: t('column.createdAt'),
        hidden: true,
        cell: ({ createdAt }) => <DateTime value={createdAt} />,
      },
    ],
    [t],
  );
}

function Name({ credential: { name, systemId } }: { readonly credential: Credential }) {
  return (
    <Stack gap={2} align="flex-start">
      {name !== '' && (
        <Text size="sm" fw={600} dir="auto">
          {name}
        </Text>
      )}
      <Code dir="ltr">{systemId}</Code>
    </Stack>
  );
}
