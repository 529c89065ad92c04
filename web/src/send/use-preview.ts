import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { previewOf } from './bodies.ts';
import type { Channel, Draft } from './draft.ts';
import { type Preview, previewQuery } from './message.ts';

const TYPING_MS = 300;
const NONE: readonly string[] = [];

/** The preview of the message, updated shortly after each change; undefined until it is known. */
export function usePreview(channel: Channel, draft: Draft, placeholders = NONE): Preview | undefined {
  const body = useMemo(() => previewOf(channel, draft, placeholders), [channel, draft, placeholders]);
  const [asked] = useDebouncedValue(body, TYPING_MS);
  const { data } = useQuery({ ...previewQuery(asked), placeholderData: keepPreviousData });
  return data?.channel === channel ? data : undefined;
}
