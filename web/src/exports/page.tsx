import { Radio, SimpleGrid, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { Download, FileDown, RefreshCw, Trash2 } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { AddButton, GuardedButton, GuardedIcon } from '../ui/actions.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ConfirmDialog, Dialog, DialogForm } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, PageFrame, useIsPhone, useLast } from '../ui/parts.tsx';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { useListQuery } from '../ui/use-list-query.ts';
import { Bytes, Countdown, DateTime, JobProgress, Num, StatusBadge } from '../ui/values.tsx';
import {
  ContactFields,
  type Draft,
  EXPORTS,
  type Export,
  FORMATS,
  findFile,
  formatKey,
  HistoryFields,
  listExports,
  NEED,
  newDraft,
  ReportFields,
  requestExport,
  TYPES,
} from './draft-fields.tsx';

type CreateDialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog that requests an export. */
function CreateDialog({ opened, onClose }: CreateDialogProps) {
  const { t } = useTranslation('exports');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('create.title')}>
      {opened && <Create onClose={onClose} />}
    </Dialog>
  );
}

const FIELDS_OF = { HISTORY: HistoryFields, CONTACTS: ContactFields, DELIVERY_REPORTS: ReportFields } as const;

function Create({ onClose }: Pick<CreateDialogProps, 'onClose'>) {
  const { t } = useTranslation('exports');
  const form = useForm<Draft>({ initialValues: newDraft(), validate: faultsOf(t('create.dayMissing')) });
  const create = useAction({
    run: requestExport,
    refresh: [['exports']],
    form,
    done: t('create.done'),
    onDone: onClose,
  });
  const Fields = FIELDS_OF[form.values.type];
  return (
    <DialogForm
      onSubmit={form.onSubmit((draft) => create.run(draft))}
      action={t('create.submit')}
      busy={create.busy}
      onClose={onClose}
    >
      <Radio.Group label={t('create.what')} {...form.getInputProps('type')}>
        <Stack gap="xs" mt="xs">
          {TYPES.map((type) => (
            <Radio key={type} value={type} label={t(`type.${type}`)} description={t(`typeText.${type}`)} />
          ))}
        </Stack>
      </Radio.Group>
      <Fields form={form} />
      <Radio.Group label={t('column.format')} {...form.getInputProps('format')}>
        <SimpleGrid cols={{ base: 1, xs: 3 }} mt="xs">
          {FORMATS.map((format) => (
            <Radio
              key={format}
              value={format}
              label={t(`format.${formatKey(format)}`)}
              description={t(`formatText.${formatKey(format)}`)}
            />
          ))}
        </SimpleGrid>
      </Radio.Group>
    </DialogForm>
  );
}

/** Returns the missing dates, which are required when messages are chosen by date. */
function faultsOf(missing: string) {
  const day = (value: string, { type, campaignId }: Draft): string | null =>
    type !== 'CONTACTS' && campaignId === '' && value === '' ? missing : null;
  return { startDateTime: day, endDateTime: day };
}

type ExportActionsProps = { readonly row: Export; readonly onDelete: (row: Export) => void };

/** The actions for one export: download, create again once its file has expired, delete. */
function ExportActions({ row, onDelete }: ExportActionsProps) {
  const { t } = useTranslation('exports');
  const name = t(`type.${row.type}`);
  return (
    <>
      {row.isAvailableForDownload && <DownloadButton row={row} />}
      {(row.status === 'EXPIRED' || row.status === 'FAILED') && <AgainButton row={row} />}
      <GuardedIcon need={NEED} label={t('delete.label', { name })} onClick={() => onDelete(row)}>
        <Trash2 size={16} />
      </GuardedIcon>
    </>
  );
}

