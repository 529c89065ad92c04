import { Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useForm } from '@mantine/form';
import { OctagonPause } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { OPERATOR } from '../shared/need.ts';
import { FENCE, SENDING_KEYS } from './overview.ts';

/** Button that pauses all sending, for emergencies. */
export function PauseButton() {
  const { t } = useTranslation('operator');
  const [isOpen, { open, close }] = useDisclosure();
  return (
    <>
      <GuardedButton need={OPERATOR} variant="default" leftSection={<OctagonPause size={16} />} onClick={open}>
        {t('fence.pause.open')}
      </GuardedButton>
      <Dialog opened={isOpen} onClose={close} title={t('fence.pause.title')} size="md">
        {isOpen && <Pause onClose={close} />}
      </Dialog>
    </>
  );
}

function Pause({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation('operator');
  const form = useForm({
    initialValues: { reason: '' },
    validate: { reason: (reason) => (reason.trim() === '' ? t('fence.pause.reasonMissing') : null) },
  });
  const pausing = useAction({
    run: (body: { reason: string }) => ok(api.POST(`${FENCE}/pause`, { body })),
    refresh: SENDING_KEYS,
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => pausing.run(values))}
      action={t('fence.pause.submit')}
      busy={pausing.busy}
      onClose={onClose}
      kind="danger"
    >
      <Text size="sm">{t('fence.pause.text')}</Text>
      <TextInput
        label={t('fence.reason')}
        description={t('fence.pause.reasonHint')}
        maxLength={200}
        data-autofocus
        {...form.getInputProps('reason')}
      />
    </DialogForm>
  );
}
