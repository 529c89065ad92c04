import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogButtons } from '../ui/dialog/dialog-form.tsx';
import { useFormat } from '../ui/values/format.ts';
import { NewSecret } from './register-dialog.tsx';
import { FORM_A } from './webhook.ts';

type RotateDialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog that rotates the webhook's secret; both secrets sign events for a day. */
export function RotateDialog({ opened, onClose }: RotateDialogProps) {
  const { t } = useTranslation('webhooks');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('rotate.title')}>
      {opened && <Rotate onClose={onClose} />}
    </Dialog>
  );
}

function Rotate({ onClose }: Pick<RotateDialogProps, 'onClose'>) {
  const { t } = useTranslation('webhooks');
  const format = useFormat();
  const rotate = useAction({ run: () => ok(api.POST(`${FORM_A}/secret`)), refresh: [['webhooks']] });
  if (rotate.result !== undefined) {
    const { secret, previousSecretUntil } = rotate.result;
    const until = previousSecretUntil === null ? '' : format.brief(new Date(previousSecretUntil));
    return <NewSecret secret={secret} note={t('rotate.note', { until })} onClose={onClose} />;
  }
  return (
    <Stack>
      <Text size="sm">{t('rotate.text')}</Text>
      <DialogButtons onClose={onClose} action={t('rotate.submit')} busy={rotate.busy} onConfirm={() => rotate.run()} />
    </Stack>
  );
}
