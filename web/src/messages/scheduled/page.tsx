import { Ban, CalendarClock, Send } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ChoiceFilter, FilterBar } from '../../ui/filter-bar.tsx';
import { ButtonLink } from '../../ui/link.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { useUrlState } from '../../ui/url-state.ts';
import { useLast } from '../../ui/use-last.ts';
import { CancelDialog } from '../cancel-dialog.tsx';
import { CHANNELS } from '../message.ts';
import { useScheduledColumns } from './columns.tsx';
import { MoveDialog } from './move-dialog.tsx';
import { FIELDS, listScheduled, type Scheduled } from './scheduled.ts';

type Open = { readonly what: 'move' | 'cancel'; readonly message: Scheduled } | null;

/** Poll interval of the list: messages disappear from it when they are due. */
const POLL_MS = 15_000;

/** The page of the messages that wait for the time at which they are to be sent. */
export function Page() {
  const { t } = useTranslation('messages');
  const [open, setOpen] = useState<Open>(null);
  const cancelled = useLast(open?.what === 'cancel' ? open.message : null);
  const close = (): void => setOpen(null);
  return (
    <Frame title={t('scheduled.title')} description={t('scheduled.description')}>
      <ScheduledTable onOpen={setOpen} />
      <MoveDialog message={open?.what === 'move' ? open.message : null} onClose={close} />
      {cancelled && <CancelDialog message={cancelled} opened={open?.what === 'cancel'} onClose={close} />}
    </Frame>
  );
}

function ScheduledTable({ onOpen }: { readonly onOpen: (open: Open) => void }) {
  const { t } = useTranslation('messages');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useScheduledColumns();
  const query = useListQuery(['scheduled', search], (signal) => listScheduled(search, signal), {
    refetchInterval: POLL_MS,
  });
  return (
    <>
      <FilterBar isFiltered={search.channel !== ''} onClear={() => setSearch({ channel: '' })}>
        <ChoiceFilter
          label={t('filter.channel')}
          options={CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
          value={search.channel}
          onChange={(channel) => setSearch({ channel })}
        />
      </FilterBar>
      <DataTable<Scheduled>
        id="scheduled"
        label={t('scheduled.title')}
        columns={columns}
        query={query}
        rowId={({ messageId }) => messageId}
        search={search}
        onSearch={setSearch}
        actions={(message) => <Actions message={message} onOpen={(what) => onOpen({ what, message })} />}
        empty={<Nothing filtered={search.channel !== ''} />}
      />
    </>
  );
}

type ActionsProps = { readonly message: Scheduled; readonly onOpen: (what: 'move' | 'cancel') => void };

function Actions({ message: { channel, destination }, onOpen }: ActionsProps) {
  const { t } = useTranslation('messages');
  const need = { scope: channel, write: true };
  return (
    <>
      <GuardedIcon need={need} label={t('scheduled.moveLabel', { destination })} onClick={() => onOpen('move')}>
        <CalendarClock size={16} />
      </GuardedIcon>
      <GuardedIcon need={need} label={t('scheduled.cancelLabel', { destination })} onClick={() => onOpen('cancel')}>
        <Ban size={16} />
      </GuardedIcon>
    </>
  );
}

function Nothing({ filtered }: { readonly filtered: boolean }) {
  const { t } = useTranslation('messages');
  if (filtered) return <EmptyState icon={CalendarClock} title={t('scheduled.noneFound')} />;
  return (
    <EmptyState icon={CalendarClock} title={t('scheduled.none')} text={t('scheduled.noneText')}>
      <ButtonLink to="/messages" variant="default" leftSection={<Send size={16} aria-hidden="true" />}>
        {t('one.back')}
      </ButtonLink>
    </EmptyState>
  );
}
