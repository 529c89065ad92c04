import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { ConnectionLink } from '../shared/connection-link.tsx';
import { useWord } from '../shared/word.ts';
import { CheckLine } from './check-line.tsx';
import { Examination } from './examination.tsx';

const examine = (signal: AbortSignal) => ok(api.GET('/api/operator/v1/doctor', { signal }));
type Finding = Awaited<ReturnType<typeof examine>>['findings'][number];

/** Database, disk, clock, secrets and carriers, as the machine sees them that answers. */
export function Doctor() {
  const { t } = useTranslation('operator');
  const query = useQuery({
    queryKey: ['operator', 'health', 'doctor'],
    queryFn: ({ signal }) => examine(signal),
  });
  return (
    <Examination label={t('health.tab.doctor')} query={query} rows={6}>
      {({ findings }) => findings.map((finding) => <FindingLine key={finding.name} finding={finding} />)}
    </Examination>
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
