import { Button } from '@mantine/core';
import { KeyRound, Search } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { AddButton } from '../ui/actions/add-button.tsx';
import { DataTable } from '../ui/table/data-table.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { choice, listFields, useUrlState } from '../ui/url-state.ts';
import { useListQuery } from '../ui/table/use-list-query.ts';
import { type ApiKey, listApiKeys, NEED, STATES } from './api-key.ts';
import { useKeyColumns } from './columns.tsx';
import { CreateDialog } from './create-dialog.tsx';
import { KeyFilters } from './filters.tsx';
import { FindDialog } from './find-dialog.tsx';
import { KeyActions } from './key-actions.tsx';
import { RevokeDialog } from './revoke-dialog.tsx';
import { RotateDialog } from './rotate-dialog.tsx';

const PERSON = { fallback: '', parse: (given: string) => (/^\d{1,12}$/.test(given) ? given : undefined) };
const FIELDS = { ...listFields(), person: PERSON, status: choice(STATES) };

/** The open dialog and the item it is about. */
type Open =
  | { readonly what: 'create' | 'find' }
  | { readonly what: 'rotate' | 'revoke'; readonly apiKey: ApiKey }
  | null;

/** The page of the account's API keys. */
export function Page() {
  const { t } = useTranslation('api-keys');
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  const create = (
    <AddButton need={NEED} onClick={() => setOpen({ what: 'create' })}>
      {t('create.open')}
    </AddButton>
  );
  const actions = (
    <>
      <Button variant="default" leftSection={<Search size={16} />} onClick={() => setOpen({ what: 'find' })}>
        {t('find.open')}
      </Button>
      {create}
    </>
  );
  return (
    <Frame title={t('title')} description={t('description')} actions={actions}>
      <KeyTable create={create} onOpen={setOpen} />
      <FindDialog opened={open?.what === 'find'} onClose={close} />
      <CreateDialog opened={open?.what === 'create'} onClose={close} />
      <RotateDialog apiKey={open?.what === 'rotate' ? open.apiKey : null} onClose={close} />
      <RevokeDialog apiKey={open?.what === 'revoke' ? open.apiKey : null} onClose={close} />
    </Frame>
  );
}

type KeyTableProps = { readonly create: ReactNode; readonly onOpen: (open: Open) => void };

function KeyTable({ create, onOpen }: KeyTableProps) {
  const { t } = useTranslation('api-keys');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useKeyColumns();
  const query = useListQuery(['api-keys', search], (signal) => listApiKeys(search, signal));
  const isFiltered = search.person !== '' || search.status !== '';
  return (
    <>
      <KeyFilters filters={search} onChange={setSearch} />
      <DataTable<ApiKey>
        id="api-keys"
        label={t('title')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        actions={(apiKey) => <KeyActions apiKey={apiKey} onOpen={(what) => onOpen({ what, apiKey })} />}
        empty={
          isFiltered ? (
            <EmptyState icon={KeyRound} title={t('empty.filtered')} text={t('empty.filteredText')} />
          ) : (
            <EmptyState icon={KeyRound} title={t('empty.title')} text={t('empty.text')} help="api#authentication">
              {create}
            </EmptyState>
          )
        }
      />
    </>
  );
}
