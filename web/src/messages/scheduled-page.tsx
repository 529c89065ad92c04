import { Ban, CalendarClock, Send } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { DateField } from '../ui/date-field.tsx';
import { toIso } from '../api/data.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { GuardedIcon } from '../ui/actions.tsx';
import { moneyColumn } from '../ui/columns.tsx';
import { momentValue } from '../ui/date-text.ts';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar } from '../ui/filter-bar.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { MessageText } from '../ui/message.tsx';
import { ButtonLink, EmptyState, PageFrame, TextLink } from '../ui/parts.tsx';
import { ownZone } from '../ui/time-zone.tsx';
import { choice, listFields, useUrlState } from '../ui/url-state.ts';
import { ChannelBadge, DateTime, MsisdnText } from '../ui/values.tsx';
import { useCancel } from './columns.tsx';
import { CHANNELS } from './message.ts';

/** Poll interval of the list: messages disappear from it when they are due. */
const POLL_MS = 15_000;

/** The page of the messages that wait for the time at which they are to be sent. */
export function Page() {
  const { t } = useTranslation('messages');
  return (
    <PageFrame title={t('scheduled.title')} description={t('scheduled.description')}>
      <ScheduledTable />
    </PageFrame>
  );
}

function ScheduledTable() {
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
        actions={(message) => <Actions message={message} />}
        empty={<Nothing filtered={search.channel !== ''} />}
      />
    </>
  );
}

function Actions({ message }: { readonly message: Scheduled }) {
  const { t } = useTranslation('messages');
  const cancel = useCancel();
  const { channel, destination } = message;
  const need = { scope: channel, write: true };
  return (
    <>
      <GuardedIcon
        need={need}
        label={t('scheduled.moveLabel', { destination })}
        onClick={() => openDialog(<MoveDialog message={message} />)}
      >
        <CalendarClock size={16} />
      </GuardedIcon>
      <GuardedIcon need={need} label={t('scheduled.cancelLabel', { destination })} onClick={() => cancel(message)}>
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

function useScheduledColumns(): readonly Column<Scheduled>[] {
  const { t } = useTranslation('messages');
  const { currency } = useSession().account;
  return useMemo(
    () => [
      {
        id: 'destination',
        header: t('column.destination'),
        phone: 'title',
        cell: ({ messageId, destination }) => (
          <TextLink to={`/messages/${messageId}`}>
            <MsisdnText number={destination} />
          </TextLink>
        ),
      },
      {
        id: 'scheduledDate',
        header: t('scheduled.at'),
        cell: ({ scheduledDate }) => (
          <span style={{ whiteSpace: 'nowrap' }}>
            <DateTime value={toIso(scheduledDate)} show="exact" />
          </span>
        ),
      },
      { id: 'channel', header: t('column.channel'), cell: ({ channel }) => <ChannelBadge channel={channel} /> },
      {
        id: 'text',
        header: t('column.text'),
        cell: ({ text }) => <MessageText text={text === '' ? t('noText') : text} lines={1} />,
      },
      { id: 'sender', header: t('column.sender'), hidden: true, cell: ({ sender }) => sender },
      {
        id: 'customerMessageId',
        header: t('column.customerMessageId'),
        hidden: true,
        cell: ({ customerMessageId }) => customerMessageId ?? '–',
      },
      moneyColumn('price', t('column.price'), currency, { phone: 'none' }),
      {
        id: 'acceptedDate',
        header: t('column.acceptedAt'),
        phone: 'none',
        cell: ({ acceptedDate }) => <DateTime value={acceptedDate} />,
      },
    ],
    [t, currency],
  );
}

/** Dialog that changes when a message is sent. */
function MoveDialog({ message: { messageId, destination, scheduledDate } }: { readonly message: Scheduled }) {
  const { t } = useTranslation('messages');
  return (
    <FormDialog
      title={t('scheduled.moveTitle', { destination })}
      values={{ scheduledDate: momentValue(new Date(toIso(scheduledDate))) }}
      validate={{ scheduledDate: (value) => (Number.isNaN(Date.parse(value)) ? t('scheduled.missing') : null) }}
      run={(values) => moveScheduled(messageId, new Date(values.scheduledDate).toISOString())}
      refresh={[['scheduled'], ['message', messageId]]}
      done={t('scheduled.moved')}
      action={t('scheduled.moveSubmit')}
      noValidate
    >
      {(form) => (
        <DateField
          withTime
          label={t('scheduled.at')}
          description={t('scheduled.moveHint', { zone: ownZone() })}
          data-autofocus
          {...form.getInputProps('scheduledDate')}
        />
      )}
    </FormDialog>
  );
}

const PATH = '/api/partner-gateway/v1/messages/scheduled';

/** The filters in the URL. */
const FIELDS = { ...listFields(), channel: choice(CHANNELS) };
type Search = ReturnType<typeof useUrlState<typeof FIELDS>>[0];

const listScheduled = ({ page, limit, channel }: Search, signal: AbortSignal) =>
  ok(api.GET(PATH, { params: { query: { page, limit, ...(channel !== '' && { channel }) } }, signal }));

type Scheduled = Awaited<ReturnType<typeof listScheduled>>['data'][number];

const moveScheduled = (id: string, scheduledDate: string) =>
  ok(api.PATCH(`${PATH}/{id}`, { params: { path: { id } }, body: { scheduledDate } }));
