import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ChoiceFilter, FilterBar } from '../../ui/filter-bar.tsx';
import { type Connection, connectionsQuery } from './connection.ts';

/** Selection of the connections offered; all by default. */
type ConnectionSelection = {
  readonly routedBy?: Connection['routedBy'];
  readonly channel?: Connection['channel'];
};

function useNames({ routedBy, channel }: ConnectionSelection): readonly string[] {
  const { data } = useQuery(connectionsQuery);
  return (data?.data ?? [])
    .filter((connection) => routedBy === undefined || connection.routedBy === routedBy)
    .filter((connection) => channel === undefined || connection.channel === channel)
    .map(({ name }) => name);
}

type ConnectionChoiceProps = ConnectionSelection & {
  /** The name of the connection; '' if none is chosen. */
  readonly value?: string;
  readonly onChange: (name: string) => void;
  readonly error?: ReactNode;
};

/** A form field that selects a connection. */
export function ConnectionChoice({ routedBy, channel, onChange, ...input }: ConnectionChoiceProps) {
  const { t } = useTranslation('operator');
  const names = useNames({ ...(routedBy && { routedBy }), ...(channel && { channel }) });
  return (
    <NativeSelect
      label={t('connection.one')}
      data={[{ value: '', label: t('route.add.choose') }, ...names]}
      onChange={(event) => onChange(event.currentTarget.value)}
      {...input}
    />
  );
}

type ConnectionFilterProps = ConnectionSelection & {
  readonly value: string;
  readonly onChange: (name: string) => void;
};

/** A filter by connection. */
export function ConnectionFilter({ value, onChange, ...selection }: ConnectionFilterProps) {
  const { t } = useTranslation('operator');
  return (
    <ChoiceFilter
      label={t('anyConnection')}
      options={useNames(selection).map((name) => ({ value: name, label: name }))}
      value={value}
      onChange={onChange}
    />
  );
}

/** The filter by connection as a separate bar. */
export const ConnectionFilterBar = (props: ConnectionFilterProps) => (
  <FilterBar isFiltered={props.value !== ''} onClear={() => props.onChange('')}>
    <ConnectionFilter {...props} />
  </FilterBar>
);
