import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import type { SearchSelectProps } from './lazy-props.ts';

const TYPING_MS = 200;

/** The select of `ListSelect` and `CampaignSelect`, which load it when they are first shown. */
export function SearchSelect({ source, first, without = [], value, onChange, ...rest }: SearchSelectProps) {
  const { t } = useTranslation('ui');
  const [typed, setTyped] = useState('');
  const [settled] = useDebouncedValue(typed, TYPING_MS);
  const may = useSession().may(source.need);
  const isFirst = first.some((option) => option.value === value);
  const known = useQuery({
    queryKey: [source.key, 'named', value],
    queryFn: ({ signal }) => source.find(value, signal),
    enabled: may && !isFirst,
  });
  const chosen = [...first, ...(known.data ? [known.data] : [])];
  // The field shows the name of the chosen option: it is no search until it has been changed.
  const search = chosen.some((option) => option.value === value && option.label === settled) ? '' : settled;
  const found = useQuery({
    queryKey: [source.key, 'found', search],
    queryFn: ({ signal }) => source.search(search, signal),
    enabled: may,
    placeholderData: keepPreviousData,
  });
  const others = (found.data ?? []).filter((option) => option.value !== value && !without.includes(option.value));
  return (
    <Select
      {...rest}
      data={[...chosen, ...others]}
      filter={({ options }) => options}
      searchable
      disabled={known.isLoading}
      allowDeselect={false}
      onSearchChange={setTyped}
      nothingFoundMessage={t('select.none')}
      comboboxProps={SHADOW}
      value={value}
      onChange={(next) => onChange(next ?? '')}
    />
  );
}

const SHADOW: SelectProps['comboboxProps'] = { shadow: 'md' };
