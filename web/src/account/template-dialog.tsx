import { NativeSelect, SimpleGrid, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useForm, type UseFormReturnType } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogForm } from '../ui/dialog/dialog-form.tsx';
import { PhonePreview } from '../ui/message/phone-preview.tsx';
import { numbersQuery } from './account.ts';
import { PlaceholderFields } from './placeholder-fields.tsx';
import type { TemplateChannel } from './template.ts';
import { CATEGORIES, createTemplate, EMPTY_DRAFT, repliesIn, type TemplateDraft } from './template-draft.ts';

type TemplateDialogProps = {
  readonly channel: TemplateChannel;
  readonly opened: boolean;
  readonly onClose: () => void;
};

/** Dialog that creates a template: on WhatsApp for approval, on RCS immediately. */
export function TemplateDialog({ channel, opened, onClose }: TemplateDialogProps) {
  const { t } = useTranslation('account');
  return (
    <Dialog opened={opened} onClose={onClose} title={t(`template.title.${channel}`)} size="xl">
      {opened && <TemplateForm channel={channel} onClose={onClose} />}
    </Dialog>
  );
}

type TemplateFormProps = Omit<TemplateDialogProps, 'opened'>;

function TemplateForm({ channel, onClose }: TemplateFormProps) {
  const { t } = useTranslation('account');
  const form = useForm<TemplateDraft>({
    initialValues: EMPTY_DRAFT,
    validate: {
      name: (name) => (name.trim() === '' ? t('template.missing') : null),
      text: (text) => (text.trim() === '' ? t('template.missing') : null),
      phoneNumberId: (id) => (channel === 'WHATSAPP' && id === '' ? t('template.missing') : null),
    },
  });
  const create = useAction({
    run: (draft: TemplateDraft) => createTemplate(channel, draft),
    refresh: [['templates']],
    done: t(`template.made.${channel}`),
    onDone: onClose,
    form,
  });
  const { header, text, footer, replies } = form.values;
  return (
    <DialogForm
      onSubmit={form.onSubmit((draft) => create.run(draft))}
      action={t(`template.submit.${channel}`)}
      busy={create.busy}
      onClose={onClose}
    >
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="lg">
        <Stack>{channel === 'WHATSAPP' ? <WhatsappFields form={form} /> : <RcsFields form={form} />}</Stack>
        <div>
          <PhonePreview
            channel={channel}
            sender=""
            title={header || undefined}
            text={[text, footer].filter((each) => each.trim() !== '').join('\n\n')}
            buttons={channel === 'RCS' ? repliesIn(replies) : []}
          />
        </div>
      </SimpleGrid>
    </DialogForm>
  );
}

type FieldsProps = { readonly form: UseFormReturnType<TemplateDraft> };

function WhatsappFields({ form }: FieldsProps) {
  const { t } = useTranslation('account');
  const { data } = useQuery(numbersQuery);
  const numbers = (data?.data ?? []).map(({ phoneNumberId, displayPhoneNumber, verifiedName }) => ({
    value: phoneNumberId,
    label: [verifiedName, displayPhoneNumber].filter(Boolean).join(' · ') || phoneNumberId,
  }));
  return (
    <>
      <Text size="sm" c="dimmed">
        {t('template.approval')}
      </Text>
      <NativeSelect
        label={t('template.number')}
        data={[{ value: '', label: t('template.chooseNumber') }, ...numbers]}
        {...form.getInputProps('phoneNumberId')}
      />
      <TextInput
        label={t('column.name')}
        description={t('template.nameHint')}
        maxLength={512}
        {...form.getInputProps('name')}
      />
      <SimpleGrid cols={2}>
        <TextInput label={t('column.language')} placeholder="en_GB" {...form.getInputProps('language')} />
        <NativeSelect
          label={t('column.category')}
          data={CATEGORIES.map((value) => ({ value, label: t(`category.${value}`) }))}
          {...form.getInputProps('category')}
        />
      </SimpleGrid>
      <TextInput label={t('template.header')} maxLength={60} {...form.getInputProps('header')} />
      <Textarea
        label={t('template.text')}
        description={t('template.textHint', { skipInterpolation: true })}
        autosize
        minRows={3}
        maxLength={1024}
        {...form.getInputProps('text')}
      />
      <PlaceholderFields form={form} />
      <TextInput label={t('template.footer')} maxLength={60} {...form.getInputProps('footer')} />
    </>
  );
}

function RcsFields({ form }: FieldsProps) {
  const { t } = useTranslation('account');
  return (
    <>
      <TextInput label={t('column.name')} maxLength={200} data-autofocus {...form.getInputProps('name')} />
      <Textarea
        label={t('template.text')}
        description={t('template.rcsHint', { skipInterpolation: true })}
        autosize
        minRows={4}
        maxLength={3072}
        {...form.getInputProps('text')}
      />
      <Textarea
        label={t('template.replies')}
        description={t('template.repliesHint')}
        autosize
        minRows={2}
        {...form.getInputProps('replies')}
      />
    </>
  );
}
