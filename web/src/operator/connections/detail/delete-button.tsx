import { List, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../../api/action.ts';
import { api, ok } from '../../../api/client.ts';
import { ConfirmDialog } from '../../../ui/dialog/confirm-dialog.tsx';
import { GuardedButton } from '../../../ui/actions/guarded-button.tsx';
import { OPERATOR } from '../../shared/need.ts';
import { type Connection, CONNECTION_KEYS, CONNECTIONS } from '../connection.ts';

/** Button that deletes a connection, or lists the items that still use it. */
export function DeleteButton({ connection }: { readonly connection: Connection }) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const navigate = useNavigate();
  const { name } = connection;
  const remove = useAction({
    run: () => ok(api.DELETE(`${CONNECTIONS}/{name}`, { params: { path: { name } } })),
    refresh: CONNECTION_KEYS.slice(1),
    done: t('connection.delete.done', { name }),
    onDone: () => void navigate({ to: '/operator/connections' }),
  });
  const reason = connection.sandbox && t('connection.sandboxManaged');
  return (
    <>
      <GuardedButton
        need={OPERATOR}
        reason={reason}
        variant="default"
        leftSection={<Trash2 size={16} />}
        onClick={asking.open}
      >
        {t('connection.delete.open')}
      </GuardedButton>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t('connection.delete.title', { name })}
        action={t('connection.delete.submit')}
        onConfirm={() => remove.run()}
        busy={remove.busy}
        typed={name}
      >
        <Dependents connection={connection} />
      </ConfirmDialog>
    </>
  );
}

function Dependents({ connection: { routes, senders, numbers, queued } }: { readonly connection: Connection }) {
  const { t } = useTranslation('operator');
  const dependents = Object.entries({ routes, senders, numbers, queued }).filter(([, count]) => count > 0);
  if (dependents.length === 0) return <Text size="sm">{t('connection.delete.free')}</Text>;
  return (
    <Stack gap="xs">
      <Text size="sm">{t('connection.delete.inUse')}</Text>
      <List size="sm">
        {dependents.map(([what, count]) => (
          <List.Item key={what}>{t(`connection.delete.${what}`, { count })}</List.Item>
        ))}
      </List>
    </Stack>
  );
}
