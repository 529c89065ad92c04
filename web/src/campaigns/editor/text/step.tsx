import { Alert, Grid, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { PartsCounter } from '../../../ui/message/parts-counter.tsx';
import { Section } from '../../../ui/section.tsx';
import { chainOf } from '../../campaign.ts';
import { type Sample, usePartsOf, usePreview } from '../preview.ts';
import { SamplePreview } from './sample-preview.tsx';
import { TextEditor } from './text-editor.tsx';
import type { DraftForm } from '../use-editor.ts';

/** The step for the SMS text with contact fields, next to a preview for each recipient. */
export function TextStep({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('campaigns');
  const [at, setAt] = useState(0);
  const draft = form.getValues();
  const preview = usePreview(draft, { limit: 1, offset: at });
  const sample = preview.data?.data[0];
  const hasText = chainOf(draft.sendingMode).includes('SMS');
  return (
    <Grid mt="md" gap="md">
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Section title={t('text.title')} description={hasText ? t('text.hint') : t('text.templates')}>
          {hasText && (
            <Stack gap="xs">
              <TextEditor
                value={draft.smsBody}
                error={form.errors['smsBody']}
                onChange={(text) => form.setFieldValue('smsBody', text)}
              />
              <Length text={textOf(sample) ?? draft.smsBody} />
            </Stack>
          )}
          <TemplateNote form={form} />
        </Section>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Section title={t('text.preview')} description={t('text.previewHint')}>
          <SamplePreview draft={draft} preview={preview} at={at} onMove={setAt} />
        </Section>
      </Grid.Col>
    </Grid>
  );
}

const textOf = (sample: Sample | undefined): string | undefined =>
  sample?.steps.find(({ channel }) => channel === 'SMS')?.text;

/** The length of the text as the previewed recipient would read it, since field values change the length. */
function Length({ text }: { readonly text: string }) {
  const { data } = usePartsOf(text);
  if (text === '' || data === undefined) return null;
  return <PartsCounter {...data} />;
}

function TemplateNote({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('campaigns');
  const { sendingMode, whatsappTemplateId, rcsTemplateId } = form.getValues();
  const lacking = chainOf(sendingMode).filter(
    (channel) => (channel === 'WHATSAPP' && whatsappTemplateId === '') || (channel === 'RCS' && rcsTemplateId === ''),
  );
  if (lacking.length === 0) return null;
  return (
    <Alert color="amber">
      {lacking.map((channel) => (
        <Text key={channel} size="sm">
          {t('text.noTemplate', { channel: t(`ui:channel.${channel}`) })}
        </Text>
      ))}
    </Alert>
  );
}
