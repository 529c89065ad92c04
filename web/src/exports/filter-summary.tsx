import { useTranslation } from 'react-i18next';
import { useFormat } from '../ui/values/format.ts';
import type { Export } from './export.ts';

type Filters = Export['filters'];

/** A summary of an export's filters: "SMS · Delivered · 14 Nov 2026 – 21 Nov 2026". */
export function FilterSummary({ filters }: { readonly filters: Filters }) {
  const { t } = useTranslation('exports');
  const parts = [...useSpan(filters), ...useChoices(filters)];
  return <span className="foreign-text">{parts.length > 0 ? parts.join(' · ') : t('filter.all')}</span>;
}

const textOf = (filters: Filters, name: string): string | null => {
  const value: unknown = Reflect.get(filters, name);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
};

const countOf = (filters: Filters, name: string): number => {
  const value: unknown = Reflect.get(filters, name);
  return Array.isArray(value) ? value.length : 0;
};

function useSpan(filters: Filters): string[] {
  const format = useFormat();
  const [from, to] = [textOf(filters, 'startDateTime'), textOf(filters, 'endDateTime')];
  if (from === null || to === null) return [];
  return [`${format.brief(new Date(from))} – ${format.brief(new Date(to))}`];
}

function useChoices(filters: Filters): string[] {
  const { t } = useTranslation('exports');
  const [channel, status] = [textOf(filters, 'channel'), textOf(filters, 'status')];
  const [sender, recipient] = [textOf(filters, 'sender'), textOf(filters, 'recipient')];
  const campaign = textOf(filters, 'campaignId');
  const lists = countOf(filters, 'listIds');
  const contacts = Number(textOf(filters, 'contactCount') ?? countOf(filters, 'contactIds'));
  return [
    ...(channel === null ? [] : [t(`ui:channel.${channel}`)]),
    ...(status === null ? [] : [t(`ui:messageStatus.${status}`)]),
    ...(sender === null ? [] : [t('filter.sender', { sender })]),
    ...(recipient === null ? [] : [t('filter.recipient', { recipient })]),
    ...(campaign === null ? [] : [t('filter.campaign', { id: campaign })]),
    ...(lists === 0 ? [] : [t('filter.lists', { count: lists })]),
    ...(contacts === 0 ? [] : [t('filter.contacts', { count: contacts })]),
  ];
}
