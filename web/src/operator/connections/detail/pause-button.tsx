import { useDisclosure } from '@mantine/hooks';
import { CirclePause, CirclePlay } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../../api/action.ts';
import { api, ok } from '../../../api/client.ts';
import { ConfirmDialog } from '../../../ui/dialog/confirm-dialog.tsx';
import { GuardedButton } from '../../../ui/actions/guarded-button.tsx';
import { OPERATOR } from '../../shared/need.ts';
import { type Connection, CONNECTION_KEYS, CONNECTIONS } from '../connection.ts';

/** Button that pauses the connection after a confirmation, or resumes it. */
export function PauseButton({ connection: { name, status, queued } }: { readonly connection: Connection }) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const isPaused = status === 'paused';
  const move = useAction({
    run: () =>
      ok(
        api.PUT(`${CONNECTIONS}/{name}`, {
          params: { path: { name } },
          body: { status: isPaused ? 'active' : 'paused' },
        }),
      ),
    refresh: CONNECTION_KEYS,
    done: t(isPaused ? 'connection.resume.done' : 'connection.pause.done', { name }),
    onDone: asking.close,
  });
  const press = isPaused ? () => move.run() : asking.open;
  return (
    <>
      <GuardedButton
        need={OPERATOR}
        variant={isPaused ? 'filled' : 'default'}
        leftSection={isPaused ? <CirclePlay size={16} /> : <CirclePause size={16} />}
        loading={move.busy && isPaused}
        onClick={press}
      >
        {t(isPaused ? 'connection.resume.open' : 'connection.pause.open')}
      </GuardedButton>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t('connection.pause.title', { name })}
        action={t('connection.pause.submit')}
        onConfirm={() => move.run()}
        busy={move.busy}
        kind="normal"
      >
        {t('connection.pause.text', { count: queued })}
      </ConfirmDialog>
    </>
  );
}
