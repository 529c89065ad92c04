import { Text, TextInput, VisuallyHidden } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Building2, type LucideIcon, Megaphone, MessageSquareText, Search, User, Users } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { useOptions } from '../ui/completion.tsx';
import { Dialog, DialogWhile } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { ErrorState } from '../ui/parts.tsx';
import classes from './search.module.css';

const TYPING_MS = 200;

type SearchDialogProps = {
  readonly opened: boolean;
  readonly onClose: () => void;
  /** The pages and actions that the user may use. */
  readonly places: readonly Entry[];
  /** Takes the text that was typed before the field was there. */
  readonly takeTyped: () => string;
};

/** The search of the whole console: messages, contacts, campaigns, accounts, pages and actions. */
export function SearchDialog({ opened, ...finder }: SearchDialogProps) {
  const { t } = useTranslation('search');
  return (
    <DialogWhile opened={opened} onClose={finder.onClose}>
      <Dialog title={t('title')}>
        <Finder {...finder} />
      </Dialog>
    </DialogWhile>
  );
}

/** A combobox whose list is always open: the focus stays in the field, and the arrow keys choose a result. */
function Finder({ places, onClose, takeTyped }: Omit<SearchDialogProps, 'opened'>) {
  const { t } = useTranslation('search');
  const [typed, setTyped] = useState('');
  const [settled] = useDebouncedValue(typed.trim(), TYPING_MS);
  const named = places.filter(({ title }) => isMatch(title, typed));
  const { entries: found, isSearching, isOld, error } = useFound(settled);
  // Results for an earlier text stay only if they fit this one: Enter must not open something else.
  const isCurrent = settled === typed.trim() && !isOld;
  const fitting = found.filter(({ title }) => isCurrent || isMatch(title, typed));
  const entries = GROUPS.flatMap((group) => [...fitting, ...named].filter((entry) => entry.group === group));
  const open = useOpen(onClose);
  const options = useOptions(
    entries.map(({ id }) => id),
    { onChoose: (at) => entries[at] && open(entries[at]) },
  );
  return (
    <>
      <TextInput
        role="combobox"
        aria-label={t('field')}
        aria-expanded={entries.length > 0}
        {...options.field}
        data-autofocus
        onFocus={() => setTyped((before) => before + takeTyped())}
        size="md"
        placeholder={t('field')}
        leftSection={<Search size={18} aria-hidden="true" />}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          options.setActive('');
        }}
        onKeyDown={options.onKeyDown}
        autoComplete="off"
        spellCheck={false}
      />
      <VisuallyHidden role="status">
        {isSearching ? t('searching') : t('count', { count: entries.length })}
      </VisuallyHidden>
      {error !== null && <ErrorState error={error} />}
      <Results entries={entries} options={options} />
      {entries.length === 0 && !isSearching && (
        <Text size="sm" c="dimmed" mt="md">
          {t('none')}
        </Text>
      )}
      <Text size="xs" c="dimmed" mt="sm" visibleFrom="sm">
        {t('keys')}
      </Text>
    </>
  );
}

function useOpen(onClose: () => void): (entry: Entry) => void {
  const navigate = useNavigate();
  return (entry) => {
    onClose();
    if ('run' in entry) entry.run();
    else void navigate({ to: entry.to, search: entry.search ?? {} });
  };
}

const MAX_ACCOUNTS = 5;
/** Minimum length of a text: a single letter is in almost every name. */
const MIN_LENGTH = 2;

type Found = {
  readonly entries: readonly Entry[];
  readonly isSearching: boolean;
  /** True if the entries are still those of the previous text. */
  readonly isOld: boolean;
  readonly error: unknown;
};

/** Results of the server for a text: a message, contacts, campaigns, and for operators accounts. */
function useFound(text: string): Found {
  const { may, isOperator } = useSession();
  const isLong = text.length >= MIN_LENGTH;
  const searches = may({ scope: 'tracking' }) || may({ scope: 'contacts' }) || may({ scope: 'campaigns' });
  const things = useQuery({
    queryKey: ['search', text],
    queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/search', { params: { query: { q: text } }, signal })),
    enabled: isLong && searches,
    placeholderData: keepPreviousData,
  });
  const accounts = useQuery({
    queryKey: ['operator', 'accounts', 'search', text],
    queryFn: ({ signal }) =>
      ok(
        api.GET('/api/operator/v1/accounts', {
          params: { query: { page: 0, limit: MAX_ACCOUNTS, search: text } },
          signal,
        }),
      ),
    enabled: isLong && isOperator,
    placeholderData: keepPreviousData,
  });
  const messages = useQuery({
    queryKey: ['search', 'messages-to', text],
    queryFn: ({ signal }) => newestTo(text, signal),
    enabled: NUMBER.test(text) && may({ scope: 'tracking' }),
    placeholderData: keepPreviousData,
  });
  const toThings = useThingEntries();
  const toLists = useListEntries();
  if (!isLong) return { entries: [], isSearching: false, isOld: false, error: null };
  const found = { ...NOTHING, ...things.data };
  const all = NUMBER.test(text) ? { ...found, messages: [...found.messages, ...(messages.data ?? [])] } : found;
  return {
    entries: [...toThings(all), ...(accounts.data?.data ?? []).map(accountEntry), ...toLists(text, all)],
    isSearching: things.isFetching || accounts.isFetching || messages.isFetching,
    isOld: things.isPlaceholderData || accounts.isPlaceholderData || messages.isPlaceholderData,
    error: things.error ?? accounts.error ?? messages.error,
  };
}

const NEWEST = 3;
const NEWEST_DAYS = 90;
const DAY_MS = 86_400_000;

