import { Radio, Group, Stack, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { TemplateOption } from '../../api/networks.ts';
import { type Channel, type DraftForm, hasText, KINDS } from '../draft.ts';
import type { Preview } from '../message.ts';
import { PictureField } from './picture-field.tsx';
import { TemplateFields } from './template-fields.tsx';
import { TextLength } from './text-length.tsx';

type ContentFieldsProps = {
  readonly channel: Channel;
  readonly form: DraftForm;
  readonly template: TemplateOption | undefined;
  readonly preview: Preview | undefined;
};

/** The maximum characters that the API accepts. */
const MAX_LENGTHS = { SMS: 1530, WHATSAPP: 4096, RCS: 3072 } as const;
const MAX_CARD_LENGTHS = 2000;

/** The fields for the content: a text, a template with its values, or a card. */
export function ContentFields({ channel, form, template, preview }: ContentFieldsProps) {
  const { t } = useTranslation('send');
  const isCard = channel === 'RCS' && form.values.RCS.kind === 'card';
  return (
    <Stack gap="md">
      {channel !== 'SMS' && <KindChoice channel={channel} form={form} />}
      {channel !== 'SMS' && form.values[channel].kind === 'template' && (
        <TemplateFields channel={channel} form={form} template={template} />
      )}
      {isCard && <CardFields form={form} />}
      {hasText(channel, form.values) && (
        <Stack gap="xs">
          <Textarea
            label={t(isCard ? 'cardText' : 'text')}
            description={channel === 'WHATSAPP' ? t('windowHint') : undefined}
            withAsterisk={!isCard}
            autosize
            minRows={5}
            maxRows={16}
            maxLength={isCard ? MAX_CARD_LENGTHS : MAX_LENGTHS[channel]}
            dir="auto"
            {...form.getInputProps('text')}
          />
          {channel === 'SMS' && <TextLength form={form} preview={preview} />}
        </Stack>
      )}
      {channel === 'RCS' && form.values.RCS.kind !== 'template' && <Replies form={form} />}
    </Stack>
  );
}

type KindChoiceProps = { readonly channel: 'WHATSAPP' | 'RCS'; readonly form: DraftForm };

function KindChoice({ channel, form }: KindChoiceProps) {
  const { t } = useTranslation('send');
  return (
    <Radio.Group label={t('kind')} {...form.getInputProps(`${channel}.kind`)}>
      <Group mt="xs" gap="lg">
        {KINDS[channel].map((kind) => (
          <Radio key={kind} value={kind} label={t(`kinds.${kind}`)} />
        ))}
      </Group>
    </Radio.Group>
  );
}

function CardFields({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('send');
  return (
    <>
      <PictureField form={form} />
      <TextInput label={t('cardTitle')} maxLength={200} dir="auto" {...form.getInputProps('cardTitle')} />
    </>
  );
}

function Replies({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('send');
  return (
    <Textarea
      label={t('replies')}
      description={t('repliesHint')}
      autosize
      minRows={2}
      maxRows={4}
      dir="auto"
      {...form.getInputProps('replies')}
    />
  );
}
