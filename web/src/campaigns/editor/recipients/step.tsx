import { SegmentedControl, Stack, Text, Textarea } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../../ui/values/format.ts';
import { Section } from '../../../ui/section.tsx';
import { ContactSearch } from '../../../ui/contact-search.tsx';
import { numbersIn } from '../draft.ts';
import { ListChoice } from './list-choice.tsx';
import { Samples } from './samples.tsx';
import type { DraftForm } from '../use-editor.ts';

/** The step for the recipients: contact lists, or single contacts and numbers, with a sample. */
export function RecipientsStep({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('campaigns');
  const { recipients, contactListIds } = form.getValues();
  return (
    <Stack mt="md">
      <Section title={t('recipients.title')} description={t('recipients.hint')}>
        <SegmentedControl
          aria-label={t('recipients.title')}
          data={(['lists', 'numbers'] as const).map((value) => ({ value, label: t(`recipients.${value}`) }))}
          w={{ base: '100%', xs: 'fit-content' }}
          styles={{ label: { paddingInline: 8 } }}
          {...form.getInputProps('recipients')}
        />
        {recipients === 'lists' ? <ListChoice form={form} /> : <Numbers form={form} />}
      </Section>
      <Section title={t('samples.title')} description={t('samples.hint')}>
        <Samples key={`${recipients} ${contactListIds.join()}`} draft={form.getValues()} />
      </Section>
    </Stack>
  );
}

function Numbers({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const numbers = numbersIn(form.getValues().destinations);
  const add = (number: string): void => form.setFieldValue('destinations', [...numbers, number].join('\n'));
  return (
    <Stack>
      <ContactSearch chosen={numbers} onChoose={({ phoneNumber }) => add(phoneNumber)} />
      <Textarea
        label={t('recipients.numbersLabel')}
        description={t('recipients.numbersHint')}
        autosize
        minRows={4}
        maxRows={12}
        {...form.getInputProps('destinations')}
      />
      <Text size="sm" c="dimmed" className="tabular" role="status">
        {t('recipients.numbersCount', { count: numbers.length, shown: format.number(numbers.length) })}
      </Text>
    </Stack>
  );
}
