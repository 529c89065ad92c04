import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ChoiceFilter, FilterBar } from '../../ui/filter-bar.tsx';
import { connectionsQuery, type Kind, KINDS } from './connection.ts';

type OfKinds = {
  /** All, unless said otherwise. */
  readonly kinds?: readonly Kind[];
};

function useNames(kinds: readonly Kind[] = KINDS): readonly string[] {
  const { data } = useQuery(connectionsQuery);
  return (data?.data ?? []).filter(({ kind }) => kinds.includes(kind)).map(({ name }) => name);
}

type ConnectionChoiceProps = OfKinds & {
  /** A name; '' while none is chosen. */
  readonly value?: string;
  readonly onChange: (name: string) => void;
  readonly error?: ReactNode;
};

/** The field of a form that names a connection. */
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

type ConnectionFilterProps = OfKinds & { readonly value: string; readonly onChange: (name: string) => void };

/** A list of one connection, or of all. */
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

/** The same where a list has no other filter. */
export const ConnectionFilterBar = (props: ConnectionFilterProps) => (
  <FilterBar isFiltered={props.value !== ''} onClear={() => props.onChange('')}>
    <ConnectionFilter {...props} />
  </FilterBar>
);
