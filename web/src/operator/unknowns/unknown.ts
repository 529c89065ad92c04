import { api, ok } from '../../api/client.ts';

const UNKNOWNS = '/api/operator/v1/unknowns';
/** The possible outcomes, most frequent first. */
export const VERDICTS = ['delivered', 'undeliverable', 'rejected', 'expired', 'not-sent'] as const;
export type Verdict = (typeof VERDICTS)[number];
/** The maximum number of messages that the server resolves per request. */
export const MAX_PER_REQUEST = 100;

type Listed = {
  readonly page: number;
  readonly limit: number;
  readonly accountId?: number;
  readonly connection?: string;
};
export const listUnknowns = (query: Listed, signal: AbortSignal) =>
  ok(api.GET(UNKNOWNS, { params: { query }, signal }));
export type Unknown = Awaited<ReturnType<typeof listUnknowns>>['data'][number];

export const settle = (messageIds: string[], as: Verdict) =>
  ok(api.POST(`${UNKNOWNS}/settle`, { body: { messageIds, as } }));

export const UNKNOWN_KEYS = [
  ['operator', 'unknowns'],
  ['operator', 'connections'],
  ['operator', 'overview'],
] as const;
