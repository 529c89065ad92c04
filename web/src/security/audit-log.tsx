import { Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ChevronRight, ScrollText } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DateField } from '../ui/date-field.tsx';
import { peopleQuery } from '../api/data.ts';
import { useSession } from '../api/session.ts';
import { GuardedIcon } from '../ui/actions.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { SidePanel } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, Muted, TextLink, useLast } from '../ui/parts.tsx';
import { choice, listFields, text, useUrlState, whole } from '../ui/url-state.ts';
import { DateTime, Facts } from '../ui/values.tsx';
import { ACTIONS, type AuditSearch, type Entry, listEntries } from './entry.ts';
import { deviceOf } from './security-settings.ts';

type Detail = Readonly<Record<string, unknown>>;
/** One changed field with its new value. */
type Line = { readonly label: string; readonly value: string };

const MICROS = 1_000_000;
const INSTANT = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;
const isRecord = (value: unknown): value is Detail =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a function that lists the changes of an entry, one line per field. */
function useChanges(): (detail: Detail) => readonly Line[] {
  const { t } = useTranslation('security');
  const words = useAuditText();
  const write = useWriter();
  return (detail) => {
    const { from, to, ...rest } = detail;
    const isMove = 'from' in detail && 'to' in detail;
    const move = { label: t('audit.changed'), value: `${write('from', from)} → ${write('to', to)}` };
    const lines = Object.entries(isMove ? rest : detail).map(([name, value]) => ({
      label: words.field(name),
      value: write(name, value),
    }));
    return isMove ? [move, ...lines] : lines;
  };
}

function useWriter(): (name: string, value: unknown) => string {
  const { t } = useTranslation('security');
  const { currency } = useSession().account;
  const words = useAuditText();
  const format = useFormat();
  const text = (name: string, value: string): string => {
    if (INSTANT.test(value)) return format.exact(new Date(value));
    if (name === 'userAgent') return Object.values(deviceOf(value)).filter(Boolean).join(', ') || value;
    return name === 'name' || name === 'username' ? value : words.value(value);
  };
  const number = (name: string, value: number): string => {
    if (/micros$/i.test(name)) return format.money(value / MICROS, currency);
    if (name === 'sizeBytes') return format.bytes(value);
    return name === 'graceSeconds' ? format.duration(value) : name.endsWith('Id') ? `#${value}` : format.number(value);
  };
  const write = (name: string, value: unknown): string => {
    if (value === null || value === undefined || value === '') return '–';
    if (typeof value === 'boolean') return t(value ? 'audit.yes' : 'audit.no');
    if (typeof value === 'number') return number(name, value);
    if (typeof value === 'string') return text(name, value);
    if (Array.isArray(value)) return value.length === 0 ? '–' : format.list(value.map((each) => write(name, each)));
    if (!isRecord(value)) return '–';
    return Object.entries(value)
      .map(([part, of]) => `${words.field(part)}: ${write(part, of)}`)
      .join(' · ');
  };
  // Changed fields are listed by name.
  return (name, value) =>
    name === 'changed' && Array.isArray(value)
      ? format.list(value.map((each) => words.field(String(each))))
      : write(name, value);
}

type Action = (typeof ACTIONS)[number] | '';
type Filters = Pick<AuditSearch, 'person' | 'subject' | 'from' | 'to'> & { readonly action: Action };
type Props = { readonly filters: Filters; readonly onChange: (patch: Partial<Filters>) => void };

const NONE: Filters = { person: '', action: '', subject: '', from: '', to: '' };

