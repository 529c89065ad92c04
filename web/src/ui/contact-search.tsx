import { Button, Group, Stack, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Check, Plus } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import classes from './choice-list.module.css';
import { SearchField } from './filter-bar.tsx';
import { MsisdnText } from './values.tsx';

const MAX_SHOWN = 8;

const findContacts = (search: string, signal: AbortSignal) =>
  ok(
    api.GET('/api/partner-gateway/v1/contacts', {
      params: { query: { search, limit: MAX_SHOWN, isValid: true } },
      signal,
    }),
  );

type Contact = Awaited<ReturnType<typeof findContacts>>['data'][number];
/** A contact with a valid number. */
export type FoundContact = { readonly name: string; readonly phoneNumber: string };
type ContactSearchProps = {
  /** The numbers that are already chosen. */
  readonly chosen: readonly string[];
  readonly onChoose: (contact: FoundContact) => void;
  /** Effect of the button of each contact: add it to the chosen ones, or choose it. */
  readonly kind?: 'add' | 'choose';
};

/** A search for contacts with a valid number, by name, number or email. */
export function ContactSearch({ chosen, onChoose, kind = 'add' }: ContactSearchProps) {
  const { t } = useTranslation('ui');
  const [search, setSearch] = useState('');
  const { data } = useQuery({
    queryKey: ['contacts', 'to-choose', search],
    queryFn: ({ signal }) => findContacts(search, signal),
    enabled: search.trim() !== '',
    placeholderData: keepPreviousData,
  });
  return (
    <Stack gap="xs">
      <SearchField wide={kind === 'choose'} label={t('contactSearch.search')} value={search} onChange={setSearch} />
      {search !== '' && data?.total === 0 && <Text size="sm">{t('contactSearch.noneFound')}</Text>}
      {search !== '' && data !== undefined && data.total > 0 && (
        <ul className={classes.lists} aria-label={t('contactSearch.label')}>
          {data.data.map((contact) => (
            <Found
              key={contact.id}
              contact={contact}
              kind={kind}
              isChosen={chosen.includes(contact.phoneNumber ?? '')}
              onChoose={onChoose}
            />
          ))}
        </ul>
      )}
    </Stack>
  );
}

type FoundProps = Required<Pick<ContactSearchProps, 'onChoose' | 'kind'>> & {
  readonly contact: Contact;
  readonly isChosen: boolean;
};

function Found({ contact: { name, phoneNumber }, kind, isChosen, onChoose }: FoundProps) {
  const { t } = useTranslation('ui');
  if (phoneNumber === null) return null;
  return (
    <li className={classes.list}>
      <Group gap="sm" style={{ minWidth: 0 }}>
        <Text size="sm" fw={500} dir="auto" className="foreign-text">
          {name}
        </Text>
        <Text size="sm" c="dimmed">
          <MsisdnText number={phoneNumber} />
        </Text>
      </Group>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={isChosen ? <Check size={14} /> : <Plus size={14} />}
        disabled={isChosen}
        onClick={() => onChoose({ name, phoneNumber })}
      >
        {t(`contactSearch.${isChosen ? 'chosen' : kind}`)}
      </Button>
    </li>
  );
}
