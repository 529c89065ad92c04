import { Checkbox } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { RowSelection } from './data-table.tsx';

type Selecting = {
  /** The IDs of the rows that are shown. */
  readonly shown: readonly string[];
  /** The IDs of the selected rows, across pages. */
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (ids: ReadonlySet<string>) => void;
};

/** Checkboxes for the rows of a `DataTable`. Apart from it, because most tables have none. */
export function useRowSelection({ shown, selected, onSelect }: Selecting): RowSelection {
  const { t } = useTranslation('ui');
  const set = (changed: readonly string[], isChosen: boolean): void => {
    const next = new Set(selected);
    for (const id of changed) {
      if (isChosen) next.add(id);
      else next.delete(id);
    }
    onSelect(next);
  };
  const isAll = shown.length > 0 && shown.every((id) => selected.has(id));
  const isSome = shown.some((id) => selected.has(id));
  return {
    has: (id) => selected.has(id),
    head: (
      <Checkbox
        aria-label={t('table.selectAll')}
        checked={isAll}
        indeterminate={isSome && !isAll}
        onChange={() => set(shown, !isAll)}
      />
    ),
    check: (id) => (
      <Checkbox
        aria-label={t('table.select')}
        checked={selected.has(id)}
        onChange={() => set([id], !selected.has(id))}
      />
    ),
  };
}