function AuditFilters({ filters, onChange }: Props) {
  const { t } = useTranslation('security');
  const { data: people } = useQuery(peopleQuery);
  const actions = useActionOptions();
  const { person, action, subject, from, to } = filters;
  return (
    <FilterBar
      isFiltered={[person, action, subject, from, to].some((value) => value !== '')}
      onClear={() => onChange(NONE)}
    >
      <ChoiceFilter
        label={t('audit.anyone')}
        options={(people ?? []).map(({ id, username }) => ({ value: String(id), label: username }))}
        value={person}
        onChange={(next) => onChange({ person: next })}
      />
      <ChoiceFilter
        label={t('audit.anything')}
        options={actions}
        value={action}
        onChange={(next) => onChange({ action: next })}
      />
      <SearchField
        label={t('audit.subjectFilter')}
        value={subject}
        onChange={(next) => onChange({ subject: next.trim() })}
      />
      <Day label={t('audit.from')} value={from} onChange={(next) => onChange({ from: next })} />
      <Day label={t('audit.to')} value={to} onChange={(next) => onChange({ to: next })} />
    </FilterBar>
  );
}

function useActionOptions() {
  const { i18n } = useTranslation('security');
  const words = useAuditText();
  const options = ACTIONS.map((value) => ({ value, label: words.action(value) }));
  return options.sort((a, b) => a.label.localeCompare(b.label, i18n.language));
}

type DayProps = { readonly label: string; readonly value: string; readonly onChange: (day: string) => void };

const Day = (props: DayProps) => <DateField {...props} w={{ base: '100%', xs: 180 }} />;

function useEntryColumns(): readonly Column<Entry>[] {
  const { t } = useTranslation('security');
  return useMemo(
    () => [
      { id: 'action', header: t('audit.what'), phone: 'title', cell: (entry) => <What entry={entry} /> },
      { id: 'subject', header: t('audit.subjectOf'), cell: ({ subject }) => <Subject subject={subject} /> },
      { id: 'actor', header: t('audit.who'), cell: ({ actor }) => <Who actor={actor} /> },
      { id: 'at', header: t('audit.when'), cell: ({ at }) => <DateTime value={at} /> },
    ],
    [t],
  );
}

const MAX_SHOWN = 2;

/** The action, with the first changes. */
function What({ entry: { action, detail } }: { readonly entry: Entry }) {
  const words = useAuditText();
  const lines = useChanges()(detail)
    .filter(({ value }) => value !== '–')
    .slice(0, MAX_SHOWN);
  return (
    <Stack gap={2}>
      <Text size="sm" fw={500}>
        {words.action(action)}
      </Text>
      {lines.length > 0 && (
        <Text size="xs" c="dimmed" fw={400} className="foreign-text" lineClamp={1} maw="48ch">
          {lines.map(({ label, value }) => `${label}: ${value}`).join(' · ')}
        </Text>
      )}
    </Stack>
  );
}

/** Author of a change: a user, an API key with its creator, a gateway operator, or the system. */
function Who({ actor: { kind, keyId, username } }: Pick<Entry, 'actor'>) {
  const { t } = useTranslation('security');
  if (kind === 'system') return t('audit.kind.system');
  if (kind === 'user') return <bdi>{username ?? '–'}</bdi>;
  return (
    <Stack gap={2}>
      <span>{kind === 'key' ? t('audit.kind.key', { id: keyId }) : t('audit.kind.operator')}</span>
      {username !== null && (
        <Text size="xs" c="dimmed">
          <bdi>{username}</bdi>
        </Text>
      )}
    </Stack>
  );
}

const PERSON = { fallback: '', parse: (given: string) => (whole().parse(given) ? given : undefined) };
const FIELDS = {
  ...listFields(),
  person: PERSON,
  action: choice(ACTIONS),
  subject: text(),
  from: text(),
  to: text(),
};

