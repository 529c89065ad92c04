import { Button } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { Columns3 } from 'lucide-react';
import { lazy, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Choosable, ColumnChoiceProps } from './column-choice-props.ts';
import { OnDemand } from '../on-demand.tsx';

/** Which columns a person does not want to see, kept in this browser for each table. */
export function useHiddenColumns(table: string, columns: readonly Choosable[]) {
  const usual = columns.filter(({ hidden }) => hidden).map(({ id }) => id);
  const [kept, setKept] = useLocalStorage<readonly string[]>({
    key: `heliograph-columns-${table}`,
    defaultValue: usual,
    getInitialValueInEffect: false,
  });
  const hidden = useMemo(() => new Set(kept), [kept]);
  return { hidden, setHidden: (ids: ReadonlySet<string>) => setKept([...ids]) };
}

const LazyList = lazy(() => import('./column-list.tsx').then(({ ColumnList }) => ({ default: ColumnList })));

/** Shows and hides columns. */
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
