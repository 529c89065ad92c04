import { Button, Checkbox, Popover, Stack } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { Columns3 } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';

type Choosable = { readonly id: string; readonly header: string; readonly hidden?: boolean };

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

type ColumnChoiceProps = {
  readonly columns: readonly Choosable[];
  readonly hidden: ReadonlySet<string>;
  readonly setHidden: (ids: ReadonlySet<string>) => void;
};

/** Shows and hides columns. The first one always stays. */
export function ColumnChoice({ columns, hidden, setHidden }: ColumnChoiceProps) {
  const { t } = useTranslation('ui');
  const toggle = (id: string): void => {
    const next = new Set(hidden);
    if (!next.delete(id)) next.add(id);
    setHidden(next);
  };
  return (
    <Popover position="bottom-end" shadow="md" trapFocus>
      <Popover.Target>
        <Button variant="subtle" color="gray" size="xs" leftSection={<Columns3 size={14} />}>
          {t('table.columns')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('table.columns')}>
        <Stack gap="xs">
          {columns.map(({ id, header }, at) => (
            <Checkbox
              key={id}
              size="xs"
              label={header}
              checked={!hidden.has(id)}
              disabled={at === 0}
              onChange={() => toggle(id)}
            />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
