import { ApiError } from '../api/send.ts';
import { type Session, sessionQuery } from '../api/session.ts';
import '../app/global.css';
import {
  Button,
  Group,
  MantineProvider,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  useMantineColorScheme,
} from '@mantine/core';
import { startTexts } from '../app/i18n.ts';
import { applyColorScheme, colorSchemeManager, contrastVariables, theme } from '../app/palette.ts';
import { ActionsMenu, AddButton, CopyButton, GuardedButton, GuardedIcon, SecretOnce } from '../ui/actions.tsx';
import { Chart } from '../ui/chart.tsx';
import { ContactSearch } from '../ui/contact-search.tsx';
import { type Column, ColumnChoice, DataTable, type ListPage } from '../ui/data-table.tsx';
import { confirm, DialogHost, openDialog, SidePanel } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar, SavedViews, SearchField } from '../ui/filter-bar.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Hint } from '../ui/hint.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { DropArea, Thumbnail, UploadList } from '../ui/media.tsx';
import { MessageText, PartsCounter, PhonePreview } from '../ui/message.tsx';
import {
  ButtonLink,
  EmptyState,
  ErrorState,
  HelpLink,
  PageFrame,
  Section,
  TableSkeleton,
  TextLink,
} from '../ui/parts.tsx';
import { type SmallColumn, SmallTable } from '../ui/small-table.tsx';
import { Steps } from '../ui/stepper.tsx';
import { useRowSelection } from '../ui/table.tsx';
import { TimeZoneField } from '../ui/time-zone.tsx';
import {
  Bytes,
  CampaignStatus,
  ChannelBadge,
  Channels,
  Countdown,
  DateTime,
  Duration,
  Facts,
  JobProgress,
  MessageStatus,
  Money,
  MsisdnText,
  Num,
  Percent,
  Stat,
  StatusBadge,
  type Tone,
} from '../ui/values.tsx';
import { VirtualTable } from '../ui/virtual-table.tsx';
import '@mantine/core/styles.layer.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { Copy, Gauge, Inbox, RefreshCw, SearchX, Trash } from 'lucide-react';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { I18nextProvider } from 'react-i18next';

type Row = { readonly id: string; readonly name: string; readonly number: string; readonly count: number };

const rowAt = (n: number): Row => ({
  id: `${n}`,
  name: `Contact ${n}`,
  number: `+39333${1_000_000 + n}`,
  count: n * 7,
});
const ROWS = Array.from({ length: 5 }, (_, n) => rowAt(n));
const SMALL_COLUMNS: readonly SmallColumn<Row>[] = [
  { id: 'number', header: 'Number', cell: ({ number }) => <MsisdnText number={number} /> },
  { id: 'count', header: 'Messages', cell: ({ count }) => <Num value={count} />, align: 'right' },
];
const COLUMNS: readonly Column<Row>[] = [
  { id: 'name', header: 'Name', cell: ({ name }) => name, sortable: true, phone: 'title' },
  { id: 'number', header: 'Number', cell: ({ number }) => <MsisdnText number={number} /> },
  { id: 'count', header: 'Messages', cell: ({ count }) => <Num value={count} />, align: 'right' },
];
const NONE = <EmptyState icon={SearchX} title="Nothing found" />;

type Answer = { readonly data: ListPage<Row> | undefined; readonly error: Error | null; readonly isPending: boolean };
const page = (data: readonly Row[]): Answer => ({
  data: { data, page: 0, limit: 25, total: data.length * 20 },
  error: null,
  isPending: false,
});
const STATES: Readonly<Record<string, Answer>> = {
  rows: page(ROWS),
  empty: page([]),
  loading: { data: undefined, error: null, isPending: true },
  error: { data: undefined, error: new Error('The list could not be read.'), isPending: false },
};

/** Tables in their states, filters, and fields that search. */
const Lists = () => (
  <>
    <Section title="Tables">
      <Stack>
        {Object.entries(STATES).map(([state, answer]) => (
          <TableOf key={state} state={state} answer={answer} />
        ))}
        <SmallTable label="A few rows" rows={ROWS} rowId={({ id }) => id} columns={SMALL_COLUMNS} />
      </Stack>
    </Section>
    <Section title="A table of any length" description="VirtualTable fetches the rows that come into view.">
      <VirtualTable
        label="Many rows"
        columns={COLUMNS}
        queryKey={['gallery']}
        fetchPage={async ({ page: at, limit }) => ({
          data: Array.from({ length: limit }, (_, n) => rowAt(at * limit + n)),
          page: at,
          limit,
          total: 100_000,
        })}
        rowId={({ id }) => id}
        empty={NONE}
        height="240px"
      />
    </Section>
    <Filters />
  </>
);

