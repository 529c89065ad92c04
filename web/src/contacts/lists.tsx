import { Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { GuardedButton, GuardedIcon } from '../ui/actions.tsx';
import { Section, TextLink } from '../ui/parts.tsx';
import { CONTACTS, type Contact, listsQuery, NEED } from './contact.ts';

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
        {lists.data && there.length === 0 && (
          <Text size="sm" c="dimmed">
            {t('detail.noList')}
          </Text>
        )}
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
  const lists = useQuery(listsQuery);
  const [list, setList] = useState('');
  const join = useAction({
    run: (listId: number) => ok(api.POST(MEMBERS, { body: { listIds: [listId], contactIds: [id] } })),
    refresh: [['lists'], ['contacts', 'list']],
    onDone: () => setList(''),
  });
  const others = (lists.data?.data ?? []).filter((each) => !there.includes(each.id));
  if (others.length === 0) return null;
  return (
    <Group gap="xs" wrap="nowrap" mt="xs">
      <NativeSelect
        aria-label={t('detail.join')}
        data={[
          { value: '', label: t('detail.join') },
          ...others.map((each) => ({ value: String(each.id), label: each.name })),
        ]}
        value={list}
        onChange={(event) => setList(event.currentTarget.value)}
        style={{ flex: 1 }}
      />
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
