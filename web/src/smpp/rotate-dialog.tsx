import { Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogButtons } from '../ui/dialog/dialog-form.tsx';
import { useLast } from '../ui/use-last.ts';
import { type Credential, CREDENTIALS, nameOf } from './credential.ts';
import { Issued } from './issued.tsx';

type RotateDialogProps = { readonly credential: Credential | null; readonly onClose: () => void };

/** Dialog that gives a credential a new password, which is shown once; null closes it. */
export function RotateDialog({ credential, onClose }: RotateDialogProps) {
  const { t } = useTranslation('smpp');
  const shown = useLast(credential);
  const [isRotated, setRotated] = useState(false);
  const close = (): void => {
    setRotated(false);
    onClose();
  };
  const title = t('rotate.title', { name: shown ? nameOf(shown) : '' });
  return (
    <Dialog opened={credential !== null} onClose={close} title={title} locked={isRotated}>
      {credential && <Rotate id={credential.id} onClose={close} onRotated={() => setRotated(true)} />}
    </Dialog>
  );
}

type RotateProps = { readonly id: number; readonly onClose: () => void; readonly onRotated: () => void };

function Rotate({ id, onClose, onRotated }: RotateProps) {
  const { t } = useTranslation('smpp');
  const rotate = useAction({
    run: () => ok(api.POST(`${CREDENTIALS}/{id}/rotate`, { params: { path: { id } } })),
    refresh: [['smpp']],
    onDone: onRotated,
  });
  if (rotate.result !== undefined) return <Issued credential={rotate.result} onClose={onClose} />;
  return (
    <Stack>
      <Text size="sm">{t('rotate.text')}</Text>
      <DialogButtons
        onClose={onClose}
        action={t('rotate.submit')}
        busy={rotate.busy}
        kind="danger"
        onConfirm={() => rotate.run()}
      />
    </Stack>
  );
}
