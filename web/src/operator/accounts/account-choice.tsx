import { Radio, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Search } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { listAccounts } from './account.ts';

const MAX_OPTIONS = 6;
const TYPING_MS = 250;

type AccountChoiceProps = {
  readonly label: string;
  /** The ID as a string; '' if none is chosen. */
  readonly value?: string;
  readonly onChange: (id: string) => void;
  readonly error?: ReactNode;
  /** An additional option, such as "All accounts". */
  readonly also?: { readonly value: string; readonly label: string };
};

/** A searchable select for an account; it lists the first matches only. */
export function AccountChoice({ label, value = '', onChange, error, also }: AccountChoiceProps) {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useState('');
  const [debounced] = useDebouncedValue(search.trim(), TYPING_MS);
  const { data } = useQuery({
    queryKey: ['operator', 'accounts', 'choice', debounced],
    queryFn: ({ signal }) =>
      listAccounts({ page: 0, limit: MAX_OPTIONS, sort: 'name', ...(debounced && { search: debounced }) }, signal),
    placeholderData: keepPreviousData,
  });
  const hidden = (data?.total ?? 0) - (data?.data.length ?? 0);
  return (
    <Radio.Group label={label} value={value} onChange={onChange} error={error}>
      <Stack gap="xs" mt={4}>
        <TextInput
          aria-label={t('account.search')}
          placeholder={t('account.search')}
          leftSection={<Search size={16} aria-hidden="true" />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        {also && <Radio value={also.value} label={also.label} />}
        {data?.data.map(({ id, name }) => (
          <Radio key={id} value={String(id)} label={<bdi>{name}</bdi>} />
        ))}
        {hidden > 0 && (
          <Text size="xs" c="dimmed">
            {t('account.more', { count: hidden })}
          </Text>
        )}
      </Stack>
    </Radio.Group>
  );
}
