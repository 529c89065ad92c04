import { Group, Select, type SelectProps, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { createZoneSearch, labelOf, offsetOf, ownZone, zonesFrom } from './zones.ts';

const MAX_SHOWN = 40;

type TimeZoneFieldProps = Pick<SelectProps, 'label' | 'value' | 'onChange' | 'error' | 'onBlur' | 'onFocus' | 'maw'>;

const optionsOf = (zones: readonly string[]) => zones.map((zone) => ({ value: zone, label: labelOf(zone) }));

/** A field for a time zone, found by its city, or by the name of its time in the language of the console. */
export function TimeZoneField(props: TimeZoneFieldProps) {
  const { t, i18n } = useTranslation('ui');
  const { value } = props;
  const [now] = useState(() => new Date());
  const zones = useMemo(() => zonesFrom(ownZone(), value), [value]);
  const find = useMemo(() => createZoneSearch(zones, i18n.language), [zones, i18n.language]);
  return (
    <Select
      data={optionsOf(zones)}
      filter={({ search }) => optionsOf(find(search).slice(0, MAX_SHOWN))}
      renderOption={({ option }) => <Option zone={option.value} label={option.label} at={now} />}
      searchable
      allowDeselect={false}
      selectFirstOptionOnChange
      placeholder={t('zone.search')}
      nothingFoundMessage={t('zone.none')}
      comboboxProps={{ shadow: 'md' }}
      {...props}
    />
  );
}

type OptionProps = { readonly zone: string; readonly label: string; readonly at: Date };

function Option({ zone, label, at }: OptionProps) {
  return (
    <Group justify="space-between" gap="xs" wrap="nowrap" w="100%">
      <span>{label}</span>
      <Text size="xs" c="dimmed" component="span" style={{ whiteSpace: 'nowrap' }}>
        {offsetOf(zone, at)}
      </Text>
    </Group>
  );
}
