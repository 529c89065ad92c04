import { Badge, Group, List, Text, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Check, KeyRound, Minus, ShieldOff, UserCog, UsersRound } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { AddButton, DeleteIcon, GuardedIcon } from '../ui/actions.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { confirm, openDialog, questionTexts } from '../ui/dialog.tsx';
import { callName, Initials } from '../ui/initials.tsx';
import { EmptyState, PageFrame, Section } from '../ui/parts.tsx';
import { SmallTable } from '../ui/small-table.tsx';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { DateTime } from '../ui/values.tsx';
import { CreateDialog, Invitations, PasswordDialog, RoleDialog } from './invitations.tsx';
import classes from './role-table.module.css';
import { listUsers, NEED, ROLES, type Role, USERS, type User } from './user.tsx';

const MAX_SHOWN = 5;

/** The API keys that are revoked with a user. */
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
    <SmallTable
      label={t('roles.title')}
      rows={RIGHTS}
      rowId={({ id }) => id}
      columns={[
        { id: 'right', header: t('roles.right'), cell: ({ id }) => t(`right.${id}`) },
        ...ROLES.map((role) => ({
          id: role,
          header: <span className={classes.role}>{t(`role.${role}`)}</span>,
          align: 'center' as const,
          cell: ({ roles }: (typeof RIGHTS)[number]) => <Answer isYes={roles.includes(role)} />,
        })),
      ]}
    />
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

/** The page of the account's users. */
export function Page() {
  const { t } = useTranslation('users');
  const create = (
    <AddButton need={NEED} onClick={() => openDialog(<CreateDialog />)}>
      {t('create.open')}
    </AddButton>
  );
  return (
    <PageFrame title={t('title')} description={t('description')} actions={create}>
      <UserTable />
      <Invitations />
      <Section title={t('roles.title')} description={t('roles.text')}>
        <RoleTable />
      </Section>
    </PageFrame>
  );
}

function UserTable() {
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
      actions={(user) => <UserActions user={user} />}
      empty={<EmptyState icon={UsersRound} title={t('empty.title')} text={t('empty.text')} />}
    />
  );
}

/** The actions for one user; unavailable ones show the reason. */
function UserActions({ user }: { readonly user: User }) {
  const { t } = useTranslation('users');
  const { id, username } = user;
  const untouchable = useLockReason()(user);
  const isSelf = useIsSelf()(user);
  // For a user who has lost all second factors.
  const removeFactors = (): void =>
    confirm({
      ...questionTexts(t, 'factors', { username }),
      run: () => ok(api.DELETE(`${USERS}/{id}/second-factors`, { params: { path: { id } } })),
      refresh: [['sessions'], ['audit']],
    });
  return (
    <>
      <GuardedIcon
        need={NEED}
        reason={untouchable}
        label={t('role.change', { username })}
        onClick={() => openDialog(<RoleDialog user={user} />)}
      >
        <UserCog size={16} />
      </GuardedIcon>
      <GuardedIcon
        need={NEED}
        reason={untouchable || (isSelf && t('rule.ownPassword'))}
        label={t('password.label', { username })}
        onClick={() => openDialog(<PasswordDialog user={user} />)}
      >
        <KeyRound size={16} />
      </GuardedIcon>
      <GuardedIcon
        need={NEED}
        reason={untouchable || (isSelf && t('factors.own'))}
        label={t('factors.label', { username })}
        onClick={removeFactors}
      >
        <ShieldOff size={16} />
      </GuardedIcon>
      <DeleteIcon
        need={NEED}
        reason={untouchable || (isSelf && t('rule.self'))}
        label={t('remove.label', { username })}
        question={{
          ...questionTexts(t, 'remove', { username }),
          text: (
            <>
              <Text size="sm">{t('remove.text')}</Text>
              <Keys userId={id} />
            </>
          ),
          run: () => ok(api.DELETE(`${USERS}/{id}`, { params: { path: { id } } })),
          refresh: [['users'], ['api-keys'], ['sessions'], ['audit']],
        }}
      />
    </>
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
      <Initials name={callName(user)} size={28} />
      <div>
        <Text size="sm" className="foreign-text" dir="auto">
          {callName(user)}
        </Text>
        {user.displayName !== '' && (
          <Text size="xs" c="dimmed" className="foreign-text">
            {user.username}
          </Text>
        )}
      </div>
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
