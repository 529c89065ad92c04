import { Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { BadgeCheck, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { GuardedButton, GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { ConnectionChoice } from '../connections/connection-choice.tsx';
import { OPERATOR } from '../shared/need.ts';
import { type Sender, SENDER_KEYS, SENDERS } from './sender.ts';

type Props = { readonly sender: Sender };

export function SenderActions({ sender }: Props) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const [isRegistering, registering] = useDisclosure();
  const name = sender.name || sender.identity || t('sender.noName');
  return (
    <>
      {sender.identity === null && (
        <GuardedButton need={OPERATOR} size="xs" leftSection={<BadgeCheck size={14} />} onClick={registering.open}>
          {t('sender.register.open')}
        </GuardedButton>
      )}
      <GuardedIcon need={OPERATOR} label={t('sender.remove.label', { name })} onClick={asking.open}>
        <Trash2 size={16} />
      </GuardedIcon>
      <Remove sender={sender} name={name} opened={isAsking} onClose={asking.close} />
      <Dialog opened={isRegistering} onClose={registering.close} title={t('sender.register.title', { name })} size="md">
        {isRegistering && <Register sender={sender} onClose={registering.close} />}
      </Dialog>
    </>
  );
}

type RemoveProps = Props & { readonly name: string; readonly opened: boolean; readonly onClose: () => void };

function Remove({ sender: { id }, name, opened, onClose }: RemoveProps) {
  const { t } = useTranslation('operator');
  const remove = useAction({
    run: () => ok(api.DELETE(`${SENDERS}/{id}`, { params: { path: { id } } })),
    refresh: SENDER_KEYS,
    done: t('sender.remove.done', { name }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t('sender.remove.title', { name })}
      action={t('sender.remove.submit')}
      onConfirm={() => remove.run()}
      busy={remove.busy}
    >
      {t('sender.remove.text')}
    </ConfirmDialog>
  );
}

/** Dialog that registers a requested agent with its ID at Google. */
function Register({ sender: { id }, onClose }: Props & { readonly onClose: () => void }) {
  const { t } = useTranslation('operator');
  const form = useForm({
    initialValues: { identity: '', connection: '' },
    validate: {
      identity: (identity) => (identity.trim() === '' ? t('wizard.missing') : null),
      connection: (name) => (name === '' ? t('route.add.connectionMissing') : null),
    },
  });
  const register = useAction({
    run: (body: { identity: string; connection: string }) =>
      ok(api.POST(`${SENDERS}/{id}/register`, { params: { path: { id } }, body })),
    refresh: SENDER_KEYS,
    done: t('sender.register.done'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => register.run(values))}
      action={t('sender.register.submit')}
      busy={register.busy}
      onClose={onClose}
    >
      <Text size="sm">{t('sender.register.text')}</Text>
      <ConnectionChoice channel="RCS" {...form.getInputProps('connection')} />
      <TextInput label={t('sender.identity')} dir="ltr" maxLength={128} {...form.getInputProps('identity')} />
    </DialogForm>
  );
}
