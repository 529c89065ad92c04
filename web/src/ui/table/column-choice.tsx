import { Button } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { Columns3 } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import type { HideableColumn, ColumnChoiceProps } from './column-choice-props.ts';
import { OnDemand } from '../on-demand.tsx';

/** The hidden columns of a table, stored in this browser. */
export function useHiddenColumns(table: string, columns: readonly HideableColumn[]) {
  const usual = columns.filter(({ hidden }) => hidden).map(({ id }) => id);
  const [stored, setStored] = useLocalStorage<readonly string[]>({
    key: `heliograph-columns-${table}`,
    defaultValue: usual,
    getInitialValueInEffect: false,
  });
  const hidden = useMemo(() => new Set(stored), [stored]);
  return { hidden, setHidden: (ids: ReadonlySet<string>) => setStored([...ids]) };
}

const LazyList = lazyPart(() => import('./column-list.tsx').then(({ ColumnList }) => ({ default: ColumnList })));

/** The menu that shows and hides columns. */
export function ColumnChoice(props: ColumnChoiceProps) {
  const { t } = useTranslation('ui');
  const button = (
    <Button variant="subtle" color="gray" size="xs" leftSection={<Columns3 size={14} />}>
      {t('table.columns')}
    </Button>
  );
  return (
    <OnDemand button={button} kind="dialog">
      <LazyList {...props} button={button} />
    </OnDemand>
  );
}
