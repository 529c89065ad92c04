import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import type { Need } from '../api/session.ts';

/** The permission that changing the webhook and resending events require. */
export const NEED: Need = { scope: 'webhooks', write: true };

export const FORM_A = '/api/partner-gateway/v1/webhooks/delivery-status';
export const FORM_B = '/api/webhooks/delivery-status';

const REFRESH_MS = 15_000;

const findWebhook = (signal: AbortSignal) => ok(api.GET(FORM_A, { signal }));
export type Webhook = Awaited<ReturnType<typeof findWebhook>>;

/** The account's webhook; null if it has none. */
export const webhookQuery = queryOptions({
  queryKey: ['webhooks', 'registered'],
  queryFn: ({ signal }): Promise<Webhook | null> =>
    findWebhook(signal).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }),
  refetchInterval: REFRESH_MS,
});

export type State = 'active' | 'failing' | 'disabled';

export const stateOf = ({ status, failingSince }: Webhook): State =>
  status === 'disabled' ? 'disabled' : failingSince === null ? 'active' : 'failing';
