import type { Content } from '../../carriers/content.ts';
import { componentsOf, PLACEHOLDER, placeholdersOf } from './placeholders.ts';
import type { Placeholder, Sendable } from './template.ts';

/** A template's texts with values in the places of its placeholders, and the file of its header. */
export type Filling = {
  /** One for each placeholder, in their order (`placeholdersOf`). */
  readonly values: readonly string[];
  readonly headerLink?: string | null | undefined;
};

/** What is sent of a template. A value that holds braces itself is sent as it is. */
export const composeContent = (template: Sendable, filling: Filling): Content =>
  template.channel === 'RCS'
    ? { channel: 'RCS', message: fillObject(template.content, lookUp(template, filling)) }
    : { channel: 'WHATSAPP', message: whatsappMessage(template, filling) };

/** What people read of it, for the history and the inbox: the texts one below the other. */
export function composeText(template: Sendable, filling: Filling): string {
  const placeholders = placeholdersOf(template);
  if (template.channel === 'RCS') return readable(fillObject(template.content, lookUp(template, filling)));
  return componentsOf(template.content)
    .filter(({ type, text }) => text !== '' && type !== 'BUTTONS')
    .map(({ type, text }) => fillText(text, valuesAt(type === 'HEADER' ? 'header' : 'body', placeholders, filling)))
    .join('\n');
}

type Values = (name: string) => string | undefined;

const lookUp = (template: Sendable, { values }: Filling): Values => {
  const byName = new Map(placeholdersOf(template).map(({ name }, i) => [name, values[i]]));
  return (name) => byName.get(name);
};

const valuesAt = (place: string, placeholders: readonly Placeholder[], { values }: Filling): Values => {
  const own = placeholders.flatMap((p, i) => (p.place === place ? [[p.name, values[i]] as const] : []));
  const byName = new Map(own);
  return (name) => byName.get(name);
};

const fillText = (text: string, valueOf: Values): string =>
  text.replace(PLACEHOLDER, (whole, name: string) => valueOf(name) ?? whole);

type Json = { readonly [key: string]: unknown };

const fillObject = (object: unknown, valueOf: Values): Json =>
  typeof object === 'object' && object !== null
    ? Object.fromEntries(Object.entries(object).map(([key, value]) => [key, fill(value, valueOf)]))
    : {};

/** Our own stored contents: a card is nested some ten deep. */
function fill(value: unknown, valueOf: Values): unknown {
  if (typeof value === 'string') return fillText(value, valueOf);
  if (Array.isArray(value)) return value.map((item) => fill(item, valueOf));
  return typeof value === 'object' && value !== null ? fillObject(value, valueOf) : value;
}

/** Protocol sheet whatsapp, section 2.3. */
function whatsappMessage(template: Sendable, filling: Filling) {
  const { name, language } = template;
  const components = [...headerOf(template, filling), ...bodyOf(template, filling), ...buttonsOf(template, filling)];
  const sent = { name, language: { code: language, policy: 'deterministic' } };
  return { type: 'template', template: components.length > 0 ? { ...sent, components } : sent };
}

type Parameters = { readonly index: number; readonly parameters: readonly object[] };

/** The text parameters of one place, by button. */
function parametersOf(template: Sendable, { values }: Filling, place: string): Parameters[] {
  const own = placeholdersOf(template).flatMap((p, i) => (p.place === place ? [{ ...p, text: values[i] ?? '' }] : []));
  const byButton = Map.groupBy(own, ({ index }) => index);
  return [...byButton].map(([index, items]) => ({
    index,
    parameters: items.map(({ name, text }) =>
      template.named && place !== 'button' ? { type: 'text', parameter_name: name, text } : { type: 'text', text },
    ),
  }));
}

function headerOf(template: Sendable, filling: Filling): object[] {
  const media = mediaOf(template);
  const link = filling.headerLink ?? template.headerLink;
  if (media !== null && link) return [{ type: 'header', parameters: [{ type: media, [media]: { link } }] }];
  return parametersOf(template, filling, 'header').map(({ parameters }) => ({ type: 'header', parameters }));
}

/** What the header shows in place of a text: `image`, `video`, `document`; null for a text or none. */
export function mediaOf({ content }: Pick<Sendable, 'content'>): string | null {
  const header = componentsOf(content).find(({ type }) => type === 'HEADER');
  return header && MEDIA.has(header.format) ? header.format.toLowerCase() : null;
}
const MEDIA: ReadonlySet<string> = new Set(['IMAGE', 'VIDEO', 'DOCUMENT']);

const bodyOf = (template: Sendable, filling: Filling): object[] =>
  parametersOf(template, filling, 'body').map(({ parameters }) => ({ type: 'body', parameters }));

const buttonsOf = (template: Sendable, filling: Filling): object[] =>
  parametersOf(template, filling, 'button').map(({ index, parameters }) => ({
    type: 'button',
    sub_type: 'url',
    index: String(index),
    parameters,
  }));

const READABLE: ReadonlySet<string> = new Set(['text', 'title', 'description']);

/** The texts of an RCS message without its suggestions. */
export function readable(message: Json): string {
  const lines: string[] = [];
  const look = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(look);
    if (typeof value !== 'object' || value === null) return;
    for (const [key, item] of Object.entries(value)) {
      if (READABLE.has(key) && typeof item === 'string') lines.push(item);
      else if (key !== 'suggestions') look(item);
    }
  };
  look(message);
  return lines.join('\n');
}
