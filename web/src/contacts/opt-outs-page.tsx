import { Button, Group, NativeSelect, Text, Textarea } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Ban, Download, Upload } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { useAction } from '../api/action.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar } from '../ui/filter-bar.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { EmptyState, PageFrame } from '../ui/parts.tsx';
import { choice, useUrlState } from '../ui/url-state.ts';
import { ChannelBadge, DateTime, PURPOSES } from '../ui/values.tsx';
import { CHANNELS, NEED } from './contact.ts';

const OPT_OUTS = '/api/partner-gateway/v1/opt-outs';
const LIMIT = 100;
const FIELDS = { channel: choice(CHANNELS) };
type Channel = (typeof CHANNELS)[number];

const listOptOuts = (channel: Channel | '', cursor: string | undefined, signal: AbortSignal) =>
  ok(
    api.GET(OPT_OUTS, {
      params: { query: { limit: LIMIT, ...(channel && { channel }), ...(cursor && { cursor }) } },
      signal,
    }),
  );
type OptOut = Awaited<ReturnType<typeof listOptOuts>>['data'][number];

/** The page of all numbers that do not want messages, with or without a contact. */
export function Page() {
  const { t } = useTranslation('contacts');
  const [{ channel }, setFilters] = useUrlState(FIELDS);
  const { data, error, isPending, isFetching, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } =
    useInfiniteQuery({
      queryKey: ['opt-outs', channel],
      queryFn: ({ pageParam, signal }) => listOptOuts(channel, pageParam, signal),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    });
  const rows = data?.pages.flatMap((page) => page.data);
  const list = rows && { data: rows, page: 0, limit: rows.length, total: rows.length };
  const columns = useColumns();
  return (
    <PageFrame title={t('optOuts.title')} description={t('optOuts.text')} actions={<Actions />}>
      <FilterBar isFiltered={channel !== ''} onClear={() => setFilters({ channel: '' })}>
        <ChoiceFilter
          label={t('optOuts.channel')}
          options={CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
          value={channel}
          onChange={(value) => setFilters({ channel: value })}
        />
      </FilterBar>
      <DataTable<OptOut>
        id="opt-outs"
        label={t('optOuts.title')}
        columns={columns}
        query={{ data: list, error, isPending, isFetching, refetch }}
        rowId={({ to, channel: on, purpose, sender }) => [to, on, purpose, sender].join('/')}
        search={{ page: 0, limit: 8 }}
        onSearch={() => undefined}
        empty={<EmptyState icon={Ban} title={t('optOuts.none')} text={t('optOuts.noneText')} />}
        footer={
          <Group justify="space-between" gap="sm">
            <Text size="sm" c="dimmed" role="status">
              {t('optOuts.shown', { count: rows?.length ?? 0 })}
            </Text>
            {hasNextPage && (
              <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                {t('optOuts.more')}
              </Button>
            )}
          </Group>
        }
      />
    </PageFrame>
  );
}

function Actions() {
  const { t } = useTranslation('contacts');
  const request = useAction({
    run: () => ok(api.POST('/api/partner-gateway/v1/exports/opt-outs', { body: { format: 'csv' } })),
    done: t('optOuts.exported'),
    refresh: [['exports']],
  });
  return (
    <>
      <GuardedButton
        need={{ scope: 'exports', write: true }}
        variant="default"
        leftSection={<Download size={16} />}
        loading={request.busy}
        onClick={() => request.run()}
      >
        {t('optOuts.export')}
      </GuardedButton>
      <GuardedButton need={NEED} leftSection={<Upload size={16} />} onClick={() => openDialog(<ImportDialog />)}>
        {t('optOuts.import')}
      </GuardedButton>
    </>
  );
}

const numbersIn = (text: string): string[] =>
  text
    .split(/[\n;,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

type Values = { readonly to: string; readonly channel: Channel | '*'; readonly purpose: OptOut['purpose'] };

/** The dialog that adds opt-outs of a list of numbers. It never removes any. */
function ImportDialog() {
  const { t } = useTranslation('contacts');
  const values: Values = { to: '', channel: '*', purpose: '*' };
  return (
    <FormDialog
      title={t('optOuts.import')}
      size="md"
      values={values}
      run={({ to, ...rest }) => ok(api.POST(`${OPT_OUTS}/import`, { body: { to: numbersIn(to), ...rest } }))}
      refresh={[['opt-outs'], ['contacts']]}
      done={({ changed }) => t('optOuts.imported', { count: changed })}
      action={t('optOuts.import')}
    >
      {(form) => (
        <>
          <Textarea
            label={t('optOuts.numbers')}
            description={t('optOuts.numbersHint')}
            required
            autosize
            minRows={4}
            maxRows={12}
            dir="ltr"
            data-autofocus
            {...form.getInputProps('to')}
          />
          <NativeSelect
            label={t('optOuts.channel')}
            data={[
              { value: '*', label: t('optOuts.allChannels') },
              ...CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) })),
            ]}
            {...form.getInputProps('channel')}
          />
          <NativeSelect
            label={t('optOuts.purpose')}
            data={[
              { value: '*', label: t('optOuts.allPurposes') },
              ...PURPOSES.map((value) => ({ value, label: t(`ui:purpose.${value}`) })),
            ]}
            {...form.getInputProps('purpose')}
          />
        </>
      )}
    </FormDialog>
  );
}

function useColumns(): readonly Column<OptOut>[] {
  const { t } = useTranslation('contacts');
  return useMemo(
    () => [
      { id: 'to', header: t('optOuts.number'), phone: 'title', cell: ({ to }) => <span dir="ltr">{to}</span> },
      { id: 'channel', header: t('optOuts.channel'), cell: ({ channel }) => <ChannelBadge channel={channel} /> },
      {
        id: 'purpose',
        header: t('optOuts.purpose'),
        cell: ({ purpose }) => (purpose === '*' ? t('optOuts.allPurposes') : t(`ui:purpose.${purpose}`)),
      },
      { id: 'sender', header: t('optOuts.sender'), cell: ({ sender }) => (sender === '*' ? '–' : sender) },
      { id: 'source', header: t('optOuts.source'), cell: ({ source }) => t(`consent.source.${source}`) },
      { id: 'since', header: t('optOuts.since'), cell: ({ since }) => <DateTime value={since} /> },
    ],
    [t],
  );
}
