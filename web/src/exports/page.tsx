import { Radio, SimpleGrid, Stack, Text } from '@mantine/core';
import { Download, FileDown, RefreshCw } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { AddButton, DeleteIcon, GuardedButton } from '../ui/actions.tsx';
import { numberColumn } from '../ui/columns.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { openDialog, questionTexts } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, PageFrame, useIsPhone } from '../ui/parts.tsx';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { Bytes, Countdown, DateTime, JobProgress, StatusBadge } from '../ui/values.tsx';
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

const FIELDS_OF = { HISTORY: HistoryFields, CONTACTS: ContactFields, DELIVERY_REPORTS: ReportFields } as const;

/** Dialog that requests an export. */
function CreateDialog() {
  const { t } = useTranslation('exports');
  return (
    <FormDialog<Draft, unknown>
      title={t('create.title')}
      values={newDraft()}
      validate={faultsOf(t('create.dayMissing'))}
      run={requestExport}
      refresh={[['exports']]}
      done={t('create.done')}
      action={t('create.submit')}
    >
      {(form) => {
        const Fields = FIELDS_OF[form.values.type];
        return (
          <>
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
          </>
        );
      }}
    </FormDialog>
  );
}

/** Returns the missing dates, which are required when messages are chosen by date. */
function faultsOf(missing: string) {
  const day = (value: string, { type, campaignId }: Draft): string | null =>
    type !== 'CONTACTS' && campaignId === '' && value === '' ? missing : null;
  return { startDateTime: day, endDateTime: day };
}

type ExportActionsProps = { readonly row: Export };

/** The actions for one export: download, create again once its file has expired, delete. */
function ExportActions({ row }: ExportActionsProps) {
  const { t } = useTranslation('exports');
  const name = t(`type.${row.type}`);
  return (
    <>
      {row.isAvailableForDownload && <DownloadButton row={row} />}
      {(row.status === 'EXPIRED' || row.status === 'FAILED') && <AgainButton row={row} />}
      <DeleteIcon
        need={NEED}
        label={t('delete.label', { name })}
        question={{
          ...questionTexts(t, 'delete', { name }),
          ...(row.status === 'PENDING' && { text: t('delete.unfinished') }),
          run: () => ok(api.DELETE(`${EXPORTS}/{exportId}`, { params: { path: { exportId: row.exportId } } })),
          refresh: [['exports']],
        }}
      />
    </>
  );
}

/** The link is requested when it is used, because it expires and the export may have been created again meanwhile. */
function DownloadButton({ row: { exportId } }: ExportActionsProps) {
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

function AgainButton({ row: { exportId } }: ExportActionsProps) {
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
      numberColumn('rows', t('column.rows')),
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
      <Text size="sm" fw={500}>
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
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useExportColumns();
  const query = useListQuery(['exports', 'list', search], (signal) => listExports(search, signal), {
    refetchInterval: ({ state }) =>
      state.data?.data.some(({ status }) => status === 'PENDING') ? RUNNING_POLL_MS : IDLE_POLL_MS,
  });
  const create = (
    <AddButton need={NEED} onClick={() => openDialog(<CreateDialog />)}>
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
        actions={(row) => <ExportActions row={row} />}
        empty={
          <EmptyState icon={FileDown} title={t('empty.title')} text={t('empty.text')} help="operations#exports">
            {create}
          </EmptyState>
        }
      />
    </PageFrame>
  );
}
