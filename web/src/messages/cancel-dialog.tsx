import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { cancelMessage, type Message } from './message.ts';

type Props = {
  readonly message: Pick<Message, 'messageId' | 'destination'>;
  readonly opened: boolean;
  readonly onClose: () => void;
};

/** Confirms that a message not yet with a carrier is cancelled. */
export function CancelDialog({ message: { messageId, destination }, opened, onClose }: Props) {
  const { t } = useTranslation('messages');
  const cancel = useAction({
    run: () => cancelMessage(messageId),
    done: t('cancel.done'),
    refresh: [['message', messageId], ['messages'], ['scheduled'], ['credit']],
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t('cancel.title', { destination })}
      action={t('cancel.action')}
      busy={cancel.busy}
      onConfirm={() => cancel.run()}
    >
      <Text size="sm">{t('cancel.text')}</Text>
    </ConfirmDialog>
  );
}