/** The link is requested when it is used, because it expires and the export may have been created again meanwhile. */
function DownloadButton({ row: { exportId } }: Pick<ExportActionsProps, 'row'>) {
  const { t } = useTranslation('exports');
  const fetchFile = useAction({
    run: () => findFile(exportId),
    refresh: [],
    onDone: (address) => address !== null && window.location.assign(address),
  });
  return (
    <GuardedButton
      need={{ scope: 'exports', write: false }}
      size="xs"
      variant="default"
      leftSection={<Download size={14} />}
      loading={fetchFile.busy}
      onClick={() => fetchFile.run()}
    >
      {t('download')}
    </GuardedButton>
  );
}

function AgainButton({ row: { exportId } }: Pick<ExportActionsProps, 'row'>) {
  const { t } = useTranslation('exports');
  const repeat = useAction({
    run: () => ok(api.POST(`${EXPORTS}/{exportId}`, { params: { path: { exportId } } })),
    refresh: [['exports']],
    done: t('again.done'),
  });
  return (
    <GuardedButton
      need={NEED}
      size="xs"
      variant="default"
      leftSection={<RefreshCw size={14} />}
      loading={repeat.busy}
      onClick={() => repeat.run()}
    >
      {t('again.open')}
    </GuardedButton>
  );
}

function useExportColumns(): readonly Column<Export>[] {
  const { t } = useTranslation('exports');
  return useMemo(
    () => [
      { id: 'type', header: t('column.type'), phone: 'title', cell: (row) => <What row={row} /> },
      { id: 'status', header: t('column.status'), cell: (row) => <State row={row} /> },
      { id: 'rows', header: t('column.rows'), align: 'right', cell: ({ rows }) => <Num value={rows} /> },
      {
        id: 'sizeBytes',
        header: t('column.size'),
        align: 'right',
        cell: ({ sizeBytes }) => <Bytes count={sizeBytes} />,
      },
      { id: 'format', header: t('column.format'), cell: ({ format }) => t(`format.${formatKey(format)}`) },
      { id: 'createdAt', header: t('column.createdAt'), cell: ({ createdAt }) => <DateTime value={createdAt} /> },
    ],
    [t],
  );
}

function What({ row: { type, filters } }: { readonly row: Export }) {
  const { t } = useTranslation('exports');
  return (
    <Stack gap={2}>
      <Text size="sm" fw={600}>
        {t(`type.${type}`)}
      </Text>
      <Text size="xs" c="dimmed" fw={400} component="span">
        <FilterSummary filters={filters} />
      </Text>
    </Stack>
  );
}

const TONES = { PENDING: 'progress', COMPLETED: 'good', EXPIRED: 'neutral', FAILED: 'bad' } as const;

/** The progress of an export, then the remaining time of its file or why there is none. */
function State({ row: { type, status, progress, expiresAt, failureReason } }: { readonly row: Export }) {
  const { t } = useTranslation('exports');
  const isPhone = useIsPhone();
  if (status === 'PENDING') return <JobProgress label={t(`type.${type}`)} done={progress} total={1} compact />;
  return (
    <Stack gap={2} align={isPhone ? 'flex-end' : 'flex-start'}>
      <StatusBadge tone={TONES[status]}>{t(`status.${status}`)}</StatusBadge>
      {status === 'COMPLETED' && expiresAt !== null && (
        <Text size="xs" c="dimmed">
          {t('expires')} <Countdown to={expiresAt} ended={t('status.EXPIRED')} />
        </Text>
      )}
      {status === 'FAILED' && failureReason !== null && (
        <Text size="xs" c="dimmed" className="foreign-text">
          {failureReason}
        </Text>
      )}
    </Stack>
  );
}

type Filters = Export['filters'];

/** A summary of an export's filters: "SMS · Delivered · 14 Nov 2026 – 21 Nov 2026". */
function FilterSummary({ filters }: { readonly filters: Filters }) {
  const { t } = useTranslation('exports');
  const parts = [...useSpan(filters), ...useChoices(filters)];
  return <span className="foreign-text">{parts.length > 0 ? parts.join(' · ') : t('filter.all')}</span>;
}

const textOf = (filters: Filters, name: string): string | null => {
  const value: unknown = Reflect.get(filters, name);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
};

