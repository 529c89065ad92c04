import { api, ok } from '../../api/client.ts';

const SESSIONS = '/api/partner-gateway/v1/sessions';

type Query = { readonly page: number; readonly limit: number; readonly all?: boolean };

export const listSessions = (query: Query, signal?: AbortSignal) =>
  ok(api.GET(SESSIONS, { params: { query }, ...(signal && { signal }) }));

/** One session. */
export type Entry = Awaited<ReturnType<typeof listSessions>>['data'][number];

export const endSession = (id: number) => ok(api.DELETE(`${SESSIONS}/{id}`, { params: { path: { id } } }));

/** Ends the user's other sessions and returns their number. */
export async function endOthers(): Promise<number> {
  return (await ok(api.DELETE(SESSIONS))).ended;
}
