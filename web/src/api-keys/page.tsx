import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DataTable } from '../ui/data-table.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { MayButton } from '../ui/may-button.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { type ApiKey, listApiKeys, NEED } from './api-key.ts';
import { useKeyColumns } from './columns.tsx';
import { CreateDialog } from './create-dialog.tsx';
import { KeyActions } from './key-actions.tsx';

const FIELDS = listFields();

/** The keys of the account: what programs sign in with. */
export function Page() {
  const { t } = useTranslation('api-keys');
  const [isCreating, setIsCreating] = useState(false);
  const create = (
    <MayButton need={NEED} leftSection={<Plus size={16} />} onClick={() => setIsCreating(true)}>
      {t('create.open')}
    </MayButton>
  );
  return (
    <Frame title={t('title')} description={t('description')} actions={create}>
      <KeyTable create={create} />
      <CreateDialog opened={isCreating} onClose={() => setIsCreating(false)} />
    </Frame>
  );
}

function KeyTable({ create }: { readonly create: React.ReactNode }) {
  const { t } = useTranslation('api-keys');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useKeyColumns();
  const query = useQuery({
    queryKey: ['api-keys', search],
    queryFn: ({ signal }) => listApiKeys(search, signal),
    placeholderData: keepPreviousData,
  });
  return (
    <DataTable<ApiKey>
      id="api-keys"
      label={t('title')}
      columns={columns}
      query={query}
      rowId={({ id }) => String(id)}
      search={search}
      onSearch={setSearch}
      actions={(key) => <KeyActions apiKey={key} />}
      empty={
        <EmptyState icon={KeyRound} title={t('empty.title')} text={t('empty.text')}>
          {create}
        </EmptyState>
      }
    />
  );
}
