import { api, ok } from '../../api/client.ts';

const SESSIONS = '/api/partner-gateway/v1/sessions';

type Query = { readonly page: number; readonly limit: number; readonly all?: boolean };

export const listSessions = (query: Query, signal?: AbortSignal) =>
  ok(api.GET(SESSIONS, { params: { query }, ...(signal && { signal }) }));

/** Where somebody is signed in. */
export type Entry = Awaited<ReturnType<typeof listSessions>>['data'][number];

export const endSession = (id: number) => ok(api.DELETE(`${SESSIONS}/{id}`, { params: { path: { id } } }));

const MOST = 100;

/** Ends one's own sessions but the one that asks; answers how many. Each that ends leaves room for one not seen yet. */
export async function endOthers(): Promise<number> {
  let ended = 0;
  for (;;) {
    const { data } = await listSessions({ page: 0, limit: MOST });
    const others = data.filter(({ current }) => !current);
    if (others.length === 0) return ended;
    await Promise.all(others.map(({ id }) => endSession(id)));
    ended += others.length;
  }
}
