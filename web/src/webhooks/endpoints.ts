import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';

/** The permission that changing endpoints and resending events require. */
export const NEED: Need = { scope: 'webhooks', write: true };

export const WEBHOOKS = '/api/partner-gateway/v1/webhooks';
export const ENDPOINTS = `${WEBHOOKS}/endpoints` as const;
export const WEBHOOK_KEYS = [['webhooks']] as const;

const REFRESH_MS = 15_000;

const listEndpoints = (signal?: AbortSignal) => ok(api.GET(ENDPOINTS, { signal: signal ?? null }));
export type Endpoint = Awaited<ReturnType<typeof listEndpoints>>[number];

/** The account's endpoints; that of the specification, if there is one, first. */
export const endpointsQuery = queryOptions({
  queryKey: ['webhooks', 'endpoints'],
  queryFn: ({ signal }) => listEndpoints(signal),
  refetchInterval: REFRESH_MS,
});

const listTypes = (signal?: AbortSignal) => ok(api.GET(`${WEBHOOKS}/event-types`, { signal: signal ?? null }));
export type EventType = Awaited<ReturnType<typeof listTypes>>[number];

/** The types of events, which change only with the program. */
export const typesQuery = queryOptions({
  queryKey: ['webhooks', 'types'],
  queryFn: ({ signal }) => listTypes(signal),
  staleTime: Number.POSITIVE_INFINITY,
});
