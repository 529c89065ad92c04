import { api, ok } from '../api/client.ts';

export type Sender = { readonly value: string; readonly label: string };

const MOST = 200;

/** The numbers that the account may write as on WhatsApp. */
export async function listWhatsappSenders(signal: AbortSignal): Promise<readonly Sender[]> {
  const { data } = await ok(
    api.GET('/api/message-server/whatsapp/phone-numbers', { params: { query: { limit: MOST } }, signal }),
  );
  return data.map(({ phoneNumberId, displayPhoneNumber, verifiedName }) => ({
    value: phoneNumberId,
    label: [verifiedName, displayPhoneNumber ?? phoneNumberId].filter((word) => word !== '').join(' · '),
  }));
}

/** The agents that the account may write as on RCS: those that are launched. */
export async function listRcsSenders(signal: AbortSignal): Promise<readonly Sender[]> {
  const { data } = await ok(api.GET('/api/message-server/rcs/agents', { params: { query: { limit: MOST } }, signal }));
  return data.flatMap(({ agentId, displayName, status }) =>
    agentId === null || status !== 'LAUNCHED' ? [] : [{ value: agentId, label: displayName }],
  );
}