function TableOf({ state, answer }: { readonly state: string; readonly answer: Answer }) {
  const [selected, onSelect] = useState<ReadonlySet<string>>(new Set(['1']));
  const selection = useRowSelection({ shown: ROWS.map(({ id }) => id), selected, onSelect });
  return (
    <DataTable
      id={`gallery-${state}`}
      label={state}
      columns={COLUMNS}
      query={{ ...answer, isFetching: false, refetch: () => undefined }}
      rowId={({ id }) => id}
      search={{ page: 0, limit: 25, sort: 'name' }}
      onSearch={() => undefined}
      empty={NONE}
      {...(state === 'rows' && { selection })}
    />
  );
}

function Filters() {
  const [text, setText] = useState('');
  const [choice, setChoice] = useState('');
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [zone, setZone] = useState<string | null>('Europe/Rome');
  return (
    <Section title="Filters and searches">
      <Stack>
        <FilterBar isFiltered={text !== '' || choice !== ''} onClear={() => setText('')}>
          <SearchField label="Search" value={text} onChange={setText} />
          <ChoiceFilter
            label="Channel"
            options={[{ value: 'SMS', label: 'SMS' }]}
            value={choice}
            onChange={setChoice}
          />
        </FilterBar>
        <Group>
          <SavedViews isFiltered />
          <ColumnChoice columns={COLUMNS} hidden={hidden} setHidden={setHidden} />
        </Group>
        <TimeZoneField label="Time zone" value={zone} onChange={setZone} maw={360} />
        <ContactSearch chosen={[]} onChoose={() => undefined} />
      </Stack>
    </Section>
  );
}

const TONES: readonly Tone[] = ['good', 'bad', 'warning', 'progress', 'paused', 'neutral'];
const AN_HOUR_AGO = new Date(Date.now() - 3_600_000).toISOString();
const SOON = new Date(Date.now() + 90_000).toISOString();

/** Figures, times, statuses, progress and charts. */
function Values() {
  return (
    <>
      <Section title="Values" description="A missing value is a dash.">
        <Facts
          facts={[
            { label: 'Num', value: <Num value={1_234_567} /> },
            { label: 'Num, missing', value: <Num value={null} /> },
            { label: 'Percent', value: <Percent share={0.973} /> },
            { label: 'Bytes', value: <Bytes count={5_300_000} /> },
            { label: 'Money', value: <Money amount={12.5} currency="EUR" /> },
            { label: 'MsisdnText', value: <MsisdnText number="+393331234567" /> },
            { label: 'DateTime', value: <DateTime value={AN_HOUR_AGO} /> },
            { label: 'DateTime, exact', value: <DateTime value={AN_HOUR_AGO} show="exact" /> },
            { label: 'Duration', value: <Duration seconds={4000} /> },
            { label: 'Countdown', value: <Countdown to={SOON} ended="ended" /> },
          ]}
        />
      </Section>
      <Section title="Statuses">
        <Stack>
          <Group>
            {TONES.map((tone) => (
              <StatusBadge key={tone} tone={tone}>
                {tone}
              </StatusBadge>
            ))}
          </Group>
          <Group>
            {['PENDING', 'ACCEPTED', 'DELIVERED', 'REJECTED', 'EXPIRED', 'UNKNOWN'].map((status) => (
              <MessageStatus key={status} status={status} />
            ))}
            <CampaignStatus status="SENDING" />
            <ChannelBadge channel="SMS" />
            <Channels channels={['WHATSAPP', 'RCS', 'SMS']} />
          </Group>
        </Stack>
      </Section>
      <Section title="Figures and progress">
        <Stack>
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <Stat label="Delivered" value={<Num value={1234} />} note="97 % of all" icon={Gauge} />
            <Stat label="Failed" value={<Num value={21} />} />
          </SimpleGrid>
          {(['running', 'done', 'failed', 'paused'] as const).map((tone) => (
            <JobProgress key={tone} label={tone} done={tone === 'done' ? 100 : 40} total={100} tone={tone} />
          ))}
          <JobProgress label="Unknown total" done={40} total={null} />
        </Stack>
      </Section>
      <Charts />
      <Section title="JsonView">
        <JsonView label="Body" value={{ id: 1, destinations: ['+393331234567'] }} />
      </Section>
    </>
  );
}

