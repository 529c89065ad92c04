import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/client.ts';
import type { Channel } from './conversation.ts';

export type Sender = { readonly value: string; readonly label: string };

const MAX_SENDERS = 200;

/** The account's WhatsApp numbers. */
async function listWhatsappSenders(signal: AbortSignal): Promise<readonly Sender[]> {
  const { data } = await ok(
    api.GET('/api/message-server/whatsapp/phone-numbers', { params: { query: { limit: MAX_SENDERS } }, signal }),
  );
  return data.map(({ phoneNumberId, displayPhoneNumber, verifiedName }) => ({
    value: phoneNumberId,
    label: [verifiedName, displayPhoneNumber ?? phoneNumberId].filter((word) => word !== '').join(' · '),
  }));
}

/** The account's launched RCS agents. */
async function listRcsSenders(signal: AbortSignal): Promise<readonly Sender[]> {
  const { data } = await ok(
    api.GET('/api/message-server/rcs/agents', { params: { query: { limit: MAX_SENDERS } }, signal }),
  );
  return data.flatMap(({ agentId, displayName, status }) =>
    agentId === null || status !== 'LAUNCHED' ? [] : [{ value: agentId, label: displayName }],
  );
}

const FRESH_MS = 300_000;

/** The senders of a channel; no API lists SMS senders. */
export const sendersQuery = (channel: Channel) =>
  queryOptions({
    queryKey: ['senders', channel],
    queryFn: ({ signal }) => (channel === 'RCS' ? listRcsSenders(signal) : listWhatsappSenders(signal)),
    staleTime: FRESH_MS,
  });
