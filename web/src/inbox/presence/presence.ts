import { type QueryClient, useQuery } from '@tanstack/react-query';
import { use, useEffect } from 'react';
import { useSession } from '../../api/session.ts';
import { useNow } from '../../ui/values/use-now.ts';
import { DraftsContext } from '../drafts.ts';
import { NEED } from '../conversation.ts';
import { type Activity, reportPresence } from '../desk/tools.ts';

/** Presence of another user in a conversation. `at` is when this browser was notified. */
type Sighting = { readonly username: string; readonly activity: Activity; readonly at: number };
export type LivePresence = { readonly chatId: string; readonly username: string; readonly activity: Activity };

const REPORT_MS = 10_000;
/** Validity of a sighting: two and a half report intervals. */
const COUNTS_MS = 25_000;
const PAUSE_MS = 5_000;

const keyOf = (chatId: string) => ['presence', chatId] as const;
const NOBODY: readonly Sighting[] = [];

/** Stores an event of the stream about a user in a conversation. */
export function storePresence(queries: QueryClient, { chatId, username, activity }: LivePresence): void {
  queries.setQueryData<readonly Sighting[]>(keyOf(chatId), (before = NOBODY) => [
    ...before.filter((one) => one.username !== username),
    ...(activity === 'LEFT' ? [] : [{ username, activity, at: Date.now() }]),
  ]);
}

/** The colleagues who look at a conversation or type in it now. */
export function useColleagues(chatId: string): readonly Sighting[] {
  const { user } = useSession();
  const now = useNow(1_000);
  const { data = NOBODY } = useQuery({ queryKey: keyOf(chatId), queryFn: () => NOBODY, enabled: false });
  return data.filter(({ username, at }) => username !== user.username && now.getTime() - at < COUNTS_MS);
}

/**
 * Reports to colleagues that the user looks at a conversation, or types in it, while it is open in a visible window.
 */
export function useReportPresence(chatId: string): void {
  const drafts = use(DraftsContext);
  const mayWrite = useSession().may(NEED);
  useEffect(() => {
    if (!mayWrite) return;
    let typedAt = 0;
    let text = drafts.get(chatId).text;
    let last: Activity = 'LOOKING';
    const report = (activity: Activity): void => {
      last = activity;
      // Presence is a courtesy: the next report follows within seconds.
      reportPresence(chatId, activity).catch(() => undefined);
    };
    report('LOOKING');
    const stopListening = drafts.listen(() => {
      const next = drafts.get(chatId).text;
      if (next === text) return;
      text = next;
      typedAt = next === '' ? 0 : Date.now();
      if (next !== '' && last !== 'TYPING') report('TYPING');
    });
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') report(Date.now() - typedAt < PAUSE_MS ? 'TYPING' : 'LOOKING');
    }, REPORT_MS);
    return () => {
      stopListening();
      clearInterval(timer);
      report('LEFT');
    };
  }, [chatId, drafts, mayWrite]);
}