const SERIES = [
  { name: 'delivered', label: 'Delivered', color: 'green.6' },
  { name: 'failed', label: 'Failed', color: 'red.6' },
];
const VALUE_ROWS = [4, 9, 7, 12, 10].map((delivered, hour) => ({
  label: `${hour}:00`,
  values: { delivered, failed: hour % 3 },
}));

const Charts = () => (
  <Section title="Charts">
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      {(['area', 'bars', 'stacked'] as const).map((kind) => (
        <Chart key={kind} label={kind} rowLabel="Hour" rows={VALUE_ROWS} series={SERIES} kind={kind} height={180} />
      ))}
    </SimpleGrid>
  </Section>
);

const CONFIRMATION = { title: 'Delete “Spring sale”?', action: 'Delete', run: () => Promise.resolve() };

/** Dialogs, each behind a button. */
function Dialogs() {
  const [isOpen, setOpen] = useState(false);
  const buttons = {
    FormDialog: () => openDialog(<ExampleForm />),
    SidePanel: () => setOpen(true),
    confirm: () => confirm({ ...CONFIRMATION, text: 'It cannot be undone.' }),
    'confirm, typed': () => confirm({ ...CONFIRMATION, text: 'It cannot be undone.', typed: 'Spring sale' }),
    'confirm, normal': () => confirm({ ...CONFIRMATION, text: 'It can be undone.', kind: 'normal' }),
  };
  return (
    <Section title="Dialogs">
      <Group>
        {Object.entries(buttons).map(([kind, open]) => (
          <Button key={kind} variant="default" onClick={open}>
            {kind}
          </Button>
        ))}
      </Group>
      <SidePanel opened={isOpen} onClose={() => setOpen(false)} title="Details">
        <Text>The details of one item.</Text>
      </SidePanel>
      <DialogHost />
    </Section>
  );
}

const ExampleForm = () => (
  <FormDialog title="A form" action="Save" values={{ name: '', sender: '' }} run={() => Promise.resolve()}>
    {(form) => (
      <>
        <TextInput label="Name" description="As people see it" {...form.getInputProps('name')} />
        <TextInput label="Sender" {...form.getInputProps('sender')} error="This sender is taken" />
      </>
    )}
  </FormDialog>
);

const nothing = (): void => undefined;

/** Buttons, links, menus and hints. */
const Buttons = () => (
  <Section title="Buttons and links" description="Those that are not allowed say why on hover and focus.">
    <Stack>
      <Group>
        <AddButton>Create</AddButton>
        <AddButton need={{ scope: 'contacts' }}>Not allowed</AddButton>
        <GuardedButton variant="default">Allowed</GuardedButton>
        <GuardedButton reason="It is being sent.">Not now</GuardedButton>
        <GuardedButton loading>Busy</GuardedButton>
        <GuardedIcon label="Refresh">
          <RefreshCw size={16} />
        </GuardedIcon>
        <ActionsMenu
          label="Actions"
          actions={[
            { label: 'Duplicate', icon: <Copy size={14} />, onClick: nothing },
            { label: 'Not now', onClick: nothing, reason: 'It is being sent.' },
            { label: 'Delete', icon: <Trash size={14} />, onClick: nothing, danger: true, apart: true },
          ]}
        />
        <CopyButton text="copied" label="Copy" />
      </Group>
      <Group>
        <ButtonLink to="/">ButtonLink</ButtonLink>
        <TextLink to="/">TextLink</TextLink>
        <HelpLink help="concepts#campaigns" />
        <Hint label="The hint of this text">
          <Text tabIndex={0}>Hint</Text>
        </Hint>
      </Group>
      <SecretOnce label="API key" secret="hg_0123456789abcdef" note="It is shown only once." />
    </Stack>
  </Section>
);

const TEXT = 'Your order is on its way.\nTrack it at https://example.org/t/1234';

