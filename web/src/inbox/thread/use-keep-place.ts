import { useLayoutEffect, useRef } from 'react';

/** Within this distance of the end, the view follows new messages. */
const NEAR_PX = 40;

/**
 * Keeps the place in a thread rendered with column-reverse, whose scroll position counts from the end: a user who has
 * scrolled up keeps their place when a message is appended. `newest` and `count` identify the content of the thread.
 */
export function useKeepPlace(newest: string | undefined, count: number) {
  const ref = useRef<HTMLDivElement>(null);
  const before = useRef<{ readonly newest: string | undefined; readonly height: number } | null>(null);
  useLayoutEffect(() => {
    const thread = ref.current;
    if (!thread) return;
    const last = before.current;
    const isBehind = last?.newest !== undefined && last.newest !== newest;
    if (isBehind && thread.scrollTop < -NEAR_PX) thread.scrollTop -= thread.scrollHeight - last.height;
    before.current = { newest, height: thread.scrollHeight };
  }, [newest, count]);
  return ref;
}