/** The audit log of the account, newest first. */
export function AuditLog() {
  const { t } = useTranslation('security');
  const [search, setSearch] = useUrlState(FIELDS);
  const [shown, setShown] = useState<Entry | null>(null);
  const words = useAuditText();
  const columns = useEntryColumns();
  const query = useListQuery(['audit', search], (signal) => listEntries(search, signal));
  return (
    <>
      <AuditFilters filters={search} onChange={setSearch} />
      <DataTable<Entry>
        id="audit"
        label={t('tab.audit')}
        columns={columns}
        query={query}
        rowId={({ id }) => id}
        search={search}
        onSearch={setSearch}
        onRowClick={setShown}
        actions={(entry) => (
          <GuardedIcon
            need={{ write: false }}
            label={t('audit.show', { what: words.action(entry.action) })}
            onClick={() => setShown(entry)}
          >
            <ChevronRight size={16} />
          </GuardedIcon>
        )}
        empty={<EmptyState icon={ScrollText} title={t('audit.none')} text={t('audit.noneText')} />}
      />
      <EntryPanel entry={shown} onClose={() => setShown(null)} />
    </>
  );
}

/** Side panel with the details of one entry; null closes it. */
function EntryPanel({ entry, onClose }: { readonly entry: Entry | null; readonly onClose: () => void }) {
  const words = useAuditText();
  const shown = useLast(entry);
  return (
    <SidePanel opened={entry !== null} onClose={onClose} title={shown === null ? '' : words.action(shown.action)}>
      {shown && <Details entry={shown} />}
    </SidePanel>
  );
}

function Details({ entry: { subject, actor, at, detail } }: { readonly entry: Entry }) {
  const { t } = useTranslation('security');
  const changes = useChanges()(detail);
  return (
    <Stack>
      <Facts
        facts={[
          { label: t('audit.when'), value: <DateTime value={at} show="exact" /> },
          { label: t('audit.who'), value: <Who actor={actor} /> },
          { label: t('audit.subjectOf'), value: <Subject subject={subject} /> },
        ]}
      />
      <Title order={3} size="h5">
        {t('audit.details')}
      </Title>
      {changes.length === 0 ? (
        <Muted>{t('audit.noDetails')}</Muted>
      ) : (
        <Facts
          facts={changes.map(({ label, value }) => ({ label, value: <bdi className="foreign-text">{value}</bdi> }))}
        />
      )}
    </Stack>
  );
}

/** Separates the words of a name (`dry run` for `dryRun`), for server values without a text. */
const spaced = (name: string): string => name.replaceAll(/[-_.]|(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();

/** Returns functions that give the texts for server values. */
function useAuditText() {
  const { t, i18n } = useTranslation('security');
  const word = (kind: string, of: string): string => {
    const key = `audit.${kind}.${of}`;
    const found = i18n.exists(key, { ns: 'security' }) ? t(key) : '';
    return found === '' ? spaced(of) : found;
  };
  return {
    action: (action: string): string => word('action', action),
    field: (name: string): string => word('field', name),
    subject: (kind: string): string => word('subject', kind),
    /** The text for a value: a role, a plan, a scope or a channel. */
    value: (value: string): string => {
      const key = `audit.value.${value}`;
      return /^[A-Za-z_ -]+$/.test(value) && i18n.exists(key, { ns: 'security' }) ? t(key) : value;
    },
  };
}

/** The pages of the kinds of subjects that have one. */
const PATHS: Readonly<Record<string, string>> = {
  campaign: '/campaigns',
  message: '/messages',
  'contact-list': '/lists',
};

/** Subject of an entry: the kind, the ID, and a link if it has a page. */
function Subject({ subject }: { readonly subject: string }) {
  const words = useAuditText();
  const at = subject.indexOf(':');
  const [kind, id] = at < 0 ? [subject, ''] : [subject.slice(0, at), subject.slice(at + 1)];
  const name = id === '' ? words.subject(kind) : `${words.subject(kind)} ${/^\d+$/.test(id) ? `#${id}` : id}`;
  const path = PATHS[kind];
  if (path === undefined || !/^[\w-]+$/.test(id)) return <bdi>{name}</bdi>;
  return (
    <TextLink to={`${path}/${id}`}>
      <bdi>{name}</bdi>
    </TextLink>
  );
}