/** Texts of messages, previews, and media. */
const Messages = () => (
  <>
    <Section title="Messages">
      <Stack>
        <MessageText text={TEXT} />
        <PartsCounter characters={58} parts={1} encoding="GSM-7" remaining={102} />
        <PartsCounter characters={90} parts={2} encoding="UCS-2" remaining={44} unsupported={['ł', '😀']} />
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <PhonePreview channel="SMS" sender="Acme" text={TEXT} />
          <PhonePreview channel="WHATSAPP" sender="Acme" text={TEXT} title="Order 1234" buttons={['Track', 'Stop']} />
          <PhonePreview channel="RCS" sender="Acme" text="" />
        </SimpleGrid>
      </Stack>
    </Section>
    <Section title="Media">
      <Stack>
        <DropArea onFiles={() => undefined} />
        <UploadList
          rows={[
            { id: 1, name: 'waiting.png', size: 1000, sent: 0, state: 'waiting' },
            { id: 2, name: 'running.png', size: 1000, sent: 400, state: 'running' },
            { id: 3, name: 'done.png', size: 1000, sent: 1000, state: 'done' },
            { id: 4, name: 'failed.png', size: 1000, sent: 1000, state: 'failed', error: new Error('Too large.') },
          ]}
        />
        <SimpleGrid cols={{ base: 3, sm: 6 }}>
          <Thumbnail media={{ name: 'icon', mimeType: 'image/png', thumbnailUrl: '/src/ui/icon.svg' }} />
          <Thumbnail media={{ name: 'video', mimeType: 'video/mp4', thumbnailUrl: null }} />
          <Thumbnail media={{ name: 'gone', mimeType: 'image/png', thumbnailUrl: '/nowhere.png' }} />
        </SimpleGrid>
      </Stack>
    </Section>
  </>
);

const REFUSED = new ApiError({ status: 422, message: 'The name is taken.', requestId: '0196f3c2' });
const AWAY = new ApiError({ status: 503, message: 'The server cannot respond right now.' });

/** Components shown instead of data: nothing yet, an error, a placeholder; and steps. */
function Notes() {
  const [step, setStep] = useState('text');
  return (
    <>
      <Section title="Instead of data">
        <Stack>
          <EmptyState icon={Inbox} title="No messages yet" text="They appear here." help="concepts#campaigns">
            <AddButton>Send one</AddButton>
          </EmptyState>
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <ErrorState error={REFUSED} />
            <ErrorState error={AWAY} onRetry={() => undefined} />
          </SimpleGrid>
          <TableSkeleton rows={3} />
        </Stack>
      </Section>
      <Section title="Steps">
        <Steps
          active={step}
          onChange={setStep}
          steps={[
            { id: 'people', label: 'People', note: '1,204 contacts', content: 'Behind.' },
            { id: 'text', label: 'Text', content: 'The active step.' },
            { id: 'lacking', label: 'Sender', isLacking: true, content: 'Something is missing.' },
            { id: 'fault', label: 'Review', hasFault: true, content: 'Something is wrong.' },
          ]}
        />
      </Section>
    </>
  );
}

/** Components of web/src/ui in their states, for developers of the console. Not part of the build. */
function Gallery() {
  return (
    <Stack p="lg" maw={1200} mx="auto">
      <PageFrame
        title="Component gallery"
        description="The components of web/src/ui in their states."
        actions={<SchemeChoice />}
        trail={[{ label: 'Console', to: '/' }]}
      >
        <Values />
        <Buttons />
        <Notes />
        <Lists />
        <Messages />
        <Dialogs />
      </PageFrame>
    </Stack>
  );
}

function SchemeChoice() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const choose = (value: string): void => setColorScheme(value === 'dark' || value === 'light' ? value : 'auto');
  return (
    <SegmentedControl aria-label="Colours" data={['light', 'dark', 'auto']} value={colorScheme} onChange={choose} />
  );
}

/** Session of a user who may send but not change contacts, so that guarded buttons show both their states. */
const SESSION: Session = {
  user: { id: 1, username: 'gallery', role: 'sender', isOperator: false },
  account: { id: 1, name: 'Gallery', plan: 'trial', channels: ['SMS', 'WHATSAPP'], currency: 'EUR', status: 'active' },
  ownAccountId: 1,
  role: 'sender',
  operations: ['SMS', 'WHATSAPP', 'campaigns', 'contacts'],
  writable: ['SMS', 'WHATSAPP', 'campaigns'],
  method: 'password',
  mustEnrol: false,
  createdAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2036-01-01T00:00:00.000Z',
};

applyColorScheme();
const queries = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Number.POSITIVE_INFINITY } } });
queries.setQueryData(sessionQuery.queryKey, SESSION);
// Links lead nowhere: every path shows the gallery.
const root = createRootRoute({ component: Gallery, notFoundComponent: Gallery });
const router = createRouter({ routeTree: root, history: createMemoryHistory() });
const element = document.getElementById('app');
if (element === null) throw new Error('gallery.html has no element "app"');
createRoot(element).render(
  <I18nextProvider i18n={await startTexts()}>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={contrastVariables}
      colorSchemeManager={colorSchemeManager}
      defaultColorScheme="auto"
    >
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </I18nextProvider>,
);
