import { useEffect, useState } from 'react';

/**
 * Returns true if this tab is the one that works for all tabs of the console in this browser: one at a time, and
 * another when it is closed. Browsers open six connections to a server (HTTP/1.1), so each tab cannot hold its own for
 * good. Without a secure context, where there are no locks, each tab works for itself.
 */
export function useLeader(name: string): boolean {
  const [isLeader, setLeader] = useState(!('locks' in navigator));
  useEffect(() => {
    if (!('locks' in navigator)) return;
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    const waiting = new AbortController();
    const lead = async (): Promise<void> => {
      setLeader(true);
      await left;
    };
    // Rejects when the tab leaves before its turn.
    navigator.locks.request(name, { signal: waiting.signal }, lead).catch(() => undefined);
    return () => {
      waiting.abort();
      leave();
      setLeader(false);
    };
  }, [name]);
  return isLeader;
}
