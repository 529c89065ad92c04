import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { ConnectionLink } from '../shared/connection-link.tsx';
import { useServerText } from '../shared/server-text.ts';
import { CheckLine } from './check-line.tsx';
import { Checks } from './checks.tsx';

const runDoctor = (signal: AbortSignal) => ok(api.GET('/api/operator/v1/doctor', { signal }));
type Finding = Awaited<ReturnType<typeof runDoctor>>['findings'][number];

/** The doctor's checks of database, disk, clock, secrets and carriers, on the server that handles the request. */
export function Doctor() {
  const { t } = useTranslation('operator');
  const query = useQuery({
    queryKey: ['operator', 'health', 'doctor'],
    queryFn: ({ signal }) => runDoctor(signal),
  });
  return (
    <Checks
      label={t('health.tab.doctor')}
      query={query}
      rows={6}
      resultsOf={({ findings }) => findings.map((each) => each.ok)}
    >
      {({ findings }) => findings.map((finding) => <FindingLine key={finding.name} finding={finding} />)}
    </Checks>
  );
}

/** Matches the name of a connection's check: its kind and name. */
const CONNECTION = /^(?:smpp|http|whatsapp|rcs) ([^:]+)$/;

function FindingLine({ finding: { name, ok: isGood, detail, advice } }: { readonly finding: Finding }) {
  const { t } = useTranslation('operator');
  const serverText = useServerText();
  const connection = CONNECTION.exec(name)?.[1];
  const title =
    connection === undefined ? serverText(`health.finding.${name}`, name) : <ConnectionLink name={connection} />;
  const todo =
    connection === undefined ? serverText(`health.advice.${name}`, advice ?? '') : t('health.advice.connection');
  return (
    <CheckLine name={title} ok={isGood} detail={detail}>
      {!isGood && <Text size="sm">{todo}</Text>}
    </CheckLine>
  );
}
