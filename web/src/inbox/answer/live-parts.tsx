import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';
import { PartsCounter } from '../../ui/message/parts-counter.tsx';

const TYPING_MS = 300;

/** The number of parts of an SMS as counted by the server, updated shortly after each change. */
export function LiveParts({ text }: { readonly text: string }) {
  const [settled] = useDebouncedValue(text, TYPING_MS);
  const { data } = useQuery({
    queryKey: ['preview', 'SMS', settled],
    queryFn: () =>
      ok(api.POST('/api/partner-gateway/v1/messages/preview', { body: { channel: 'SMS', text: settled } })),
    enabled: settled !== '',
    placeholderData: keepPreviousData,
    retry: false,
  });
  if (text === '' || data === undefined) return null;
  const { characters, parts, encoding, remaining, unsupported } = data;
  return (
    <PartsCounter
      characters={characters}
      parts={parts}
      encoding={encoding}
      remaining={remaining}
      unsupported={unsupported}
    />
  );
}
