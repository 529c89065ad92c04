import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ChoiceFilter, FilterBar } from '../../ui/filter-bar.tsx';
import { connectionsQuery, type Kind, KINDS } from './connection.ts';

type KindsProps = {
  /** The kinds to offer; all by default. */
  readonly kinds?: readonly Kind[];
};

function useNames(kinds: readonly Kind[] = KINDS): readonly string[] {
  const { data } = useQuery(connectionsQuery);
  return (data?.data ?? []).filter(({ kind }) => kinds.includes(kind)).map(({ name }) => name);
}

type ConnectionChoiceProps = KindsProps & {
  /** The name of the connection; '' if none is chosen. */
  readonly value?: string;
  readonly onChange: (name: string) => void;
  readonly error?: ReactNode;
};

/** A form field that selects a connection. */
export function ConnectionChoice({ kinds, onChange, ...input }: ConnectionChoiceProps) {
  const { t } = useTranslation('operator');
  return (
    <NativeSelect
      label={t('connection.one')}
      data={[{ value: '', label: t('route.add.choose') }, ...useNames(kinds)]}
      onChange={(event) => onChange(event.currentTarget.value)}
      {...input}
    />
  );
}

type ConnectionFilterProps = KindsProps & { readonly value: string; readonly onChange: (name: string) => void };

/** A filter by connection. */
export function ConnectionFilter({ kinds, value, onChange }: ConnectionFilterProps) {
  const { t } = useTranslation('operator');
  return (
    <ChoiceFilter
      label={t('anyConnection')}
      options={useNames(kinds).map((name) => ({ value: name, label: name }))}
      value={value}
      onChange={onChange}
    />
  );
}

/** The filter by connection as a bar of its own. */
export const ConnectionFilterBar = (props: ConnectionFilterProps) => (
  <FilterBar isFiltered={props.value !== ''} onClear={() => props.onChange('')}>
    <ConnectionFilter {...props} />
  </FilterBar>
);
