import { Text, TextInput, VisuallyHidden } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { ErrorState } from '../ui/error-state.tsx';
import { type Entry, GROUPS, isMatch } from './entry.ts';
import { Results } from './results.tsx';
import { useFound } from './use-found.ts';
import { useLists } from './use-lists.ts';

const TYPING_MS = 200;

type SearchDialogProps = {
  readonly opened: boolean;
  readonly onClose: () => void;
  /** The pages and actions that the user may use. */
  readonly places: readonly Entry[];
};

/** The search of the whole console: messages, contacts, campaigns, accounts, pages and actions. */
export function SearchDialog({ opened, onClose, places }: SearchDialogProps) {
  const { t } = useTranslation('search');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('title')} size="lg">
      {opened && <Finder places={places} onClose={onClose} />}
    </Dialog>
  );
}

/** A combobox whose list is always open: the focus stays in the field, and the arrow keys choose a result. */
function Finder({ places, onClose }: Pick<SearchDialogProps, 'places' | 'onClose'>) {
  const { t } = useTranslation('search');
  const listId = useId();
  const [typed, setTyped] = useState('');
  const [settled] = useDebouncedValue(typed.trim(), TYPING_MS);
  const named = places.filter(({ title }) => isMatch(title, typed));
  const lists = useLists(typed.trim());
  const { entries: found, isSearching, isOld, error } = useFound(settled);
  // Results for an earlier text stay only if they fit this one: Enter must not open something else.
  const isCurrent = settled === typed.trim() && !isOld;
  const fitting = found.filter(({ title }) => isCurrent || isMatch(title, typed));
  const entries = GROUPS.flatMap((group) => [...fitting, ...named, ...lists].filter((entry) => entry.group === group));
  const [chosenId, setChosenId] = useState('');
  const at = Math.max(
    0,
    entries.findIndex(({ id }) => id === chosenId),
  );
  const open = useOpen(onClose);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = indexAfter(event.key, at, entries.length);
    const entry = entries[next ?? at];
    if (entry === undefined || event.nativeEvent.isComposing) return;
    if (next !== null) setChosenId(entry.id);
    else if (event.key === 'Enter') open(entry);
    else return;
    event.preventDefault();
  };
  const optionId = (index: number): string => `${listId}-${index}`;
  useInView(entries.length > 0 ? optionId(at) : '');
  return (
    <>
      <TextInput
        role="combobox"
        aria-label={t('field')}
        aria-expanded={entries.length > 0}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={entries.length > 0 ? optionId(at) : undefined}
        data-autofocus
        size="md"
        placeholder={t('field')}
        leftSection={<Search size={18} aria-hidden="true" />}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          setChosenId('');
        }}
        onKeyDown={onKeyDown}
        autoComplete="off"
        spellCheck={false}
      />
      <VisuallyHidden role="status">
        {isSearching ? t('searching') : t('count', { count: entries.length })}
      </VisuallyHidden>
      {error !== null && <ErrorState error={error} />}
      <Results
        id={listId}
        entries={entries}
        at={at}
        optionId={optionId}
        onPoint={({ id }) => setChosenId(id)}
        onOpen={open}
      />
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

/** The index that a key leads to, from one end to the other; null for other keys. */
function indexAfter(key: string, at: number, count: number): number | null {
  if (key === 'ArrowDown') return (at + 1) % count;
  if (key === 'ArrowUp') return (at + count - 1) % count;
  return null;
}

function useOpen(onClose: () => void): (entry: Entry) => void {
  const navigate = useNavigate();
  return (entry) => {
    onClose();
    if ('run' in entry) entry.run();
    else void navigate({ to: entry.to, search: entry.search ?? {} });
  };
}

/** Scrolls the chosen result into view, within its list. */
function useInView(id: string): void {
  const last = useRef('');
  useEffect(() => {
    if (id !== last.current) document.getElementById(id)?.scrollIntoView({ block: 'nearest' });
    last.current = id;
  }, [id]);
}
