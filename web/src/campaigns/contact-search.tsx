import { Button, Group, Stack, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Check, Plus } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/client.ts';
import { SearchField } from '../ui/filter-bar.tsx';
import { MsisdnText } from '../ui/msisdn-text.tsx';
import classes from './list-choice.module.css';

const SHOWN = 8;

const findContacts = (search: string, signal: AbortSignal) =>
  ok(
    api.GET('/api/partner-gateway/v1/contacts', { params: { query: { search, limit: SHOWN, isValid: true } }, signal }),
  );

type Contact = Awaited<ReturnType<typeof findContacts>>['data'][number];
type ContactSearchProps = { readonly chosen: readonly string[]; readonly onAdd: (number: string) => void };

/** Contacts by name, number or address; those chosen are added by their numbers. */
export function ContactSearch({ chosen, onAdd }: ContactSearchProps) {
  const { t } = useTranslation('campaigns');
  const [search, setSearch] = useState('');
  const { data } = useQuery({
    queryKey: ['contacts', 'to-choose', search],
    queryFn: ({ signal }) => findContacts(search, signal),
    enabled: search.trim() !== '',
    placeholderData: keepPreviousData,
  });
  return (
    <Stack gap="xs">
      <SearchField label={t('contacts.search')} value={search} onChange={setSearch} />
      {search !== '' && data?.total === 0 && <Text size="sm">{t('contacts.noneFound')}</Text>}
      {search !== '' && data !== undefined && data.total > 0 && (
        <ul className={classes.lists} aria-label={t('contacts.label')}>
          {data.data.map((contact) => (
            <Found
              key={contact.id}
              contact={contact}
              isChosen={chosen.includes(contact.phoneNumber ?? '')}
              onAdd={onAdd}
            />
          ))}
        </ul>
      )}
    </Stack>
  );
}

type FoundProps = {
  readonly contact: Contact;
  readonly isChosen: boolean;
  readonly onAdd: (number: string) => void;
};

function Found({ contact: { name, phoneNumber }, isChosen, onAdd }: FoundProps) {
  const { t } = useTranslation('campaigns');
  if (phoneNumber === null) return null;
  return (
    <li className={classes.list}>
      <Group gap="sm" style={{ minWidth: 0 }}>
        <Text size="sm" fw={600} dir="auto" className="foreign-text">
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
        onClick={() => onAdd(phoneNumber)}
      >
        {t(isChosen ? 'contacts.added' : 'contacts.add')}
      </Button>
    </li>
  );
}
