import { ActionIcon, Button, Group, type GroupProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ArrowLeft, ChevronLeft, ChevronRight } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { CAMPAIGNS } from './campaign.ts';
import { contentOf, type Draft } from './draft.ts';

const TYPING_MS = 400;
/** The maximum number of destinations that the server previews. */
const MAX_NUMBERS = 1000;
/** The maximum offset that the server previews. */
export const MAX_OFFSET = 1000;

type Range = { readonly limit: number; readonly offset: number };
type Content = ReturnType<typeof contentOf> & Range;

const preview = (body: Content, signal: AbortSignal) => ok(api.POST(`${CAMPAIGNS}/preview`, { body, signal }));

export type Preview = Awaited<ReturnType<typeof preview>>;
export type Sample = Preview['data'][number];
type SampleStep = Sample['steps'][number];

/** Messages of the draft to some of its recipients, updated shortly after each change. Nothing is stored. */
export function usePreview(draft: Draft, range: Range) {
  const content = contentOf(draft);
  const body = { ...content, destinations: content.destinations.slice(0, MAX_NUMBERS), ...range };
  const [asked] = useDebouncedValue(JSON.stringify(body), TYPING_MS);
  return useQuery({
    queryKey: ['campaign-preview', asked],
    queryFn: ({ signal }) => preview(body, signal),
    placeholderData: keepPreviousData,
  });
}

/** The characters, parts and encoding of a text as an SMS. */
export const usePartsOf = (text: string, encoding: 'auto' | 'smart' = 'auto') =>
  useQuery({
    queryKey: ['sms-parts', text, encoding],
    queryFn: ({ signal }) =>
      ok(api.POST('/api/partner-gateway/v1/messages/preview', { body: { channel: 'SMS', text, encoding }, signal })),
    enabled: text !== '',
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The first channel on which a recipient is tried; null if none. */
export const firstStepOf = ({ steps, skip }: Sample): SampleStep | null =>
  skip === null ? (steps.find(({ reachable }) => reachable) ?? null) : null;

/** The price of one message; null if there is none. */
export const priceOf = ({ parts, unitPrice }: Pick<SampleStep, 'parts' | 'unitPrice'>): number | null =>
  unitPrice === null ? null : parts * unitPrice;

type PagerProps = {
  readonly offset: number;
  readonly pageSize: number;
  /** True if there are more behind this page. The server lists no further than `MAX_OFFSET`. */
  readonly hasMore: boolean;
  readonly onChange: (offset: number) => void;
} & Pick<GroupProps, 'justify'>;

/** The buttons to the page of recipients before and behind this one. */
export function Pager({ offset, pageSize, hasMore, onChange, justify }: PagerProps) {
  const { t } = useTranslation('campaigns');
  const next = offset + pageSize;
  return (
    <Group gap="xs" justify={justify}>
      <ActionIcon
        variant="default"
        aria-label={t('samples.previous')}
        disabled={offset === 0}
        onClick={() => onChange(Math.max(0, offset - pageSize))}
      >
        <ChevronLeft size={16} />
      </ActionIcon>
      <ActionIcon
        variant="default"
        aria-label={t('samples.next')}
        disabled={!hasMore || next > MAX_OFFSET}
        onClick={() => onChange(next)}
      >
        <ChevronRight size={16} />
      </ActionIcon>
    </Group>
  );
}

/** Button to the previous step. */
export function BackButton({ onClick }: { readonly onClick: () => void }) {
  const { t } = useTranslation('campaigns');
  return (
    <Button variant="default" leftSection={<ArrowLeft size={16} />} onClick={onClick}>
      {t('editor.back')}
    </Button>
  );
}
