import { SimpleGrid, Stack, Text } from '@mantine/core';
import { ContactRound, type LucideIcon, Send, Webhook } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { ButtonLink } from '../ui/link.tsx';
import { Section } from '../ui/section.tsx';

const STEPS: readonly (readonly [name: string, to: string, icon: LucideIcon])[] = [
  ['send', '/send', Send],
  ['contacts', '/contacts/import', ContactRound],
  ['webhook', '/webhooks', Webhook],
];

/** The first steps, for an account that has sent nothing in the time range. */
export function FirstSteps() {
  const { t } = useTranslation('overview');
  return (
    <Section title={t('first.title')} description={t('first.description')}>
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        {STEPS.map(([name, to, Icon], index) => (
          <Stack key={name} gap="xs" align="flex-start">
            <Text fw={600}>{t(`first.${name}.title`)}</Text>
            <Text size="sm" c="dimmed" style={{ flexGrow: 1 }}>
              {t(`first.${name}.text`)}
            </Text>
            <ButtonLink
              to={to}
              variant={index === 0 ? 'filled' : 'default'}
              leftSection={<Icon size={16} aria-hidden="true" />}
            >
              {t(`first.${name}.go`)}
            </ButtonLink>
          </Stack>
        ))}
      </SimpleGrid>
    </Section>
  );
}
