import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';
import { CAMPAIGNS } from '../campaign.ts';
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
export type SampleStep = Sample['steps'][number];

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
export const usePartsOf = (text: string) =>
  useQuery({
    queryKey: ['sms-parts', text],
    queryFn: ({ signal }) =>
      ok(api.POST('/api/partner-gateway/v1/messages/preview', { body: { channel: 'SMS', text }, signal })),
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
