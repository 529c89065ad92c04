import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Building2, Megaphone, MessageSquareText, User } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { useFormat } from '../ui/values/format.ts';
import type { Entry } from './entry.ts';

const MAX_ACCOUNTS = 5;
/** Minimum length of a text: a single letter is in almost every name. */
const MIN_LENGTH = 2;

type Found = {
  readonly entries: readonly Entry[];
  readonly isSearching: boolean;
  /** True if the entries are still those of the previous text. */
  readonly isOld: boolean;
  readonly error: unknown;
};

/** Results of the server for a text: a message, contacts, campaigns, and for operators accounts. */
export function useFound(text: string): Found {
  const { may, isOperator } = useSession();
  const isLong = text.length >= MIN_LENGTH;
  const searches = may({ scope: 'tracking' }) || may({ scope: 'contacts' }) || may({ scope: 'campaigns' });
  const things = useQuery({
    queryKey: ['search', text],
    queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/search', { params: { query: { q: text } }, signal })),
    enabled: isLong && searches,
    placeholderData: keepPreviousData,
  });
  const accounts = useQuery({
    queryKey: ['operator', 'accounts', 'search', text],
    queryFn: ({ signal }) =>
      ok(
        api.GET('/api/operator/v1/accounts', {
          params: { query: { page: 0, limit: MAX_ACCOUNTS, search: text } },
          signal,
        }),
      ),
    enabled: isLong && isOperator,
    placeholderData: keepPreviousData,
  });
  const toThings = useThingEntries();
  if (!isLong) return { entries: [], isSearching: false, isOld: false, error: null };
  return {
    entries: [...toThings(things.data), ...(accounts.data?.data ?? []).map(accountEntry)],
    isSearching: things.isFetching || accounts.isFetching,
    isOld: things.isPlaceholderData || accounts.isPlaceholderData,
    error: things.error ?? accounts.error,
  };
}

type Things = {
  readonly messages: readonly { messageId: string; channel: string; destination: string; deliveryStatus: string }[];
  readonly contacts: readonly { id: number; name: string; phoneNumber: string | null }[];
  readonly campaigns: readonly { id: number; name: string; createdAt: string }[];
};

function useThingEntries(): (things: Things | undefined) => readonly Entry[] {
  const { t } = useTranslation('ui');
  const format = useFormat();
  return ({ messages, contacts, campaigns } = { messages: [], contacts: [], campaigns: [] }) => [
    ...messages.map(({ messageId, channel, destination, deliveryStatus }) => ({
      id: `message-${messageId}`,
      group: 'messages' as const,
      title: destination,
      detail: `${t(`channel.${channel}`)} · ${t(`messageStatus.${deliveryStatus}`)}`,
      icon: MessageSquareText,
      to: `/messages/${messageId}`,
    })),
    ...contacts.map(({ id, name, phoneNumber }) => ({
      id: `contact-${id}`,
      group: 'contacts' as const,
      title: name === '' ? (phoneNumber ?? String(id)) : name,
      detail: name === '' ? undefined : (phoneNumber ?? undefined),
      icon: User,
      to: `/contacts/${id}`,
    })),
    ...campaigns.map(({ id, name, createdAt }) => ({
      id: `campaign-${id}`,
      group: 'campaigns' as const,
      title: name,
      detail: format.exact(new Date(createdAt)),
      icon: Megaphone,
      to: `/campaigns/${id}`,
    })),
  ];
}

const accountEntry = ({ id, name }: { readonly id: number; readonly name: string }): Entry => ({
  id: `account-${id}`,
  group: 'accounts',
  title: name,
  detail: String(id),
  icon: Building2,
  to: `/operator/accounts/${id}`,
});
