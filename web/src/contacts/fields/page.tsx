import { useQuery } from '@tanstack/react-query';
import { Settings2 } from 'lucide-react';
import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { AddButton } from '../../ui/actions/add-button.tsx';
import { type Column, DataTable, type ListPage } from '../../ui/table/data-table.tsx';
import { DateTime } from '../../ui/values/date-time.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { MessageText } from '../../ui/message/message-text.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { listFields, useUrlState } from '../../ui/url-state.ts';
import { type CustomField, fieldsQuery, NEED } from '../contact.ts';
import { DeleteFieldDialog, FieldActions, FieldDialog, type OpenField } from './dialogs.tsx';

const FIELDS = listFields();
const MAX_FIELDS = 100;

/** The page of the account's custom fields. */
export function Page() {
  const { t } = useTranslation('contacts');
  const [open, setOpen] = useState<OpenField>(null);
  const fields = useQuery(fieldsQuery);
  const isFull = (fields.data?.length ?? 0) >= MAX_FIELDS;
  const close = (): void => setOpen(null);
  const create = (
    <AddButton
      need={NEED}
      reason={isFull && t('fields.full', { count: MAX_FIELDS })}
      onClick={() => setOpen({ what: 'create' })}
    >
      {t('fields.new')}
    </AddButton>
  );
  return (
    <Frame
      title={t('fields.title')}
      description={t('fields.text')}
      trail={[{ label: t('title'), to: '/contacts' }]}
      actions={create}
    >
      <FieldTable create={create} onOpen={setOpen} />
      <FieldDialog open={open} onClose={close} />
      <DeleteFieldDialog field={open?.what === 'delete' ? open.field : null} onClose={close} />
    </Frame>
  );
}

type FieldTableProps = {
  readonly create: ReactNode;
  readonly onOpen: (open: OpenField) => void;
};

function FieldTable({ create, onOpen }: FieldTableProps) {
  const { t } = useTranslation('contacts');
  const [search, setSearch] = useUrlState(FIELDS);
  const { page, limit } = search;
  const columns = useColumns();
  // The server returns all fields in one response; they are paged here.
  const pageOf = useCallback(
    (fields: readonly CustomField[]): ListPage<CustomField> => ({
      data: fields.slice(page * limit, (page + 1) * limit),
      page,
      limit,
      total: fields.length,
    }),
    [page, limit],
  );
  const query = useQuery({ ...fieldsQuery, select: pageOf });
  return (
    <DataTable<CustomField>
      id="contact-fields"
      label={t('fields.title')}
      columns={columns}
      query={query}
      rowId={({ id }) => String(id)}
      search={search}
      onSearch={setSearch}
      actions={(field) => <FieldActions field={field} onOpen={onOpen} />}
      empty={
        <EmptyState icon={Settings2} title={t('fields.empty')} text={t('fields.emptyText')}>
          {create}
        </EmptyState>
      }
    />
  );
}

function useColumns(): readonly Column<CustomField>[] {
  const { t } = useTranslation('contacts');
  return useMemo(
    () => [
      { id: 'name', header: t('fields.name'), phone: 'title', cell: ({ name }) => name },
      { id: 'type', header: t('fields.type'), cell: ({ type }) => t(`fields.types.${type}`) },
      {
        id: 'description',
        header: t('fields.description'),
        cell: ({ description }) => <MessageText text={description || '–'} lines={2} />,
      },
      {
        id: 'placeholder',
        header: t('fields.placeholder'),
        cell: ({ name }) => <code>{`{{${name}}}`}</code>,
      },
      {
        id: 'createdAt',
        header: t('column.createdAt'),
        phone: 'none',
        cell: ({ createdAt }) => <DateTime value={createdAt} />,
      },
    ],
    [t],
  );
}
