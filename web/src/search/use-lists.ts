import { MessageSquareText, Users } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import type { Entry } from './entry.ts';

/** A number worth a search: fewer digits are part of too many numbers. */
const NUMBER = /^[+\d][\d ().\-/]{2,29}$/;

/** The thorough searches of contacts and messages, for a text of which the results here are only the first. */
export function useLists(text: string): readonly Entry[] {
  const { t } = useTranslation('search');
  const { may } = useSession();
  const search = { q: text };
  const group = 'lists' as const;
  const contacts = {
    id: 'list-contacts',
    group,
    title: t('list.contacts', search),
    icon: Users,
    to: '/contacts',
    search,
  };
  const messages = {
    id: 'list-messages',
    group,
    title: t('list.messages', search),
    icon: MessageSquareText,
    to: '/messages',
    search,
  };
  return [
    ...(text !== '' && may({ scope: 'contacts' }) ? [contacts] : []),
    ...(NUMBER.test(text) && may({ scope: 'tracking' }) ? [messages] : []),
  ];
}
