import { Badge, Group, List, Text, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Check, KeyRound, Minus, ShieldOff, Trash2, UserCog, UsersRound } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { AddButton, GuardedIcon } from '../ui/actions.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { EmptyState, PageFrame, Section, useLast } from '../ui/parts.tsx';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { useListQuery } from '../ui/use-list-query.ts';
import { DateTime } from '../ui/values.tsx';
import { CreateDialog, Invitations, PasswordDialog, RoleDialog } from './invitations.tsx';
import classes from './role-table.module.css';
import { listUsers, NEED, ROLES, type Role, USERS, type User } from './user.tsx';

type RemoveDialogProps = { readonly user: User | null; readonly onClose: () => void };

/** Confirms that a user is removed, and lists the API keys that are revoked with them; null closes the dialog. */
function RemoveDialog({ user, onClose }: RemoveDialogProps) {
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

/** The permissions of the roles, a summary of the table in src/core/actor.ts. */
const RIGHTS: readonly { readonly id: string; readonly roles: readonly Role[] }[] = [
  { id: 'read', roles: ROLES },
  { id: 'send', roles: ['sender', 'manager', 'admin'] },
  { id: 'write', roles: ['manager', 'admin'] },
  { id: 'money', roles: ['viewer', 'manager', 'admin'] },
  { id: 'keys', roles: ['admin'] },
];

/** The table of the roles and their permissions. */
function RoleTable() {
  const { t } = useTranslation('users');
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label={t('roles.title')}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{t('roles.right')}</th>
            {ROLES.map((role) => (
              <th key={role} scope="col">
                {t(`role.${role}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {RIGHTS.map(({ id, roles }) => (
            <tr key={id}>
              <th scope="row">{t(`right.${id}`)}</th>
              {ROLES.map((role) => (
                <td key={role}>
                  <Answer isYes={roles.includes(role)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Answer({ isYes }: { readonly isYes: boolean }) {
  const { t } = useTranslation('users');
  const Sign = isYes ? Check : Minus;
  return (
    <>
      <Sign size={18} aria-hidden="true" className={isYes ? classes.yes : classes.no} />
      <VisuallyHidden>{t(isYes ? 'roles.yes' : 'roles.no')}</VisuallyHidden>
    </>
  );
}

const FIELDS = listFields();

/** The open dialog and its user. */
type Open = { readonly what: 'create' } | { readonly what: What; readonly user: User } | null;

/** The page of the account's contacts. */
export function Page() {
  const { t } = useTranslation('users');
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  const about = (what: What): User | null => (open?.what === what ? open.user : null);
  const create = (
    <AddButton need={NEED} onClick={() => setOpen({ what: 'create' })}>
      {t('create.open')}
    </AddButton>
  );
  return (
    <PageFrame title={t('title')} description={t('description')} actions={create}>
      <UserTable onOpen={(what, user) => setOpen({ what, user })} />
      <Invitations />
      <Section title={t('roles.title')} description={t('roles.text')}>
        <RoleTable />
      </Section>
      <CreateDialog opened={open?.what === 'create'} onClose={close} />
      <RoleDialog user={about('role')} onClose={close} />
      <PasswordDialog user={about('password')} onClose={close} />
      <RemoveFactorsDialog user={about('factors')} onClose={close} />
      <RemoveDialog user={about('remove')} onClose={close} />
    </PageFrame>
  );
}

function UserTable({ onOpen }: { readonly onOpen: (what: What, user: User) => void }) {
  const { t } = useTranslation('users');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useUserColumns();
  const query = useListQuery(['users', search], (signal) => listUsers(search, signal));
  return (
    <DataTable<User>
      id="users"
      label={t('title')}
      columns={columns}
      query={query}
      rowId={({ id }) => String(id)}
      search={search}
      onSearch={setSearch}
      actions={(user) => <UserActions user={user} onOpen={(what) => onOpen(what, user)} />}
      empty={<EmptyState icon={UsersRound} title={t('empty.title')} text={t('empty.text')} />}
    />
  );
}

type What = 'role' | 'password' | 'factors' | 'remove';
type UserActionsProps = { readonly user: User; readonly onOpen: (what: What) => void };

/** The actions for one user; unavailable ones show the reason. */
function UserActions({ user, onOpen }: UserActionsProps) {
  const { t } = useTranslation('users');
  const { username } = user;
  const untouchable = useLockReason()(user);
  const isSelf = useIsSelf()(user);
  return (
    <>
      <GuardedIcon
        need={NEED}
        reason={untouchable}
        label={t('role.change', { username })}
        onClick={() => onOpen('role')}
      >
        <UserCog size={16} />
      </GuardedIcon>
      <GuardedIcon
        need={NEED}
        reason={untouchable || (isSelf && t('rule.ownPassword'))}
        label={t('password.label', { username })}
        onClick={() => onOpen('password')}
      >
        <KeyRound size={16} />
      </GuardedIcon>
      <GuardedIcon
        need={NEED}
        reason={untouchable || (isSelf && t('factors.own'))}
        label={t('factors.label', { username })}
        onClick={() => onOpen('factors')}
      >
        <ShieldOff size={16} />
      </GuardedIcon>
      <GuardedIcon
        need={NEED}
        reason={untouchable || (isSelf && t('rule.self'))}
        label={t('remove.label', { username })}
        onClick={() => onOpen('remove')}
      >
        <Trash2 size={16} />
      </GuardedIcon>
    </>
  );
}

type RemoveFactorsProps = { readonly user: User | null; readonly onClose: () => void };

/** Confirms the removal of all second factors of a user who has lost them; null closes the dialog. */
function RemoveFactorsDialog({ user, onClose }: RemoveFactorsProps) {
  const { t } = useTranslation('users');
  const username = useLast(user)?.username ?? '';
  const remove = useAction({
    run: (id: number) => ok(api.DELETE(`${USERS}/{id}/second-factors`, { params: { path: { id } } })),
    refresh: [['sessions'], ['audit']],
    done: t('factors.done', { username }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={user !== null}
      onClose={onClose}
      title={t('factors.title', { username })}
      action={t('factors.submit')}
      onConfirm={() => user && remove.run(user.id)}
      busy={remove.busy}
    >
      <Text size="sm">{t('factors.text')}</Text>
    </ConfirmDialog>
  );
}

function useUserColumns(): readonly Column<User>[] {
  const { t } = useTranslation('users');
  return useMemo(
    () => [
      { id: 'username', header: t('column.username'), phone: 'title', cell: (user) => <Name user={user} /> },
      { id: 'role', header: t('column.role'), cell: ({ role }) => <span>{t(`role.${role}`)}</span> },
      { id: 'createdAt', header: t('column.createdAt'), cell: ({ createdAt }) => <DateTime value={createdAt} /> },
    ],
    [t],
  );
}

function Name({ user }: { readonly user: User }) {
  const { t } = useTranslation('users');
  const isSelf = useIsSelf()(user);
  return (
    <Group gap="xs">
      <Text size="sm" fw={600} className="foreign-text" dir="auto">
        {user.username}
      </Text>
      {isSelf && <Badge color="blue">{t('you')}</Badge>}
      {user.isOperator && <Badge color="violet">{t('isOperator')}</Badge>}
    </Group>
  );
}

/** Returns a function that gives the reason why the signed-in user may not change a user; false if they may. */
function useLockReason(): (user: User) => string | false {
  const { t } = useTranslation('users');
  const { isOperator } = useSession();
  return (user) => user.isOperator && !isOperator && t('rule.operator');
}

/** Returns a function that is true for the signed-in user. */
function useIsSelf(): (user: Pick<User, 'id'>) => boolean {
  const session = useSession();
  return ({ id }) => id === session.user.id;
}
