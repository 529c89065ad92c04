import { Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { GuardedButton, GuardedIcon } from '../ui/actions.tsx';
import { ListSelect } from '../ui/list-select.tsx';
import { Muted, Section, TextLink } from '../ui/parts.tsx';
import { CONTACTS, type Contact, NEED } from './contact.ts';

const MEMBERS = `${CONTACTS}/list/contacts` as const;
const MAX_LISTS = 1000;

/** The lists of the contact; adds it to others and removes it from these. */
export function Lists({ contact: { id } }: { readonly contact: Contact }) {
  const { t } = useTranslation('contacts');
  const lists = useQuery({
    queryKey: ['lists', 'of', id],
    queryFn: ({ signal }) =>
      ok(api.GET(`${CONTACTS}/list`, { params: { query: { contactIds: String(id), limit: MAX_LISTS } }, signal })),
  });
  const refresh = [['lists'], ['contacts', 'list']];
  const remove = useAction({
    run: (listId: number) => ok(api.DELETE(MEMBERS, { body: { listIds: [listId], contactIds: [id] } })),
    refresh,
  });
  const there = lists.data?.data ?? [];
  return (
    <Section title={t('detail.lists')}>
      <Stack gap="xs">
        {lists.data && there.length === 0 && <Muted>{t('detail.noList')}</Muted>}
        {there.map((list) => (
          <Group key={list.id} justify="space-between" wrap="nowrap">
            <TextLink to={`/lists/${list.id}`} dir="auto" truncate>
              {list.name}
            </TextLink>
            <GuardedIcon need={NEED} label={t('detail.leave', { name: list.name })} onClick={() => remove.run(list.id)}>
              <X size={16} />
            </GuardedIcon>
          </Group>
        ))}
        <Join id={id} there={there.map((list) => list.id)} />
      </Stack>
    </Section>
  );
}

function Join({ id, there }: { readonly id: number; readonly there: readonly number[] }) {
  const { t } = useTranslation('contacts');
  const [list, setList] = useState('');
  const join = useAction({
    run: (listId: number) => ok(api.POST(MEMBERS, { body: { listIds: [listId], contactIds: [id] } })),
    refresh: [['lists'], ['contacts', 'list']],
    onDone: () => setList(''),
  });
  return (
    <Group gap="xs" wrap="nowrap" mt="xs">
      <div style={{ flex: 1 }}>
        <ListSelect
          aria-label={t('detail.join')}
          first={[{ value: '', label: t('detail.join') }]}
          without={there.map(String)}
          value={list}
          onChange={setList}
        />
      </div>
      <GuardedButton
        need={NEED}
        variant="default"
        loading={join.busy}
        reason={list === '' && t('bulk.chooseList')}
        onClick={() => join.run(Number(list))}
      >
        {t('detail.add')}
      </GuardedButton>
    </Group>
  );
}
