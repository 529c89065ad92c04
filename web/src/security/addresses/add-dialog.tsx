import { Alert, Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import type { AllowListDialogProps } from './dialogs.tsx';

/** Dialog that adds an address or a range, with a shortcut for the user's own address. */
export function AddDialog({ opened, onClose, ...rest }: AllowListDialogProps & { readonly opened: boolean }) {
  const { t } = useTranslation('security');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('addresses.addTitle')} size="md">
      {opened && <Add onClose={onClose} {...rest} />}
    </Dialog>
  );
}

function Add({ settings, change, onClose }: AllowListDialogProps) {
  const { t } = useTranslation('security');
  const [range, setRange] = useState('');
  const { ipAllowList, enforced, callerAddress } = settings;
  return (
    <DialogForm
      onSubmit={() => range.trim() !== '' && change.run({ ipAllowList: [...ipAllowList, range.trim()], enforced })}
      action={t('addresses.addSubmit')}
      busy={change.busy}
      onClose={onClose}
    >
      <TextInput
        label={t('addresses.range')}
        description={t('addresses.rangeHint')}
        placeholder="203.0.113.0/24"
        value={range}
        error={change.fault}
        onChange={(event) => setRange(event.currentTarget.value)}
        maxLength={100}
        data-autofocus
        spellCheck={false}
        autoComplete="off"
        required
      />
      {range !== callerAddress && (
        <Button variant="subtle" size="xs" w="fit-content" onClick={() => setRange(callerAddress)}>
          {t('addresses.useYours', { address: callerAddress })}
        </Button>
      )}
      {enforced && <Alert color="blue">{t('addresses.atOnce')}</Alert>}
    </DialogForm>
  );
}
