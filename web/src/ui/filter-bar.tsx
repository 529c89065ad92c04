import { Button, CloseButton, Group, NativeSelect, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { Bookmark, FilterX, Search, SlidersHorizontal } from 'lucide-react';
import { Children, isValidElement, type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { OnDemand, useIsPhone } from './parts.tsx';
import { useViews } from './saved-views.ts';

type FilterBarProps = {
  /** The filters. */
  readonly children: ReactNode;
  /** True if a filter is set; then the button that clears all filters is shown. */
  readonly isFiltered?: boolean;
  readonly onClear?: () => void;
};

/**
 * The filters of a list, in a wrapping row, with its saved views. Their state is in the URL (`useUrlState`). On a phone,
 * all but the search are behind a button.
 */
export function FilterBar({ children, isFiltered = false, onClear }: FilterBarProps) {
  const { t } = useTranslation('ui');
  const isPhone = useIsPhone();
  const [isOpen, setOpen] = useState(false);
  const all = Children.toArray(children);
  const first = all.filter((child) => isValidElement(child) && child.type === SearchField);
  const hides = isPhone && all.length > first.length + 1;
  return (
    <Group component="search" gap="sm" align="flex-end">
      {hides && !isOpen ? first : children}
      {hides && !isOpen && (
        <Button variant="default" leftSection={<SlidersHorizontal size={16} />} onClick={() => setOpen(true)}>
          {t('filter.show')}
        </Button>
      )}
      {isFiltered && onClear && (
        <Button variant="subtle" color="gray" size="sm" leftSection={<FilterX size={16} />} onClick={onClear}>
          {t('filter.clear')}
        </Button>
      )}
      <SavedViews isFiltered={isFiltered} />
    </Group>
  );
}

const TYPING_MS = 300;

type SearchFieldProps = {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  /** True if the field takes the full width. */
  readonly wide?: boolean;
  /** The key that focuses the field, where a page has such keys. */
  readonly shortcut?: string;
};

/** A search field that applies shortly after typing, or immediately with Enter. */
export function SearchField({ label, value, onChange, wide = false, shortcut }: SearchFieldProps) {
  const { t } = useTranslation('ui');
  const [text, setText] = useState(value);
  const [shown, setShown] = useState(value);
  if (shown !== value) {
    setShown(value);
    setText(value);
  }
  const later = useDebouncedCallback(onChange, TYPING_MS);
  const type = (next: string): void => {
    setText(next);
    later(next);
  };
  return (
    <TextInput
      type="search"
      aria-label={label}
      {...(shortcut !== undefined && { 'data-key': shortcut, 'aria-keyshortcuts': shortcut })}
      placeholder={label}
      leftSection={<Search size={16} aria-hidden="true" />}
      rightSection={
        text === '' ? null : <CloseButton size="sm" aria-label={t('filter.empty')} onClick={() => type('')} />
      }
      value={text}
      onChange={(event) => type(event.currentTarget.value)}
      onKeyDown={(event) => event.key === 'Enter' && onChange(text)}
      w={wide ? '100%' : { base: '100%', xs: 260 }}
    />
  );
}

type Option = { readonly value: string; readonly label: string };
type ChoiceFilterProps<T extends string> = {
  readonly label: string;
  readonly options: readonly Option[];
  readonly value: T;
  readonly onChange: (value: T) => void;
};

/** A select for a filter; '' means no filter and shows the label. */
export function ChoiceFilter<T extends string>({ label, options, value, onChange }: ChoiceFilterProps<T>) {
  return (
    <NativeSelect
      aria-label={label}
      data={[{ value: '', label }, ...options]}
      value={value}
      // The value is one of the options, or ''.
      onChange={(event) => onChange(event.currentTarget.value as T)}
      w={{ base: '100%', xs: 'auto' }}
      // A long option must not widen the row.
      maw={{ xs: 200 }}
    />
  );
}

const LazyList = lazyPart(() => import('./view-list.tsx').then(({ ViewList }) => ({ default: ViewList })));

/** The menu of the saved views of a list; shown once there is a view, or a filter that could be saved as one. */
function SavedViews({ isFiltered }: { readonly isFiltered: boolean }) {
  const { t } = useTranslation('ui');
  const { views } = useViews();
  if (!isFiltered && views.length === 0) return null;
  const button = (
    <Button variant="subtle" color="gray" size="sm" leftSection={<Bookmark size={16} />}>
      {t('views.open')}
    </Button>
  );
  return (
    <OnDemand button={button} kind="dialog">
      <LazyList button={button} isFiltered={isFiltered} />
    </OnDemand>
  );
}
