import { NativeSelect, SimpleGrid, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogForm } from '../ui/dialog/dialog-form.tsx';
import { MS } from './account.ts';

type AgentDialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog that requests an RCS agent from the operator. */
export function AgentDialog({ opened, onClose }: AgentDialogProps) {
  const { t } = useTranslation('account');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('agent.title')}>
      {opened && <RequestForm onClose={onClose} />}
    </Dialog>
  );
}

const USES = ['TRANSACTIONAL', 'PROMOTIONAL', 'OTP', 'MULTI_USE'] as const;
const EMPTY = {
  displayName: '',
  description: '',
  useCase: 'TRANSACTIONAL',
  color: '',
  logoUrl: '',
  heroUrl: '',
  privacyUrl: '',
  termsUrl: '',
};
type Draft = typeof EMPTY;
const ADDRESSES = ['logoUrl', 'heroUrl', 'privacyUrl', 'termsUrl'] as const;

/** The body of the request; empty fields are omitted. */
function toRequestBody({ displayName, useCase, ...rest }: Draft) {
  const filled = Object.fromEntries(Object.entries(rest).filter(([, value]) => value.trim() !== ''));
  return {
    displayName: displayName.trim(),
    useCase: USES.find((each) => each === useCase) ?? 'TRANSACTIONAL',
    ...filled,
  };
}

function RequestForm({ onClose }: Pick<AgentDialogProps, 'onClose'>) {
  const { t } = useTranslation('account');
  const form = useForm<Draft>({
    initialValues: EMPTY,
    validate: { displayName: (name) => (name.trim() === '' ? t('agent.nameMissing') : null) },
  });
  const ask = useAction({
    run: (draft: Draft) => ok(api.POST(`${MS}/rcs/agents`, { body: toRequestBody(draft) })),
    refresh: [['account', 'agents']],
    done: t('agent.done'),
    onDone: onClose,
    form,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((draft) => ask.run(draft))}
      action={t('agent.submit')}
      busy={ask.busy}
      onClose={onClose}
    >
      <Text size="sm">{t('agent.text')}</Text>
      <TextInput label={t('agent.displayName')} maxLength={100} data-autofocus {...form.getInputProps('displayName')} />
      <TextInput label={t('agent.description')} maxLength={100} {...form.getInputProps('description')} />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <NativeSelect
          label={t('agent.useCase')}
          data={USES.map((value) => ({ value, label: t(`use.${value}`) }))}
          {...form.getInputProps('useCase')}
        />
        <TextInput label={t('agent.color')} placeholder="#0057B8" maxLength={7} {...form.getInputProps('color')} />
        {ADDRESSES.map((name) => (
          <TextInput
            key={name}
            type="url"
            label={t(`agent.${name}`)}
            placeholder="https://"
            {...form.getInputProps(name)}
          />
        ))}
      </SimpleGrid>
    </DialogForm>
  );
}
