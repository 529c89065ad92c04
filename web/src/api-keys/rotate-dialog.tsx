import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogButtons } from '../ui/dialog/dialog-form.tsx';
import { SecretOnce } from '../ui/actions/secret-once.tsx';
import { useLast } from '../ui/use-last.ts';
import { type ApiKey, KEYS, nameOf } from './api-key.ts';

/** Times for which the old value may stay valid, in seconds. */
const GRACES = [0, 3600, 86_400, 604_800] as const;

type RotateDialogProps = { readonly apiKey: ApiKey | null; readonly onClose: () => void };

/** Dialog that gives a key a new value, which is shown once; null closes it. */
export function RotateDialog({ apiKey, onClose }: RotateDialogProps) {
  const { t } = useTranslation('api-keys');
  const shown = useLast(apiKey);
  const [isRotated, setRotated] = useState(false);
  const close = (): void => {
    setRotated(false);
    onClose();
  };
  const title = t('rotate.title', { name: shown ? nameOf(shown) : '' });
  return (
    <Dialog opened={apiKey !== null} onClose={close} title={title} locked={isRotated}>
      {apiKey && <Rotate apiKey={apiKey} onClose={close} onRotated={() => setRotated(true)} />}
    </Dialog>
  );
}

type RotateProps = { readonly apiKey: ApiKey; readonly onClose: () => void; readonly onRotated: () => void };

function Rotate({ apiKey: { id }, onClose, onRotated }: RotateProps) {
  const { t } = useTranslation('api-keys');
  const [grace, setGrace] = useState<string>(String(GRACES[2]));
  const rotate = useAction({
    run: (graceSeconds: number) =>
      ok(api.POST(`${KEYS}/{id}/rotate`, { params: { path: { id } }, body: { graceSeconds } })),
    refresh: [['api-keys']],
    onDone: onRotated,
  });
  if (rotate.result !== undefined) {
    return (
      <Stack>
        <SecretOnce label={t('key')} secret={rotate.result.apiKey} />
        <Group justify="flex-end">
          <Button onClick={onClose}>{t('create.done')}</Button>
        </Group>
      </Stack>
    );
  }
  return (
    <Stack>
      <Text size="sm">{t('rotate.text')}</Text>
      <NativeSelect
        label={t('rotate.grace')}
        data={GRACES.map((seconds) => ({ value: String(seconds), label: t(`rotate.graces.${seconds}`) }))}
        value={grace}
        onChange={(event) => setGrace(event.currentTarget.value)}
      />
      <DialogButtons
        onClose={onClose}
        action={t('rotate.submit')}
        busy={rotate.busy}
        onConfirm={() => rotate.run(Number(grace))}
      />
    </Stack>
  );
}
