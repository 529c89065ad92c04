import { queryOptions } from '@tanstack/react-query';
import { api, ok } from './send.ts';

const MS = '/api/message-server';
/** The maximum number of options in a select. */
const MAX_OPTIONS = 1000;
const FRESH_MS = 60_000;

export type Network = 'WHATSAPP' | 'RCS';
export type Option = { readonly value: string; readonly label: string };

/** An approved template as an option of a form. */
export type TemplateOption = Option & {
  /** The names of its values: `1`, `header.1`, `first_name`. */
  readonly placeholders: readonly string[];
  /** Values for them in campaigns, in the same order: the name of a contact field, with `|` and a default value. */
  readonly variables: readonly string[];
  /** True if the header needs a file that the template itself does not provide. */
  readonly wantsFile: boolean;
  /** The labels of its buttons. */
  readonly buttons: readonly string[];
};

const all = { page: 0, limit: MAX_OPTIONS };
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

async function listTemplates(channel: Network, signal: AbortSignal): Promise<readonly TemplateOption[]> {
  const query = { ...all, status: 'APPROVED' };
  if (channel === 'WHATSAPP') {
    const { data } = await ok(api.GET(`${MS}/whatsapp/templates`, { params: { query }, signal }));
    return data.map(({ id, name, language, placeholders, variables, components, headerLink }) => ({
      value: id,
      label: `${name} (${language})`,
      placeholders,
      variables,
      buttons: buttonsIn(components),
      wantsFile: headerLink === null && components.some(isFileHeader),
    }));
  }
  const { data } = await ok(api.GET(`${MS}/rcs/templates`, { params: { query }, signal }));
  return data.map(({ id, name, placeholders, variables, content }) => ({
    value: id,
    label: name,
    placeholders,
    variables,
    wantsFile: false,
    buttons: buttonsIn(content),
  }));
}

const FILES: readonly unknown[] = ['IMAGE', 'VIDEO', 'DOCUMENT'];
const isFileHeader = ({ type, format }: Readonly<Record<string, unknown>>): boolean =>
  type === 'HEADER' && FILES.includes(format);

/**
 * The button labels in the content of either network, at any depth: `buttons: [{ text }]` or `suggestions: [{ reply |
 * action: { text } }]`.
 */
function buttonsIn(content: unknown): readonly string[] {
  if (Array.isArray(content)) return content.flatMap(buttonsIn);
  if (!isRecord(content)) return [];
  return Object.entries(content).flatMap(([name, inner]) =>
    Array.isArray(inner) && (name === 'buttons' || name === 'suggestions') ? inner.flatMap(labelsOf) : buttonsIn(inner),
  );
}

function labelsOf(button: unknown): readonly string[] {
  const action = isRecord(button) ? (button['reply'] ?? button['action'] ?? button) : null;
  return isRecord(action) && typeof action['text'] === 'string' ? [action['text']] : [];
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** The contact field of an entry of `variables`, without its default value. */
export const fieldOf = (variable: string): string => variable.split('|', 1)[0] ?? '';

/** The account's senders: WhatsApp numbers or launched RCS agents. */
export const senderQuery = (channel: Network) =>
  queryOptions({
    queryKey: ['senders', channel],
    queryFn: ({ signal }) => listSenders(channel, signal),
    staleTime: FRESH_MS,
  });

/** The approved templates of a network; others cannot be sent. */
export const templateQuery = (channel: Network) =>
  queryOptions({
    queryKey: ['templates', channel, 'approved'],
    queryFn: ({ signal }) => listTemplates(channel, signal),
    staleTime: FRESH_MS,
  });
