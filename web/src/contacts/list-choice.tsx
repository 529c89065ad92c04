import { NativeSelect, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/client.ts';
import { CONTACTS, listsQuery } from './contact.ts';

/** The chosen list: its ID, `new` with a name, or '' for none. */
export type ListChoice = { readonly list: string; readonly name: string };
export const NO_LIST: ListChoice = { list: '', name: '' };
export const isComplete = ({ list, name }: ListChoice): boolean =>
  list !== '' && (list !== 'new' || name.trim() !== '');

type ListChoiceFieldProps = {
  readonly label: string;
  /** The label of the empty option. */
  readonly none: string;
  readonly value: ListChoice;
  readonly onChange: (value: ListChoice) => void;
  /** True if a new list can be created here. */
  readonly canBeNew?: boolean;
};

/** A select for a list, with a name field for a new one. */
export function ListChoiceField({ label, none, value, onChange, canBeNew = true }: ListChoiceFieldProps) {
  const { t } = useTranslation('contacts');
  const lists = useQuery(listsQuery);
  const there = (lists.data?.data ?? []).map(({ id, name }) => ({ value: String(id), label: name }));
  return (
    <Stack gap="sm">
      <NativeSelect
        label={label}
        data={[
          { value: '', label: none },
          ...(canBeNew ? [{ value: 'new', label: t('listChoice.new') }] : []),
          ...there,
        ]}
        value={value.list}
        onChange={(event) => onChange({ ...value, list: event.currentTarget.value })}
      />
      {value.list === 'new' && (
        <TextInput
          label={t('listChoice.name')}
          maxLength={200}
          value={value.name}
          onChange={(event) => onChange({ ...value, name: event.currentTarget.value })}
        />
      )}
    </Stack>
  );
}

/** Resolves with the ID of the chosen list, creating it if it is new; null for none. */
export async function idOfChoice({ list, name }: ListChoice): Promise<number | null> {
  if (list === '') return null;
  if (list !== 'new') return Number(list);
  return (await ok(api.POST(`${CONTACTS}/list`, { body: { name: name.trim() } }))).id;
}
