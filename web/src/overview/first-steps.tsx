import { Button, Group, Stack, Text, VisuallyHidden } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Circle, CircleCheck, X } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { type Need, useSession } from '../api/session.ts';
import { ButtonLink } from '../ui/link.tsx';
import { Section } from '../ui/section.tsx';
import { type FirstSteps as Done, firstStepsQuery } from './overview.ts';

type Step = { readonly name: keyof Done; readonly to: string; readonly need: Need };

const STEPS: readonly Step[] = [
  { name: 'connection', to: '/operator/connections/new', need: { operator: true } },
  { name: 'prices', to: '/operator/prices', need: { operator: true } },
  { name: 'key', to: '/api-keys', need: { scope: 'keys', write: true } },
  { name: 'message', to: '/send', need: { write: true } },
  { name: 'webhook', to: '/webhooks', need: { scope: 'webhooks', write: true } },
  { name: 'contacts', to: '/contacts/import', need: { scope: 'contacts', write: true } },
  { name: 'campaign', to: '/campaigns/editor', need: { scope: 'campaigns', write: true } },
];

/**
 * The steps of setting up, each ticked when it is done, until all are done or the user hides them. Steps reserved for
 * other users are shown as long as they are open.
 */
export function FirstSteps() {
  const { t } = useTranslation('overview');
  const { account, user, may } = useSession();
  const [isHidden, setHidden] = useLocalStorage({
    key: `heliograph-first-steps-${account.id}-${user.username}`,
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  const { data } = useQuery({ ...firstStepsQuery, enabled: !isHidden });
  const steps = STEPS.filter(({ name, need }) => may(need) || (need.operator && data?.[name] === false));
  const own = steps.filter(({ need }) => may(need));
  if (isHidden || data === undefined || own.every(({ name }) => data[name])) return null;
  const next = own.find(({ name }) => !data[name]);
  const hide = (
    <Button variant="subtle" color="gray" size="xs" leftSection={<X size={14} />} onClick={() => setHidden(true)}>
      {t('first.hide')}
    </Button>
  );
  return (
    <Section
      title={t('first.title')}
      description={t('first.done', { done: own.filter(({ name }) => data[name]).length, count: own.length })}
      actions={hide}
    >
      <Stack component="ol" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
        {steps.map((step) => (
          <StepLine key={step.name} step={step} isDone={data[step.name]} isNext={step === next} />
        ))}
      </Stack>
    </Section>
  );
}

type StepLineProps = { readonly step: Step; readonly isDone: boolean; readonly isNext: boolean };

function StepLine({ step: { name, to, need }, isDone, isNext }: StepLineProps) {
  const { t } = useTranslation('overview');
  const mayDo = useSession().may(need);
  const Sign = isDone ? CircleCheck : Circle;
  return (
    <Group component="li" gap="sm" wrap="nowrap" align="flex-start" data-step={name} data-done={isDone}>
      <Sign
        size={20}
        aria-hidden="true"
        color={isDone ? 'var(--mantine-color-green-6)' : 'var(--mantine-color-dimmed)'}
        style={{ flexShrink: 0, marginTop: 2 }}
      />
      <Group justify="space-between" gap="xs" style={{ flexGrow: 1 }}>
        <div style={{ flex: '1 1 240px', minWidth: 0 }}>
          <Text fw={600} size="sm" {...(isDone && { c: 'dimmed' })}>
            {t(`first.${name}.title`)} <VisuallyHidden>{t(isDone ? 'first.isDone' : 'first.isOpen')}</VisuallyHidden>
          </Text>
          {!isDone && (
            <Text size="sm" c="dimmed">
              {mayDo ? t(`first.${name}.text`) : t('attention.askOperator')}
            </Text>
          )}
        </div>
        {!isDone && mayDo && (
          <ButtonLink to={to} size="xs" variant={isNext ? 'filled' : 'default'}>
            {t(`first.${name}.go`)}
          </ButtonLink>
        )}
      </Group>
    </Group>
  );
}
