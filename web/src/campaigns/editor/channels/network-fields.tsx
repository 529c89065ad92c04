import { Alert, Code, NativeSelect, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useProblemText } from '../../../api/problem-text.ts';
import { fieldOf, senderQuery, type TemplateOption, templateQuery } from '../../../api/networks.ts';
import { TextLink } from '../../../ui/link.tsx';
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
      <Filling template={templates.data?.find(({ value }) => value === form.getValues()[fields.template])} />
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

/** Contact fields for the placeholders of the chosen template. They are set with the template. */
function Filling({ template }: { readonly template: TemplateOption | undefined }) {
  const { t } = useTranslation('campaigns');
  if (template === undefined || template.placeholders.length === 0) return null;
  return (
    <Stack gap={4}>
      <Text size="sm" fw={600}>
        {t('channels.filling')}
      </Text>
      {template.placeholders.map((placeholder, at) => (
        <Text key={placeholder} size="sm">
          <Code>{`{{${placeholder}}}`}</Code> {t('channels.filledBy')} <Field variable={template.variables[at]} />
        </Text>
      ))}
      <Text size="xs" c="dimmed">
        {t('channels.fillingHint')}{' '}
        <TextLink size="xs" underline="always" to="/account/templates">
          {t('channels.fillingOpen')}
        </TextLink>
      </Text>
    </Stack>
  );
}

function Field({ variable }: { readonly variable: string | undefined }) {
  const { t } = useTranslation('campaigns');
  if (variable === undefined)
    return (
      <Text span c="red" size="sm">
        {t('channels.filledByNothing')}
      </Text>
    );
  const fallback = variable.includes('|') ? variable.slice(variable.indexOf('|') + 1) : '';
  return (
    <>
      <b>{fieldOf(variable)}</b>
      {fallback !== '' && ` ${t('channels.orElse', { fallback })}`}
    </>
  );
}
