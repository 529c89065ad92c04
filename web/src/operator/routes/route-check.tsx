import { Alert, Group, List, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../ui/error-state.tsx';
import { Section } from '../../ui/section.tsx';
import { NumberCheck } from '../shared/number-check.tsx';
import { Prefix } from '../shared/prefix.tsx';
import { Through } from './columns.tsx';
import { checkQuery, type Route } from './route.ts';

type CheckProps = { readonly number: string; readonly onChange: (number: string) => void };

/** A lookup of the connections that a phone number would use, in order. */
export function RouteCheck({ number, onChange }: CheckProps) {
  const { t } = useTranslation('operator');
  const { data, error } = useQuery(checkQuery(number));
  return (
    <Section title={t('route.check.title')} description={t('route.check.hint')}>
      <NumberCheck label={t('number')} value={number} onChange={onChange}>
        {error && <ErrorState error={error} />}
        {data && <Answer routes={data.data} />}
      </NumberCheck>
    </Section>
  );
}

function Answer({ routes }: { readonly routes: readonly Route[] }) {
  const { t } = useTranslation('operator');
  if (routes.length === 0)
    return (
      <Alert color="amber" role="status">
        {t('route.check.none')}
      </Alert>
    );
  return (
    <div role="status">
      <List type="ordered" size="sm" spacing="xs" aria-label={t('route.check.answer')}>
        {routes.map((route, at) => (
          <List.Item key={route.id}>
            <Group gap="sm">
              <Through route={route} />
              <Text size="sm" c="dimmed" component="div">
                <Prefix prefix={route.prefix} />
              </Text>
              <Text size="sm" c="dimmed">
                {t(at === 0 ? 'route.check.first' : 'route.check.then')}
              </Text>
            </Group>
          </List.Item>
        ))}
      </List>
    </div>
  );
}
