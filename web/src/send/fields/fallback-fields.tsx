import { Checkbox, Stack, Textarea } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../api/session.ts';
import { Section } from '../../ui/section.tsx';
import { type Channel, type DraftForm, fallbackChannelsOf } from '../draft.ts';
import { NetworkSender, SmsSender } from './sender-field.tsx';

type FallbackFieldsProps = { readonly channel: Channel; readonly form: DraftForm };

/** The fields for fallback messages. */
export function FallbackFields({ channel, form }: FallbackFieldsProps) {
  const { t } = useTranslation('send');
  return (
    <Section title={t('fallback.title')} description={t('fallback.hint')}>
      {fallbackChannelsOf(channel).map((next) => (
        <Fallback key={next} next={next} form={form} />
      ))}
    </Section>
  );
}

type FallbackProps = { readonly next: 'RCS' | 'SMS'; readonly form: DraftForm };

const NAMES = {
  RCS: { is: 'hasFallbackRcs', text: 'fallbackRcsText', longest: 3072 },
  SMS: { is: 'hasFallbackSms', text: 'fallbackSmsText', longest: 1530 },
} as const;

function Fallback({ next, form }: FallbackProps) {
  const { t } = useTranslation('send');
  const refusal = useSession().refusal({ scope: next });
  const { is, text, longest } = NAMES[next];
  return (
    <Stack gap="sm">
      <Checkbox
        label={t(`fallback.${next}`)}
        description={refusal === null ? undefined : t(`ui:why.${refusal}`)}
        disabled={refusal !== null}
        {...form.getInputProps(is, { type: 'checkbox' })}
      />
      {form.values[is] && (
        <Stack gap="sm" pl={{ base: 0, xs: 'xl' }}>
          {next === 'SMS' ? <SmsSender form={form} /> : <NetworkSender network="RCS" form={form} />}
          <Textarea
            label={t(`fallback.text.${next}`)}
            withAsterisk
            autosize
            minRows={3}
            maxRows={10}
            maxLength={longest}
            dir="auto"
            {...form.getInputProps(text)}
          />
        </Stack>
      )}
    </Stack>
  );
}
