import { Alert, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { useProblemText } from '../../api/problem-text.ts';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { AddDialog, type AddDialogProps, type AddFormProps } from './add-dialog.tsx';
import { addPasskey, AFFECTED } from './factors.ts';

/** Adds a passkey: asks for a name, then the browser asks for the passkey; shows the recovery codes. */
export function PasskeyDialog(props: AddDialogProps) {
  const { t } = useTranslation('security');
  return <AddDialog {...props} title={t('factors.passkeyTitle')} form={(form) => <Naming {...form} />} />;
}

function Naming({ onClose, onMade }: AddFormProps) {
  const { t } = useTranslation('security');
  const problemText = useProblemText();
  const [name, setName] = useState('');
  const add = useAction({
    run: () => addPasskey(name.trim()),
    refresh: AFFECTED,
    quiet: true,
    done: t('factors.passkeyDone'),
    onDone: ({ recoveryCodes }) => onMade(recoveryCodes),
  });
  return (
    <DialogForm
      onSubmit={() => name.trim() !== '' && add.run()}
      action={t('factors.passkeySubmit')}
      busy={add.busy}
      onClose={onClose}
    >
      <Text size="sm">{t('factors.passkeyText')}</Text>
      {add.error !== null && <Alert color="red">{problemText(add.error)}</Alert>}
      <TextInput
        label={t('factors.passkeyName')}
        description={t('factors.passkeyNameHint')}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={100}
        data-autofocus
        required
      />
    </DialogForm>
  );
}
