import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/client.ts';

const MS = '/api/message-server';
/** What a list to choose from holds at most. */
const MOST = 1000;
const FRESH_MS = 60_000;

type Network = 'WHATSAPP' | 'RCS';
export type Option = { readonly value: string; readonly label: string };

const all = { page: 0, limit: MOST };
const params = { query: all };

async function listSenders(channel: Network, signal: AbortSignal): Promise<readonly Option[]> {
  if (channel === 'WHATSAPP') {
    const { data } = await ok(api.GET(`${MS}/whatsapp/phone-numbers`, { params, signal }));
    return data.map(({ phoneNumberId: value, verifiedName, displayPhoneNumber }) => ({
      value,
      label: displayPhoneNumber === null ? verifiedName : `${verifiedName} (${displayPhoneNumber})`,
    }));
  }
  const { data } = await ok(api.GET(`${MS}/rcs/agents`, { params, signal }));
  return data.flatMap(({ agentId, displayName }) => (agentId === null ? [] : [{ value: agentId, label: displayName }]));
}

async function listTemplates(channel: Network, signal: AbortSignal): Promise<readonly Option[]> {
  const query = { ...all, status: 'APPROVED' };
  if (channel === 'WHATSAPP') {
    const { data } = await ok(api.GET(`${MS}/whatsapp/templates`, { params: { query }, signal }));
    return data.map(({ id, name, language }) => ({ value: id, label: `${name} (${language})` }));
  }
  const { data } = await ok(api.GET(`${MS}/rcs/templates`, { params: { query }, signal }));
  return data.map(({ id, name }) => ({ value: id, label: name }));
}

/** Whom the account may send as: numbers of WhatsApp, launched agents of RCS. */
export const senderQuery = (channel: Network) =>
  queryOptions({
    queryKey: ['senders', channel],
    queryFn: ({ signal }) => listSenders(channel, signal),
    staleTime: FRESH_MS,
  });

/** Approved templates: others are not sent. */
export const templateQuery = (channel: Network) =>
  queryOptions({
    queryKey: ['templates', channel, 'approved'],
    queryFn: ({ signal }) => listTemplates(channel, signal),
    staleTime: FRESH_MS,
  });
