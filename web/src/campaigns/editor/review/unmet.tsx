import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { CircleCheck, TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { FieldFault } from '../../../api/errors.ts';
import { ButtonLink } from '../../../ui/link.tsx';
import { placeOf, type StepId } from '../draft.ts';

type UnmetProps = { readonly faults: readonly FieldFault[]; readonly goTo: (step: StepId) => void };

/** The issues to resolve before the campaign can be confirmed, each with a link to its step. */
export function Unmet({ faults, goTo }: UnmetProps) {
  const { t } = useTranslation('campaigns');
  const sentence = useSentence();
  if (faults.length === 0)
    return (
      <Alert color="green" icon={<CircleCheck size={20} />} title={t('unmet.ready.title')}>
        {t('unmet.ready.text')}
      </Alert>
    );
  return (
    <Alert color="amber" icon={<TriangleAlert size={20} />} title={t('unmet.title')}>
      <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
        {faults.map((fault) => (
          <Group key={`${fault.field} ${fault.message}`} component="li" justify="space-between" gap="xs">
            <Text size="sm" style={{ overflowWrap: 'anywhere', flex: '1 1 240px' }}>
              {sentence(fault)}
            </Text>
            <GoToStep fault={fault} goTo={goTo} />
          </Group>
        ))}
      </Stack>
    </Alert>
  );
}

/** The field names to put before messages such as "must be…" and "Required". */
const NAMES: Readonly<Record<string, string>> = {
  name: 'channels.name',
  smsSender: 'channels.smsSender',
  smsBody: 'text.label',
  rcsAgentId: 'channels.rcsAgentId',
  rcsTemplateId: 'channels.rcsTemplateId',
  whatsappPhoneNumberId: 'channels.whatsappPhoneNumberId',
  whatsappTemplateId: 'channels.whatsappTemplateId',
  wallTime: 'time.at',
};

function useSentence(): (fault: FieldFault) => string {
  const { t } = useTranslation('campaigns');
  return ({ field, message }) => {
    const name = NAMES[field];
    return name === undefined ? message : `${t(name)}: ${message}`;
  };
}

function GoToStep({ fault, goTo }: { readonly fault: FieldFault; readonly goTo: (step: StepId) => void }) {
  const { t } = useTranslation('campaigns');
  const step = placeOf(fault.field)?.[1];
  if (fault.field === 'credit')
    return (
      <ButtonLink to="/account" size="compact-sm" variant="default">
        {t('unmet.toAccount')}
      </ButtonLink>
    );
  if (step === undefined) return null;
  return (
    <Button size="compact-sm" variant="default" onClick={() => goTo(step)}>
      {t('unmet.goToStep', { step: t(`step.${step}`) })}
    </Button>
  );
}
