import { List, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { useLast } from '../ui/use-last.ts';
import { type User, USERS } from './user.ts';

type RemoveDialogProps = { readonly user: User | null; readonly onClose: () => void };

/** Confirms that a user is removed, and lists the API keys that are revoked with them; null closes the dialog. */
export function RemoveDialog({ user, onClose }: RemoveDialogProps) {
  const { t } = useTranslation('users');
  const shown = useLast(user);
  const username = shown?.username ?? '';
  const remove = useAction({
    run: (id: number) => ok(api.DELETE(`${USERS}/{id}`, { params: { path: { id } } })),
    refresh: [['users'], ['api-keys'], ['sessions'], ['audit']],
    done: t('remove.done', { username }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={user !== null}
      onClose={onClose}
      title={t('remove.title', { username })}
      action={t('remove.submit')}
      onConfirm={() => user && remove.run(user.id)}
      busy={remove.busy}
    >
      <Text size="sm">{t('remove.text')}</Text>
      {shown && <Keys userId={shown.id} />}
    </ConfirmDialog>
  );
}

const MAX_SHOWN = 5;

function Keys({ userId }: { readonly userId: number }) {
  const { t } = useTranslation('users');
  const query = { userId, page: 0, limit: MAX_SHOWN };
  const { data } = useQuery({
    queryKey: ['api-keys', query],
    queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/authentication', { params: { query }, signal })),
  });
  if (data === undefined) return null;
  if (data.total === 0) return <Text size="sm">{t('remove.noKeys')}</Text>;
  const more = data.total - data.data.length;
  return (
    <>
      <Text size="sm" mt="xs">
        {t('remove.keys', { count: data.total })}
      </Text>
      <List size="sm" mt={4}>
        {data.data.map(({ id, name, prefix }) => (
          <List.Item key={id}>
            <bdi className="foreign-text">{name || `${prefix}…`}</bdi>
          </List.Item>
        ))}
        {more > 0 && <List.Item>{t('remove.more', { count: more })}</List.Item>}
      </List>
    </>
  );
}
