import { api, ok } from '../api/client.ts';
import type { ListSearch } from '../ui/table/data-table.tsx';
import type { Tone } from '../ui/values/status-badge.tsx';
import { MS } from './account.ts';

export const CHANNELS = ['WHATSAPP', 'RCS'] as const;
export type TemplateChannel = (typeof CHANNELS)[number];
export const STATES = ['APPROVED', 'PENDING', 'REJECTED', 'PAUSED'] as const;

/** The network may report further statuses, which get a neutral tone. */
export const TONES: Readonly<Record<string, Tone>> = {
  APPROVED: 'good',
  PENDING: 'progress',
  IN_APPEAL: 'progress',
  REJECTED: 'bad',
  DISABLED: 'bad',
  PAUSED: 'paused',
  DELETED: 'neutral',
};

type Search = ListSearch & { readonly q: string; readonly status: string };

const queryOf = ({ page, limit, q, status }: Search) => ({
  page,
  limit,
  ...(q !== '' && { search: q }),
  ...(status !== '' && { status }),
});

const listWhatsapp = (search: Search, signal: AbortSignal) =>
  ok(api.GET(`${MS}/whatsapp/templates`, { params: { query: queryOf(search) }, signal }));
const listRcs = (search: Search, signal: AbortSignal) =>
  ok(api.GET(`${MS}/rcs/templates`, { params: { query: queryOf(search) }, signal }));

type WhatsappTemplate = Awaited<ReturnType<typeof listWhatsapp>>['data'][number];
type RcsTemplate = Awaited<ReturnType<typeof listRcs>>['data'][number];

/** A template of either channel; fields that RCS templates lack are null. */
export type Template = Pick<
  RcsTemplate,
  'id' | 'name' | 'status' | 'placeholders' | 'variables' | 'common' | 'updatedAt'
> & {
  readonly channel: TemplateChannel;
  readonly language: string | null;
  readonly category: string | null;
  /** Reason why the network rejected or paused it. */
  readonly reason: string | null;
  /** The network's rating of people's reactions to it. */
  readonly quality: 'GREEN' | 'YELLOW' | 'RED' | 'UNKNOWN' | null;
  readonly content: Content;
};

/** The text that a recipient reads. */
export type Content = {
  readonly title: string;
  readonly text: string;
  readonly footer: string;
  readonly buttons: readonly string[];
};

export async function listTemplates(channel: TemplateChannel, search: Search, signal: AbortSignal) {
  if (channel === 'RCS') {
    const page = await listRcs(search, signal);
    return { ...page, data: page.data.map(fromRcs) };
  }
  const page = await listWhatsapp(search, signal);
  return { ...page, data: page.data.map(fromWhatsapp) };
}

const fromWhatsapp = (template: WhatsappTemplate): Template => ({
  ...template,
  channel: 'WHATSAPP',
  content: {
    title: textOf(partOf(template.components, 'HEADER'), 'text'),
    text: textOf(partOf(template.components, 'BODY'), 'text'),
    footer: textOf(partOf(template.components, 'FOOTER'), 'text'),
    buttons: listOf(partOf(template.components, 'BUTTONS'), 'buttons').map((button) => textOf(button, 'text')),
  },
});

const fromRcs = (template: RcsTemplate): Template => {
  const { content } = template;
  const card = memberOf(memberOf(memberOf(content, 'richCard'), 'standaloneCard'), 'cardContent');
  const chips = listOf(content, 'suggestions').map((each) => memberOf(each, 'reply') ?? memberOf(each, 'action'));
  return {
    ...template,
    channel: 'RCS',
    language: null,
    category: null,
    reason: null,
    quality: null,
    content: {
      title: textOf(card, 'title'),
      text: textOf(content, 'text') || textOf(card, 'description'),
      footer: '',
      buttons: chips.map((chip) => textOf(chip, 'text')),
    },
  };
};

/** A member of a JSON value from a network, whose format is not guaranteed; undefined if there is none. */
function memberOf(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null ? Reflect.get(json, name) : undefined;
}

function textOf(json: unknown, name: string): string {
  const value = memberOf(json, name);
  return typeof value === 'string' ? value : '';
}

function listOf(json: unknown, name: string): readonly unknown[] {
  const value = memberOf(json, name);
  return Array.isArray(value) ? value : [];
}

const partOf = (components: readonly unknown[], type: string): unknown =>
  components.find((component) => textOf(component, 'type').toUpperCase() === type);

export const deleteTemplate = ({ channel, id }: Template) =>
  channel === 'RCS'
    ? ok(api.DELETE(`${MS}/rcs/templates/{id}`, { params: { path: { id } } }))
    : ok(api.DELETE(`${MS}/whatsapp/templates/{id}`, { params: { path: { id } } }));
