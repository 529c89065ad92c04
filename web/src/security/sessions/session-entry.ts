import { api, ok } from '../../api/client.ts';

const SESSIONS = '/api/partner-gateway/v1/sessions';

type Query = { readonly page: number; readonly limit: number; readonly all?: boolean };

export const listSessions = (query: Query, signal?: AbortSignal) =>
  ok(api.GET(SESSIONS, { params: { query }, ...(signal && { signal }) }));

/** One session. */
export type Entry = Awaited<ReturnType<typeof listSessions>>['data'][number];

export const endSession = (id: number) => ok(api.DELETE(`${SESSIONS}/{id}`, { params: { path: { id } } }));

const MAX_SESSIONS = 100;

/**
 * Ends the user's other sessions and returns how many. It always fetches the first page, because ended sessions leave
 * it.
 */
export async function endOthers(): Promise<number> {
  let ended = 0;
  for (;;) {
    const { data } = await listSessions({ page: 0, limit: MAX_SESSIONS });
    const others = data.filter(({ current }) => !current);
    if (others.length === 0) return ended;
    await Promise.all(others.map(({ id }) => endSession(id)));
    ended += others.length;
  }
}