const countOf = (filters: Filters, name: string): number => {
  const value: unknown = Reflect.get(filters, name);
  return Array.isArray(value) ? value.length : 0;
};

function useSpan(filters: Filters): string[] {
  const format = useFormat();
  const [from, to] = [textOf(filters, 'startDateTime'), textOf(filters, 'endDateTime')];
  if (from === null || to === null) return [];
  return [`${format.brief(new Date(from))} – ${format.brief(new Date(to))}`];
}

function useChoices(filters: Filters): string[] {
  const { t } = useTranslation('exports');
  const [channel, status] = [textOf(filters, 'channel'), textOf(filters, 'status')];
  const [sender, recipient] = [textOf(filters, 'sender'), textOf(filters, 'recipient')];
  const campaign = textOf(filters, 'campaignId');
  const lists = countOf(filters, 'listIds');
  const contacts = Number(textOf(filters, 'contactCount') ?? countOf(filters, 'contactIds'));
  return [
    ...(channel === null ? [] : [t(`ui:channel.${channel}`)]),
    ...(status === null ? [] : [t(`ui:messageStatus.${status}`)]),
    ...(sender === null ? [] : [t('filter.sender', { sender })]),
    ...(recipient === null ? [] : [t('filter.recipient', { recipient })]),
    ...(campaign === null ? [] : [t('filter.campaign', { id: campaign })]),
    ...(lists === 0 ? [] : [t('filter.lists', { count: lists })]),
    ...(contacts === 0 ? [] : [t('filter.contacts', { count: contacts })]),
  ];
}

const FIELDS = listFields();
const RUNNING_POLL_MS = 1_000;
const IDLE_POLL_MS = 30_000;

/** The page of the account's exports. */
export function Page() {
  const { t } = useTranslation('exports');
  const [isCreating, setIsCreating] = useState(false);
  const [deleting, setDeleting] = useState<Export | null>(null);
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useExportColumns();
  const query = useListQuery(['exports', 'list', search], (signal) => listExports(search, signal), {
    refetchInterval: ({ state }) =>
      state.data?.data.some(({ status }) => status === 'PENDING') ? RUNNING_POLL_MS : IDLE_POLL_MS,
  });
  const create = (
    <AddButton need={NEED} onClick={() => setIsCreating(true)}>
      {t('create.open')}
    </AddButton>
  );
  return (
    <PageFrame title={t('title')} description={t('description')} actions={create}>
      <DataTable<Export>
        id="exports"
        label={t('title')}
        columns={columns}
        query={query}
        rowId={({ exportId }) => exportId}
        search={search}
        onSearch={setSearch}
        actions={(row) => <ExportActions row={row} onDelete={setDeleting} />}
        empty={
          <EmptyState icon={FileDown} title={t('empty.title')} text={t('empty.text')} help="operations#exports">
            {create}
          </EmptyState>
        }
      />
      <CreateDialog opened={isCreating} onClose={() => setIsCreating(false)} />
      <DeleteDialog row={deleting} onClose={() => setDeleting(null)} />
    </PageFrame>
  );
}

type DeleteDialogProps = { readonly row: Export | null; readonly onClose: () => void };

/** Confirms that an export and its file are deleted; null closes the dialog. */
function DeleteDialog({ row, onClose }: DeleteDialogProps) {
  const { t } = useTranslation('exports');
  const shown = useLast(row);
  const name = shown === null ? '' : t(`type.${shown.type}`);
  const remove = useAction({
    run: (exportId: string) => ok(api.DELETE(`${EXPORTS}/{exportId}`, { params: { path: { exportId } } })),
    refresh: [['exports']],
    done: t('delete.done', { name }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={row !== null}
      onClose={onClose}
      title={t('delete.title', { name })}
      action={t('delete.submit')}
      onConfirm={() => row && remove.run(row.exportId)}
      busy={remove.busy}
    >
      {t(shown?.status === 'PENDING' ? 'delete.unfinished' : 'delete.text')}
    </ConfirmDialog>
  );
}
