import { Group, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { Search } from '../conversation.ts';
import { searchMessages } from '../desk/tools.ts';
import classes from '../inbox.module.css';
import { ROW } from '../use-keys.ts';
import { ShortTime } from './short-time.tsx';

/** The messages with the searched words, of all conversations, archived ones included. */
export function FoundMessages({ search }: { readonly search: Search }) {
  const { t } = useTranslation('inbox');
  const { data = [] } = useQuery({
    queryKey: ['inbox', 'found', search.q],
    queryFn: ({ signal }) => searchMessages(search.q, signal),
    placeholderData: keepPreviousData,
  });
  if (data.length === 0) return null;
  return (
    <nav aria-label={t('found.title')}>
      <Text size="xs" fw={600} c="dimmed" px={12} pt={12} pb={4}>
        {t('found.title')}
      </Text>
      <ul className={classes.rows}>
        {data.map(({ message, conversation }) => (
          <li key={message.id}>
            <Link
              to="."
              search={() => ({ ...search, chat: conversation.chatId })}
              preload={false}
              className={classes.row}
              {...{ [ROW]: conversation.chatId }}
            >
              <div className={classes.rowText}>
                <Group gap="xs" wrap="nowrap" justify="space-between">
                  <Text size="sm" fw={550} truncate dir="auto">
                    {conversation.contact.name}
                  </Text>
                  <ShortTime value={message.timestamp} />
                </Group>
                <Text size="sm" c="dimmed" lineClamp={2} dir="auto">
                  {message.direction === 'OUTBOUND' ? t('you', { text: message.text }) : message.text}
                </Text>
              </div>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
