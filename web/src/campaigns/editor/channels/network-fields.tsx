import { Alert, NativeSelect, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useProblemText } from '../../../api/problem-text.ts';
import { senderQuery, templateQuery } from '../../../api/networks.ts';
import { TRAFFIC_TYPES } from '../draft.ts';
import type { DraftForm } from '../use-editor.ts';

type NetworkFieldsProps = { readonly channel: 'WHATSAPP' | 'RCS'; readonly form: DraftForm };

const FIELDS = {
  WHATSAPP: { sender: 'whatsappPhoneNumberId', template: 'whatsappTemplateId' },
  RCS: { sender: 'rcsAgentId', template: 'rcsTemplateId' },
} as const;

/** The sender and the template on a network. */
export function NetworkFields({ channel, form }: NetworkFieldsProps) {
  const { t } = useTranslation('campaigns');
  const problemText = useProblemText();
  const senders = useQuery(senderQuery(channel));
  const templates = useQuery(templateQuery(channel));
  const fields = FIELDS[channel];
  const failed = senders.error ?? templates.error;
  return (
    <Stack gap="sm">
      {failed !== null && <Alert color="red">{problemText(failed)}</Alert>}
      <NativeSelect
        label={t(`channels.${fields.sender}`)}
        description={senders.data?.length === 0 ? t(`channels.no.${fields.sender}`) : undefined}
        data={[{ value: '', label: t('channels.choose') }, ...(senders.data ?? [])]}
        disabled={senders.isPending}
        withAsterisk
        {...form.getInputProps(fields.sender)}
      />
      <NativeSelect
        label={t(`channels.${fields.template}`)}
        description={templates.data?.length === 0 ? t('channels.no.template') : t('channels.templateHint')}
        data={[{ value: '', label: t('channels.choose') }, ...(templates.data ?? [])]}
        disabled={templates.isPending}
        withAsterisk
        {...form.getInputProps(fields.template)}
      />
      {channel === 'RCS' && (
        <NativeSelect
          label={t('channels.rcsTrafficType')}
          description={t('channels.rcsTrafficTypeHint')}
          data={[
            { value: '', label: t('trafficType.none') },
            ...TRAFFIC_TYPES.map((value) => ({ value, label: t(`trafficType.${value}`) })),
          ]}
          {...form.getInputProps('rcsTrafficType')}
        />
      )}
    </Stack>
  );
}
