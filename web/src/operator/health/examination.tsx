import { Group, Paper, Stack } from '@mantine/core';
import { RefreshCw } from 'lucide-react';
import { Children, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../ui/error-state.tsx';
import { MayButton } from '../../ui/actions/may-button.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import classes from '../shared/lines.module.css';
import { OPERATOR } from '../shared/need.ts';

type ExaminationProps<T> = {
  readonly label: string;
  readonly query: {
    readonly data: T | undefined;
    readonly error: Error | null;
    readonly isFetching: boolean;
    refetch(): unknown;
  };
  /** How many checks there will be, more or less. */
  readonly rows: number;
  /** At the left, above the checks: what is examined. */
  readonly options?: ReactNode;
  /** Beside the button. */
  readonly note?: (data: T) => ReactNode;
  /** One element for each check. */
  readonly children: (data: T) => ReactNode;
};

/** Checks below one another, and the button that makes them again. */
export function Examination<T>({ label, query, rows, options, note, children }: ExaminationProps<T>) {
  const { t } = useTranslation('operator');
  const { data, error, isFetching, refetch } = query;
  const again = (): void => void refetch();
  return (
    <Stack>
      <Group justify={options === undefined ? 'flex-end' : 'space-between'} align="flex-end">
        {options}
        <Group gap="sm">
          {data !== undefined && note?.(data)}
          <MayButton
            need={OPERATOR}
            variant="default"
            leftSection={<RefreshCw size={16} />}
            loading={isFetching}
            onClick={again}
          >
            {t('health.again')}
          </MayButton>
        </Group>
      </Group>
      {error && data === undefined && <ErrorState error={error} onRetry={again} />}
      {!error && data === undefined && <TableSkeleton rows={rows} />}
      {data !== undefined && <CheckList label={label}>{children(data)}</CheckList>}
    </Stack>
  );
}

/** With lines between them. */
const CheckList = ({ label, children }: { readonly label: string; readonly children: ReactNode }) => (
  <Paper p="lg">
    <ul className={classes.list} aria-label={label}>
      {Children.map(children, (child) => (
        <li className={classes.item}>{child}</li>
      ))}
    </ul>
  </Paper>
);
