import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { CircleCheck, TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useCredit } from '../../../api/credit.ts';
import type { FieldFault } from '../../../api/errors.ts';
import { useSession } from '../../../api/session.ts';
import { ButtonLink } from '../../../ui/link.tsx';
import { useNow } from '../../../ui/values/use-now.ts';
import { type Draft, placeOf, scheduledAt, type StepId } from '../draft.ts';
import { usePreview } from '../preview.ts';
import type { PricedCampaign } from '../../price/price.ts';

/** Everything that prevents the confirmation, in the form of server errors. */
export function useUnmet(draft: Draft, { campaign }: PricedCampaign): readonly FieldFault[] {
  const { t } = useTranslation('campaigns');
  const { account } = useSession();
  const { data: credit } = useCredit();
  const { data: preview } = usePreview(draft, { limit: 1, offset: 0 });
  const { totalDestinations, estimatedCost, contactListIds, destinations = [] } = campaign;
  const recipients = contactListIds.length > 0 ? 'contactListIds' : 'destinations';
  const isNobody = contactListIds.length === 0 && destinations.length === 0;
  const isShort =
    account.plan !== 'unlimited' &&
    credit !== undefined &&
    estimatedCost !== null &&
    credit.availableCredit < estimatedCost;
  const at = scheduledAt(draft);
  const now = useNow();
  const own = [
    isNobody && { field: 'contactListIds', message: t('unmet.recipients') },
    !isNobody && totalDestinations === 0 && { field: recipients, message: t('unmet.nobody') },
    at !== null && at <= now && { field: 'scheduledDate', message: t('fault.pastTime') },
    isShort && { field: 'credit', message: t('unmet.credit') },
  ];
  return [...(preview?.problems ?? []), ...own.filter((fault) => fault !== false)];
}

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

/** The field names to put before server messages such as "must be…". */
const NAMES: Readonly<Record<string, string>> = {
  smsSender: 'channels.smsSender',
  smsBody: 'text.label',
  rcsAgentId: 'channels.rcsAgentId',
  rcsTemplateId: 'channels.rcsTemplateId',
  whatsappPhoneNumberId: 'channels.whatsappPhoneNumberId',
  whatsappTemplateId: 'channels.whatsappTemplateId',
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
