import { UsersRound } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { AddButton } from '../ui/actions/add-button.tsx';
import { DataTable } from '../ui/table/data-table.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Section } from '../ui/section.tsx';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { useListQuery } from '../ui/table/use-list-query.ts';
import { useUserColumns } from './columns.tsx';
import { CreateDialog } from './create-dialog.tsx';
import { PasswordDialog } from './password-dialog.tsx';
import { RemoveDialog } from './remove-dialog.tsx';
import { RemoveFactorsDialog } from './remove-factors-dialog.tsx';
import { RoleDialog } from './role-dialog.tsx';
import { RoleTable } from './role-table.tsx';
import { Invitations } from './invitations.tsx';
import { listUsers, NEED, type User } from './user.ts';
import { UserActions, type What } from './user-actions.tsx';

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
    <Frame title={t('title')} description={t('description')} actions={create}>
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
    </Frame>
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
