import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { KeyRound, RefreshCw, Search, Trash2 } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { peopleQuery } from '../api/data.ts';
import { api, ok } from '../api/send.ts';
import { AddButton, GuardedIcon, SecretOnce } from '../ui/actions.tsx';
import { DataTable } from '../ui/data-table.tsx';
import { ConfirmDialog, Dialog, DialogButtons } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar } from '../ui/filter-bar.tsx';
import { EmptyState, PageFrame, useLast } from '../ui/parts.tsx';
import { choice, listFields, useUrlState } from '../ui/url-state.ts';
import { useListQuery } from '../ui/use-list-query.ts';
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
    <PageFrame title={t('title')} description={t('description')} actions={actions}>
      <KeyTable create={create} onOpen={setOpen} />
      <FindDialog opened={open?.what === 'find'} onClose={close} />
      <CreateDialog opened={open?.what === 'create'} onClose={close} />
      <RotateDialog apiKey={open?.what === 'rotate' ? open.apiKey : null} onClose={close} />
      <RevokeDialog apiKey={open?.what === 'revoke' ? open.apiKey : null} onClose={close} />
    </PageFrame>
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

/** Times for which the old value may stay valid, in seconds. */
const GRACES = [0, 3600, 86_400, 604_800] as const;

type RotateDialogProps = { readonly apiKey: ApiKey | null; readonly onClose: () => void };

/** Dialog that gives a key a new value, which is shown once; null closes it. */
function RotateDialog({ apiKey, onClose }: RotateDialogProps) {
  const { t } = useTranslation('api-keys');
  const shown = useLast(apiKey);
  const [isRotated, setRotated] = useState(false);
  const close = (): void => {
    setRotated(false);
    onClose();
  };
  const title = t('rotate.title', { name: shown ? nameOf(shown) : '' });
  return (
    <Dialog opened={apiKey !== null} onClose={close} title={title} locked={isRotated}>
      {apiKey && <Rotate apiKey={apiKey} onClose={close} onRotated={() => setRotated(true)} />}
    </Dialog>
  );
}

type RotateProps = { readonly apiKey: ApiKey; readonly onClose: () => void; readonly onRotated: () => void };

function Rotate({ apiKey: { id }, onClose, onRotated }: RotateProps) {
  const { t } = useTranslation('api-keys');
  const [grace, setGrace] = useState<string>(String(GRACES[2]));
  const rotate = useAction({
    run: (graceSeconds: number) =>
      ok(api.POST(`${KEYS}/{id}/rotate`, { params: { path: { id } }, body: { graceSeconds } })),
    refresh: [['api-keys']],
    onDone: onRotated,
  });
  if (rotate.result !== undefined) {
    return (
      <Stack>
        <SecretOnce label={t('key')} secret={rotate.result.apiKey} />
        <Group justify="flex-end">
          <Button onClick={onClose}>{t('create.done')}</Button>
        </Group>
      </Stack>
    );
  }
  return (
    <Stack>
      <Text size="sm">{t('rotate.text')}</Text>
      <NativeSelect
        label={t('rotate.grace')}
        data={GRACES.map((seconds) => ({ value: String(seconds), label: t(`rotate.graces.${seconds}`) }))}
        value={grace}
        onChange={(event) => setGrace(event.currentTarget.value)}
      />
      <DialogButtons
        onClose={onClose}
        action={t('rotate.submit')}
        busy={rotate.busy}
        onConfirm={() => rotate.run(Number(grace))}
      />
    </Stack>
  );
}

type RevokeDialogProps = { readonly apiKey: ApiKey | null; readonly onClose: () => void };

/** Confirms that a key is revoked; null closes the dialog. */
function RevokeDialog({ apiKey, onClose }: RevokeDialogProps) {
  const { t } = useTranslation('api-keys');
  const shown = useLast(apiKey);
  const name = shown === null ? '' : nameOf(shown);
  const revoke = useAction({
    run: (id: number) => ok(api.DELETE(`${KEYS}/{id}`, { params: { path: { id } } })),
    refresh: [['api-keys']],
    done: t('revoke.done', { name }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={apiKey !== null}
      onClose={onClose}
      title={t('revoke.title', { name })}
      action={t('revoke.submit')}
      onConfirm={() => apiKey && revoke.run(apiKey.id)}
      busy={revoke.busy}
    >
      {t('revoke.text')}
    </ConfirmDialog>
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

type KeyActionsProps = { readonly apiKey: ApiKey; readonly onOpen: (what: 'rotate' | 'revoke') => void };

/** The actions for one key. The page owns the dialogs, because rows may disappear while one is open. */
function KeyActions({ apiKey, onOpen }: KeyActionsProps) {
  const { t } = useTranslation('api-keys');
  const name = nameOf(apiKey);
  const expired = apiKey.status === 'expired' && t('rotate.expired');
  return (
    <>
      <GuardedIcon need={NEED} reason={expired} label={t('rotate.label', { name })} onClick={() => onOpen('rotate')}>
        <RefreshCw size={16} />
      </GuardedIcon>
      <GuardedIcon need={NEED} label={t('revoke.label', { name })} onClick={() => onOpen('revoke')}>
        <Trash2 size={16} />
      </GuardedIcon>
    </>
  );
}
