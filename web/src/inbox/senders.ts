import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/client.ts';
import type { Channel } from './conversation.ts';

export type Sender = { readonly value: string; readonly label: string };

const MOST = 200;

/** The numbers that the account may write as on WhatsApp. */
async function listWhatsappSenders(signal: AbortSignal): Promise<readonly Sender[]> {
  const { data } = await ok(
    api.GET('/api/message-server/whatsapp/phone-numbers', { params: { query: { limit: MOST } }, signal }),
  );
  return data.map(({ phoneNumberId, displayPhoneNumber, verifiedName }) => ({
    value: phoneNumberId,
    label: [verifiedName, displayPhoneNumber ?? phoneNumberId].filter((word) => word !== '').join(' · '),
  }));
}

/** The agents that the account may write as on RCS: those that are launched. */
async function listRcsSenders(signal: AbortSignal): Promise<readonly Sender[]> {
  const { data } = await ok(api.GET('/api/message-server/rcs/agents', { params: { query: { limit: MOST } }, signal }));
  return data.flatMap(({ agentId, displayName, status }) =>
    agentId === null || status !== 'LAUNCHED' ? [] : [{ value: agentId, label: displayName }],
  );
}

const FRESH_MS = 300_000;

/** As whom one may write on a channel; nothing lists the senders of SMS. */
export const sendersQuery = (channel: Channel) =>
  queryOptions({
    queryKey: ['senders', channel],
    queryFn: ({ signal }) => (channel === 'RCS' ? listRcsSenders(signal) : listWhatsappSenders(signal)),
    staleTime: FRESH_MS,
  });
