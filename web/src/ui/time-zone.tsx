import { Group, Select, type SelectProps, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';

export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/**
 * All time zones that the browser knows, by their names of the IANA database: `first` and UTC in front, and at the end
 * the chosen one, if it has a name that the server knows and the browser does not.
 */
export const zonesFrom = (first: string, chosen: string | null = null): readonly string[] => [
  ...new Set([first, 'UTC', ...Intl.supportedValuesOf('timeZone'), ...(chosen ? [chosen] : [])]),
];

/** Label of a zone: `America/New York`. */
export const labelOf = (zone: string): string => zone.replaceAll('_', ' ');

/** The distance of a zone from UTC at a time: `UTC+01:00`. */
export const offsetOf = (zone: string, at: Date): string => nameOf(zone, 'en', 'longOffset', at).replace('GMT', 'UTC');

function nameOf(zone: string, language: string, timeZoneName: 'longOffset' | 'long', at: Date): string {
  const parts = new Intl.DateTimeFormat(language, { timeZone: zone, timeZoneName }).formatToParts(at);
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

/** Lower-case words without accents, so that `São Paulo` finds `America/Sao_Paulo`. */
const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[_/\-–()]+/g, ' ');

const wordsOf = (text: string): readonly string[] =>
  plain(text)
    .split(/\s+/)
    .filter((part) => part !== '');

/** Returns true if each word begins a word of a name. */
const hasAll = (name: string, words: readonly string[]): boolean =>
  words.every((word) => ` ${plain(name)}`.includes(` ${word}`));

/** Creates a search for zones, by their own names, or else by the names of their times in a language. */
export function createZoneSearch(zones: readonly string[], language: string): (text: string) => readonly string[] {
  // Some hundred milliseconds for all zones: only for users who search for it.
  let called: ReadonlyMap<string, string> | undefined;
  const inJanuary = new Date(Date.UTC(new Date().getUTCFullYear(), 0, 15));
  const namesOfTimes = () =>
    (called ??= new Map(zones.map((zone) => [zone, nameOf(zone, language, 'long', inJanuary)])));
  return (text) => {
    const words = wordsOf(text);
    const found = zones.filter((zone) => hasAll(zone, words));
    return found.length > 0 ? found : zones.filter((zone) => hasAll(namesOfTimes().get(zone) ?? '', words));
  };
}

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