/** The newest messages to numbers with these digits. */
async function newestTo(digits: string, signal: AbortSignal) {
  const from = new Date(Date.now() - NEWEST_DAYS * DAY_MS).toISOString();
  const params = { query: { destination: digits, from, limit: NEWEST } };
  return (await ok(api.GET('/api/partner-gateway/v1/messages', { params, signal }))).data;
}

type Things = {
  readonly messages: readonly {
    messageId: string;
    channel: string;
    destination: string;
    deliveryStatus: string;
    acceptedAt: string;
  }[];
  readonly contacts: readonly { id: number; name: string; phoneNumber: string | null }[];
  readonly campaigns: readonly { id: number; name: string; createdAt: string }[];
};

const NOTHING: Things = { messages: [], contacts: [], campaigns: [] };

function useThingEntries(): (things: Things) => readonly Entry[] {
  const { t } = useTranslation('ui');
  const format = useFormat();
  return ({ messages, contacts, campaigns }) => [
    ...messages.map(({ messageId, channel, destination, deliveryStatus, acceptedAt }) => ({
      id: `message-${messageId}`,
      group: 'messages' as const,
      title: destination,
      detail: `${t(`channel.${channel}`)} · ${t(`messageStatus.${deliveryStatus}`)} · ${format.moment(new Date(acceptedAt))}`,
      icon: MessageSquareText,
      to: `/messages/${messageId}`,
    })),
    ...contacts.map(({ id, name, phoneNumber }) => ({
      id: `contact-${id}`,
      group: 'contacts' as const,
      title: name === '' ? (phoneNumber ?? String(id)) : name,
      detail: name === '' ? undefined : (phoneNumber ?? undefined),
      icon: User,
      to: `/contacts/${id}`,
    })),
    ...campaigns.map(({ id, name, createdAt }) => ({
      id: `campaign-${id}`,
      group: 'campaigns' as const,
      title: name,
      detail: format.exact(new Date(createdAt)),
      icon: Megaphone,
      to: `/campaigns/${id}`,
    })),
  ];
}

const accountEntry = ({ id, name }: { readonly id: number; readonly name: string }): Entry => ({
  id: `account-${id}`,
  group: 'accounts',
  title: name,
  detail: String(id),
  icon: Building2,
  to: `/operator/accounts/${id}`,
});

type ResultsProps = {
  /** In the order of their groups. */
  readonly entries: readonly Entry[];
  readonly options: ReturnType<typeof useOptions>;
};

/** The results by group. The focus stays in the field, so they take part in no tab order. */
function Results({ entries, options }: ResultsProps) {
  const { t } = useTranslation('search');
  const { list } = options;
  return (
    <div {...list} aria-label={t('results')} className={classes.list}>
      {GROUPS.filter((group) => entries.some((entry) => entry.group === group)).map((group) => (
        <div key={group} role="group" aria-labelledby={`${list.id}-${group}`}>
          <div id={`${list.id}-${group}`} className={classes.group}>
            {t(`group.${group}`)}
          </div>
          {entries.map((entry, index) =>
            entry.group === group ? <Option key={entry.id} entry={entry} index={index} options={options} /> : null,
          )}
        </div>
      ))}
    </div>
  );
}

type OptionProps = Pick<ResultsProps, 'options'> & { readonly entry: Entry; readonly index: number };

function Option({ entry, index, options }: OptionProps) {
  const { id, title, detail, icon: Icon } = entry;
  return (
    <div
      {...options.option(index)}
      className={classes.option}
      onMouseMove={() => options.setActive(id)}
      onClick={() => options.choose(index)}
    >
      <Icon size={18} aria-hidden="true" style={{ flexShrink: 0 }} />
      <bdi className={classes.title}>{title}</bdi>
      {detail !== undefined && <bdi className={classes.detail}>{detail}</bdi>}
    </div>
  );
}

/** A number worth a search: fewer digits are part of too many numbers. */
const NUMBER = /^[+\d][\d ().\-/]{2,29}$/;

/** The thorough searches of contacts and messages, if there are any of which the results here are the first. */
function useListEntries(): (text: string, things: Things) => readonly Entry[] {
  const { t } = useTranslation('search');
  return (text, { contacts, messages }) =>
    (['contacts', 'messages'] as const)
      .filter((name) => (name === 'contacts' ? contacts : messages).length > 0)
      .map((name) => ({
        id: `list-${name}`,
        group: 'lists' as const,
        title: t(`list.${name}`, { q: text }),
        icon: name === 'contacts' ? Users : MessageSquareText,
        to: `/${name}`,
        search: { q: text, ...(name === 'messages' && { days: String(NEWEST_DAYS) }) },
      }));
}

/** The groups of results, in the order in which they are shown. */
const GROUPS = ['messages', 'contacts', 'campaigns', 'accounts', 'pages', 'actions', 'lists'] as const;
type Group = (typeof GROUPS)[number];

/** One result of the search: choosing it opens an address, or does something. */
export type Entry = {
  readonly id: string;
  readonly group: Group;
  readonly title: string;
  readonly detail?: string | undefined;
  readonly icon: LucideIcon;
} & ({ readonly to: string; readonly search?: Readonly<Record<string, string>> } | { readonly run: () => void });

/** Lower-case letters without accents, so that `citta` finds "Città". */
const plain = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

/** Returns true if each word of a text begins a word of a title, as `imp con` does with "Import contacts". */
export function isMatch(title: string, text: string): boolean {
  const words = plain(title).split(/[^\p{L}\p{N}]+/u);
  const wanted = plain(text)
    .split(/\s+/)
    .filter((part) => part !== '');
  return wanted.every((part) => words.some((word) => word.startsWith(part)));
}
