import { useQuery } from '@tanstack/react-query';
import { listAssignable } from './conversation.ts';

type Assignable = Awaited<ReturnType<typeof listAssignable>>[number];

const NOBODY: readonly Assignable[] = [];
const FRESH_MS = 60_000;

/** The users to whom conversations can be assigned, by name; empty while loading. */
export function useAssignable(): readonly Assignable[] {
  const { data = NOBODY } = useQuery({
    queryKey: ['assignable-users'],
    queryFn: ({ signal }) => listAssignable(signal),
    staleTime: FRESH_MS,
  });
  return data;
}
