import { Button, NativeSelect, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { KeyRound, RefreshCw, Search } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { peopleQuery } from '../api/data.ts';
import { api, ok } from '../api/send.ts';
import { AddButton, DeleteIcon, GuardedIcon, SecretOnce } from '../ui/actions.tsx';
import { DataTable, useListQuery } from '../ui/data-table.tsx';
import { openDialog, questionTexts } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar } from '../ui/filter-bar.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { EmptyState, PageFrame } from '../ui/parts.tsx';
import { choice, listFields, useUrlState } from '../ui/url-state.ts';
import {
  type ApiKey,
  CreateDialog,
  FindDialog,
  KEYS,
  listApiKeys,
  NEED,
  nameOf,
  STATES,
  useKeyColumns,
} from './create-dialog.tsx';

const PERSON = { fallback: '', parse: (given: string) => (/^\d{1,12}$/.test(given) ? given : undefined) };
const FIELDS = { ...listFields(), person: PERSON, status: choice(STATES) };

/** The page of the account's API keys. */
export function Page() {
  const { t } = useTranslation('api-keys');
  const create = (
    <AddButton need={NEED} onClick={() => openDialog(<CreateDialog />)}>
      {t('create.open')}
    </AddButton>
  );
  const actions = (
    <>
      <Button variant="default" leftSection={<Search size={16} />} onClick={() => openDialog(<FindDialog />)}>
        {t('find.open')}
      </Button>
      {create}
    </>
  );
  return (
    <PageFrame title={t('title')} description={t('description')} actions={actions}>
      <KeyTable create={create} />
    </PageFrame>
  );
}

function KeyTable({ create }: { readonly create: ReactNode }) {
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
        actions={(apiKey) => <KeyActions apiKey={apiKey} />}
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

/** Times for which the old value may stay valid, in seconds. */
const GRACES = [0, 3600, 86_400, 604_800] as const;

/** Dialog that gives a key a new value, which is shown once. */
function RotateDialog({ apiKey }: { readonly apiKey: ApiKey }) {
  const { t } = useTranslation('api-keys');
  const { id } = apiKey;
  return (
    <FormDialog
      title={t('rotate.title', { name: nameOf(apiKey) })}
      values={{ grace: String(GRACES[2]) }}
      run={({ grace }) =>
        ok(api.POST(`${KEYS}/{id}/rotate`, { params: { path: { id } }, body: { graceSeconds: Number(grace) } }))
      }
      refresh={[['api-keys']]}
      action={t('rotate.submit')}
      result={({ apiKey: secret }) => <SecretOnce label={t('key')} secret={secret} />}
      finish={t('create.done')}
    >
      {(form) => (
        <>
          <Text size="sm">{t('rotate.text')}</Text>
          <NativeSelect
            label={t('rotate.grace')}
            data={GRACES.map((seconds) => ({ value: String(seconds), label: t(`rotate.graces.${seconds}`) }))}
            {...form.getInputProps('grace')}
          />
        </>
      )}
    </FormDialog>
  );
}

type Filters = { readonly person: string; readonly status: (typeof STATES)[number] | '' };
type KeyFiltersProps = { readonly filters: Filters; readonly onChange: (patch: Partial<Filters>) => void };

function KeyFilters({ filters: { person, status }, onChange }: KeyFiltersProps) {
  const { t } = useTranslation('api-keys');
  const { data: people = [] } = useQuery(peopleQuery);
  return (
    <FilterBar isFiltered={person !== '' || status !== ''} onClear={() => onChange({ person: '', status: '' })}>
      <ChoiceFilter
        label={t('filter.anyone')}
        options={people.map(({ id, username }) => ({ value: String(id), label: username }))}
        value={person}
        onChange={(next) => onChange({ person: next })}
      />
      <ChoiceFilter
        label={t('filter.anyStatus')}
        options={STATES.map((value) => ({ value, label: t(`status.${value}`) }))}
        value={status}
        onChange={(next) => onChange({ status: next })}
      />
    </FilterBar>
  );
}

/** The actions for one key. */
function KeyActions({ apiKey }: { readonly apiKey: ApiKey }) {
  const { t } = useTranslation('api-keys');
  const { id, status } = apiKey;
  const name = nameOf(apiKey);
  return (
    <>
      <GuardedIcon
        need={NEED}
        reason={status === 'expired' && t('rotate.expired')}
        label={t('rotate.label', { name })}
        onClick={() => openDialog(<RotateDialog apiKey={apiKey} />)}
      >
        <RefreshCw size={16} />
      </GuardedIcon>
      <DeleteIcon
        need={NEED}
        label={t('revoke.label', { name })}
        question={{
          ...questionTexts(t, 'revoke', { name }),
          run: () => ok(api.DELETE(`${KEYS}/{id}`, { params: { path: { id } } })),
          refresh: [['api-keys']],
        }}
      />
    </>
  );
}
