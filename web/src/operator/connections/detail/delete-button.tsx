import { List, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../../api/action.ts';
import { api, ok } from '../../../api/client.ts';
import { ConfirmDialog } from '../../../ui/dialog/confirm-dialog.tsx';
import { MayButton } from '../../../ui/actions/may-button.tsx';
import { OPERATOR } from '../../shared/need.ts';
import { type Connection, CONNECTION_KEYS, CONNECTIONS } from '../connection.ts';

/** Removes a connection that nothing leads to; else says what does. */
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
  const because = connection.sandbox && t('connection.sandboxManaged');
  return (
    <>
      <MayButton
        need={OPERATOR}
        because={because}
        variant="default"
        leftSection={<Trash2 size={16} />}
        onClick={asking.open}
      >
        {t('connection.delete.open')}
      </MayButton>
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
  const kept = Object.entries({ routes, senders, numbers, queued }).filter(([, count]) => count > 0);
  if (kept.length === 0) return <Text size="sm">{t('connection.delete.free')}</Text>;
  return (
    <Stack gap="xs">
      <Text size="sm">{t('connection.delete.inUse')}</Text>
      <List size="sm">
        {kept.map(([what, count]) => (
          <List.Item key={what}>{t(`connection.delete.${what}`, { count })}</List.Item>
        ))}
      </List>
    </Stack>
  );
}
