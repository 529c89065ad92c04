import { Group, Paper, Stack } from '@mantine/core';
import { RefreshCw } from 'lucide-react';
import { Children, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../ui/error-state.tsx';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import classes from '../shared/lines.module.css';
import { OPERATOR } from '../shared/need.ts';
import { Summary } from './summary.tsx';

type ChecksProps<T> = {
  readonly label: string;
  readonly query: {
    readonly data: T | undefined;
    readonly error: Error | null;
    readonly isFetching: boolean;
    refetch(): unknown;
  };
  /** The approximate number of checks, for the placeholder. */
  readonly rows: number;
  /** Options above the checks, on the left. */
  readonly options?: ReactNode;
  /** A note next to the button. */
  readonly note?: (data: T) => ReactNode;
  /** Results of the checks: true if passed; null if not known. */
  readonly resultsOf: (data: T) => readonly (boolean | null)[];
  /** Renders one element per check. */
  readonly children: (data: T) => ReactNode;
};

/** A list of checks with a button that repeats them. */
export function Checks<T>({ label, query, rows, options, note, resultsOf, children }: ChecksProps<T>) {
  const { t } = useTranslation('operator');
  const { data, error, isFetching, refetch } = query;
  const again = (): void => void refetch();
  return (
    <Stack>
      <Group justify={options === undefined ? 'flex-end' : 'space-between'} align="flex-end">
        {options}
        <Group gap="sm">
          {data !== undefined && note?.(data)}
          <GuardedButton
            need={OPERATOR}
            variant="default"
            leftSection={<RefreshCw size={16} />}
            loading={isFetching}
            onClick={again}
          >
            {t('health.again')}
          </GuardedButton>
        </Group>
      </Group>
      {error && data === undefined && <ErrorState error={error} onRetry={again} />}
      {!error && data === undefined && <TableSkeleton rows={rows} />}
      {data !== undefined && <Summary results={resultsOf(data)} />}
      {data !== undefined && <CheckList label={label}>{children(data)}</CheckList>}
    </Stack>
  );
}

/** The checks, separated by lines. */
const CheckList = ({ label, children }: { readonly label: string; readonly children: ReactNode }) => (
  <Paper p="lg">
    <ul className={classes.list} aria-label={label}>
      {Children.map(children, (child) => (
        <li className={classes.item}>{child}</li>
      ))}
    </ul>
  </Paper>
);
