import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { RefreshCw } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { ErrorState } from '../../ui/error-state.tsx';
import { MayButton } from '../../ui/may-button.tsx';
import { TableSkeleton } from '../../ui/table-skeleton.tsx';
import { ConnectionLink } from '../shared/connection-link.tsx';
import { OPERATOR } from '../shared/need.ts';
import { useWord } from '../shared/word.ts';
import { CheckLine } from './check-line.tsx';
import { CheckList } from './check-list.tsx';

const examine = (signal: AbortSignal) => ok(api.GET('/api/operator/v1/doctor', { signal }));
type Finding = Awaited<ReturnType<typeof examine>>['findings'][number];

/** Database, disk, clock, secrets and carriers, as the machine sees them that answers. */
export function Doctor() {
  const { t } = useTranslation('operator');
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['operator', 'health', 'doctor'],
    queryFn: ({ signal }) => examine(signal),
  });
  return (
    <Stack>
      <Group justify="flex-end">
        <MayButton
          need={OPERATOR}
          variant="default"
          leftSection={<RefreshCw size={16} />}
          loading={isFetching}
          onClick={() => void refetch()}
        >
          {t('health.again')}
        </MayButton>
      </Group>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <TableSkeleton rows={6} />}
      {data && (
        <CheckList label={t('health.tab.doctor')}>
          {data.findings.map((finding) => (
            <FindingLine key={finding.name} finding={finding} />
          ))}
        </CheckList>
      )}
    </Stack>
  );
}

/** Of a connection the server says its kind and its name. */
const CONNECTION = /^(?:smpp|whatsapp|rcs) (.+)$/;

function FindingLine({ finding: { name, ok: isGood, detail, advice } }: { readonly finding: Finding }) {
  const { t } = useTranslation('operator');
  const word = useWord();
  const connection = CONNECTION.exec(name)?.[1];
  const title = connection === undefined ? word(`health.finding.${name}`, name) : <ConnectionLink name={connection} />;
  const todo = connection === undefined ? word(`health.advice.${name}`, advice ?? '') : t('health.advice.connection');
  return (
    <CheckLine name={title} ok={isGood} detail={detail}>
      {!isGood && <Text size="sm">{todo}</Text>}
    </CheckLine>
  );
}
