import { Alert, Group, List, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../ui/error-state.tsx';
import { Section } from '../../ui/section.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { ConnectionLink } from '../shared/connection-link.tsx';
import { NumberCheck } from '../shared/number-check.tsx';
import { Prefix } from '../shared/prefix.tsx';
import { ConditionsText } from './conditions.tsx';
import { type Asked, type Explained, explainQuery } from './route.ts';

type CheckProps = { readonly asked: Asked; readonly onChange: (asked: Partial<Asked>) => void };

/** Shows which routes a message to a number would use, in order, and why not the others. */
export function RouteCheck({ asked, onChange }: CheckProps) {
  const { t } = useTranslation('operator');
  const { data, error } = useQuery(explainQuery(asked));
  const before = (
    <>
      <TextInput
        label={t('route.only.accountLabel')}
        inputMode="numeric"
        maxLength={15}
        value={asked.account}
        onChange={(event) => onChange({ account: event.currentTarget.value.replaceAll(/\D/g, '') })}
      />
      <TextInput
        label={t('route.only.senderLabel')}
        maxLength={20}
        value={asked.sender}
        onChange={(event) => onChange({ sender: event.currentTarget.value })}
      />
    </>
  );
  return (
    <Section title={t('route.check.title')} description={t('route.check.hint')}>
      <NumberCheck label={t('number')} value={asked.number} onChange={(number) => onChange({ number })} before={before}>
        {error && <ErrorState error={error} />}
        {data && <Answer explained={data} />}
      </NumberCheck>
    </Section>
  );
}

type ExplainedRoute = Explained['data'][number];

function Answer({ explained: { data } }: { readonly explained: Explained }) {
  const { t } = useTranslation('operator');
  const used = data.filter(({ place }) => place !== null);
  const unused = data.filter(({ place }) => place === null);
  return (
    <Stack gap="md" role="status">
      {used.length === 0 && <Alert color="amber">{t('route.check.none')}</Alert>}
      {used.length > 0 && <Routes label={t('route.check.answer')} type="ordered" routes={used} />}
      {unused.length > 0 && (
        <div>
          <Text size="sm" fw={600} mb="xs">
            {t('route.check.unused')}
          </Text>
          <Routes label={t('route.check.unused')} type="unordered" routes={unused} />
        </div>
      )}
    </Stack>
  );
}

type RoutesProps = {
  readonly label: string;
  readonly type: 'ordered' | 'unordered';
  readonly routes: readonly ExplainedRoute[];
};

function Routes({ label, type, routes }: RoutesProps) {
  return (
    <List type={type} size="sm" spacing="xs" aria-label={label}>
      {routes.map((route) => (
        <List.Item key={route.id}>
          <Group gap="sm">
            <ConnectionLink name={route.connection} />
            <Text size="sm" c="dimmed" component="div">
              <Prefix prefix={route.prefix} />
            </Text>
            <ConditionsText route={route} />
            <Quality route={route} />
            <Verdict route={route} />
          </Group>
        </List.Item>
      ))}
    </List>
  );
}

function Quality({ route: { standing, samples, delivered } }: { readonly route: ExplainedRoute }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const words = [
    ...(standing === null ? [] : [t(`route.standing.${standing}`)]),
    ...(delivered === null
      ? []
      : [t('route.check.delivered', { share: format.percent(delivered, 1), count: samples })]),
  ];
  return <Text size="sm">{words.join(', ')}</Text>;
}

function Verdict({ route: { place, obstacles } }: { readonly route: ExplainedRoute }) {
  const { t } = useTranslation('operator');
  const text =
    place === null
      ? obstacles.map((obstacle) => t(`route.obstacle.${obstacle}`)).join('; ')
      : t(place === 1 ? 'route.check.first' : 'route.check.then');
  return (
    <Text size="sm" c="dimmed">
      {text}
    </Text>
  );
}
