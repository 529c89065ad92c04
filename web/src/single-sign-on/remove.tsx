import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { GuardedButton } from '../ui/actions/guarded-button.tsx';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { NEED, PATH, settingsQuery } from './settings.ts';

/** The button that removes the settings, after a confirmation. */
export function RemoveButton() {
  const { t } = useTranslation('single-sign-on');
  const [isOpen, setIsOpen] = useState(false);
  const remove = useAction({
    run: () => ok(api.DELETE(PATH)),
    refresh: [settingsQuery.queryKey, ['audit'], ['sign-in-options']],
    done: t('remove.done'),
    onDone: () => setIsOpen(false),
  });
  return (
    <>
      <GuardedButton need={NEED} type="button" variant="default" color="red" onClick={() => setIsOpen(true)}>
        {t('remove.open')}
      </GuardedButton>
      <ConfirmDialog
        opened={isOpen}
        onClose={() => setIsOpen(false)}
        title={t('remove.title')}
        action={t('remove.submit')}
        onConfirm={() => remove.run()}
        busy={remove.busy}
      >
        {t('remove.text')}
      </ConfirmDialog>
    </>
  );
}
