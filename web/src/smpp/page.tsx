import { PlugZap } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { AddButton } from '../ui/actions/add-button.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { DataTable } from '../ui/table/data-table.tsx';
import { useListQuery } from '../ui/table/use-list-query.ts';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { ChangeDialog } from './change-dialog.tsx';
import { useCredentialColumns } from './columns.tsx';
import { CreateDialog } from './create-dialog.tsx';
import { type Credential, listCredentials, NEED } from './credential.ts';
import { type CredentialAction, CredentialActions } from './credential-actions.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { RotateDialog } from './rotate-dialog.tsx';

const FIELDS = listFields();

/** The open dialog and the credential it is about. */
type Open = { readonly what: 'create' } | { readonly what: CredentialAction; readonly credential: Credential } | null;

/** The page of the credentials with which programs bind over SMPP. */
export function Page() {
  const { t } = useTranslation('smpp');
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  const shown = (what: CredentialAction): Credential | null => (open?.what === what ? open.credential : null);
  const create = (
    <AddButton need={NEED} onClick={() => setOpen({ what: 'create' })}>
      {t('create.open')}
    </AddButton>
  );
  return (
    <Frame title={t('title')} description={t('description')} actions={create}>
      <CredentialTable create={create} onOpen={setOpen} />
      <CreateDialog opened={open?.what === 'create'} onClose={close} />
      <ChangeDialog credential={shown('change')} onClose={close} />
      <RotateDialog credential={shown('rotate')} onClose={close} />
      <DeleteDialog credential={shown('delete')} onClose={close} />
    </Frame>
  );
}

type CredentialTableProps = { readonly create: ReactNode; readonly onOpen: (open: Open) => void };

function CredentialTable({ create, onOpen }: CredentialTableProps) {
  const { t } = useTranslation('smpp');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useCredentialColumns();
  const query = useListQuery(['smpp', search], (signal) => listCredentials(search, signal));
  return (
    <DataTable<Credential>
      id="smpp-credentials"
      label={t('title')}
      columns={columns}
      query={query}
      rowId={({ id }) => String(id)}
      search={search}
      onSearch={setSearch}
      actions={(credential) => (
        <CredentialActions credential={credential} onOpen={(what) => onOpen({ what, credential })} />
      )}
      empty={
        <EmptyState icon={PlugZap} title={t('empty.title')} text={t('empty.text')} help="smpp#credentials">
          {create}
        </EmptyState>
      }
    />
  );
}
