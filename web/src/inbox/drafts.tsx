import { Badge, Button, Loader } from '@mantine/core';
import { useIntersection } from '@mantine/hooks';
import { queryOptions } from '@tanstack/react-query';
import { createContext, use, useCallback, useEffect, useEffectEvent, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { DRAFTS_KEY } from '../api/data.ts';
import type { Media } from '../api/media.ts';
import { api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';
import { INBOX, type Label } from './conversation.ts';
import classes from './inbox.module.css';

/** An unsent reply; files are sent without text. */
type Draft = { readonly text: string; readonly media: Media | null };

const EMPTY: Draft = { text: '', media: null };

/**
 * Creates the store of drafts by conversation. They are kept in this browser, under the user and the account, until they are
 * sent or the user signs out.
 */
export function createDrafts(owner: string) {
  const drafts = new Map<string, Draft>();
  const listeners = new Set<() => void>();
  const keyOf = (chatId: string): string => `${DRAFTS_KEY}${owner}:${chatId}`;
  return {
    get(chatId: string): Draft {
      const draft = drafts.get(chatId) ?? readDraft(keyOf(chatId));
      drafts.set(chatId, draft);
      return draft;
    },
    set(chatId: string, patch: Partial<Draft>): void {
      const draft = { ...this.get(chatId), ...patch };
      drafts.set(chatId, draft);
      writeDraft(keyOf(chatId), draft);
      for (const tell of listeners) tell();
    },
    listen(tell: () => void): () => void {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
  };
}

function readDraft(key: string): Draft {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? 'null');
    return isDraft(stored) ? stored : EMPTY;
  } catch {
    return EMPTY;
  }
}

const isDraft = (stored: unknown): stored is Draft =>
  typeof stored === 'object' && stored !== null && typeof Reflect.get(stored, 'text') === 'string';

/** Stores a draft. In a full or forbidden storage, it does not survive a reload. */
function writeDraft(key: string, draft: Draft): void {
  try {
    if (draft.text === '' && draft.media === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(draft));
  } catch {
    return;
  }
}

export const DraftsContext = createContext(createDrafts(''));

/** The draft of one conversation and its setter. */
export function useDraft(chatId: string) {
  const drafts = use(DraftsContext);
  const draft = useSyncExternalStore(drafts.listen, () => drafts.get(chatId));
  const change = useCallback((patch: Partial<Draft>): void => drafts.set(chatId, patch), [drafts, chatId]);
  return [draft, change] as const;
}

/** The permission that changing opening hours and assignment requires, in addition to that of the inbox. */
export const RULES_NEED: Need = { scope: 'webhooks', write: true };

const findSettings = (signal: AbortSignal) => ok(api.GET(`${INBOX}/settings`, { signal }));
export type Settings = Awaited<ReturnType<typeof findSettings>>;
export const settingsQuery = queryOptions({
  queryKey: ['inbox-settings'],
  queryFn: ({ signal }) => findSettings(signal),
  staleTime: 60_000,
});

export const saveSettings = (body: Settings) => ok(api.PUT(`${INBOX}/settings`, { body }));

const DAY_MINUTES = 1440;
const timeOf = (minute: number): string =>
  minute === DAY_MINUTES
    ? '23:59'
    : `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;

/** The minute of the day of a time; as an end, 23:59 is the end of the day. */
function minuteOf(time: string, isEnd: boolean): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return isEnd && time === '23:59' ? DAY_MINUTES : hours * 60 + minutes;
}

/** A span of opening hours as a form shows it, with times as `HH:mm`. */
export type HoursRow = { readonly weekday: number; readonly from: string; readonly to: string };

export const toRows = (hours: Settings['openHours']): readonly HoursRow[] =>
  hours
    .map(({ weekday, from, to }) => ({ weekday, from: timeOf(from), to: timeOf(to) }))
    .sort((a, b) => a.weekday - b.weekday || a.from.localeCompare(b.from));

export const fromRows = (rows: readonly HoursRow[]): Settings['openHours'] =>
  rows.map(({ weekday, from, to }) => ({ weekday, from: minuteOf(from, false), to: minuteOf(to, true) }));

const COLORS: Readonly<Record<Label['color'], string>> = {
  gray: 'gray',
  red: 'red',
  orange: 'orange',
  yellow: 'amber',
  green: 'green',
  teal: 'teal',
  blue: 'blue',
  purple: 'violet',
  pink: 'pink',
};

/** A label of a conversation in its colour. */
export const LabelBadge = ({ label: { name, color } }: { readonly label: Pick<Label, 'name' | 'color'> }) => (
  <Badge
    size="sm"
    variant="light"
    color={COLORS[color]}
    tt="none"
    maw={140}
    dir="auto"
    style={{ border: '1px solid currentColor' }}
  >
    {name}
  </Badge>
);

/** The same as a dot, where there is no room for its name. */
export const LabelDot = ({ label: { name, color } }: { readonly label: Pick<Label, 'name' | 'color'> }) => (
  <span
    role="img"
    aria-label={name}
    title={name}
    className={classes.dot}
    style={{ background: `var(--mantine-color-${COLORS[color]}-6)` }}
  />
);

type LoadMoreProps = { readonly label: string; readonly busy: boolean; readonly onMore: () => void };

/** Loads more when it comes into view, or on a click. */
export function LoadMore({ label, busy, onMore }: LoadMoreProps) {
  const { t } = useTranslation('inbox');
  const { ref, entry } = useIntersection();
  const isSeen = entry?.isIntersecting === true;
  const load = useEffectEvent(onMore);
  useEffect(() => {
    if (isSeen && !busy) load();
  }, [isSeen, busy]);
  return (
    <div ref={ref} className={classes.more}>
      {busy ? (
        <Loader size="sm" aria-label={t('ui:loading')} />
      ) : (
        <Button variant="subtle" size="xs" onClick={onMore}>
          {label}
        </Button>
      )}
    </div>
  );
}
