import { useLayoutEffect, useRef } from 'react';

/** So near to the end one looks at what is new, and goes along with it. */
const NEAR_PX = 40;

/**
 * For a thread that stands upside down (column-reverse), where the place is counted from the end: whoever has scrolled
 * up stays with what they read when a message is put behind it. `newest` and `count` say what is in the thread.
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
