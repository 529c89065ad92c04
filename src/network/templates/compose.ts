import type { Content } from '../../carriers/content.ts';
import { fillPlaceholders } from '../../platform/lib/placeholders.ts';
import { componentsOf, placeholdersOf } from './placeholders.ts';
import type { Placeholder, Sendable } from './template.ts';

/** Input for a template: the values of its placeholders, and the file of its header. */
export type Filling = {
  /** One value per placeholder, in the order of `placeholdersOf`. */
  readonly values: readonly string[];
  readonly headerLink?: string | null | undefined;
};

/** Returns the content to be sent for a filled template. Braces inside a value are not replaced again. */
export const composeContent = (template: Sendable, filling: Filling): Content =>
  template.channel === 'RCS'
    ? {
        channel: 'RCS',
        message: fillObject(template.content, lookUp(template, filling)),
        ...(template.trafficType !== null && { trafficType: template.trafficType }),
      }
    : { channel: 'WHATSAPP', message: whatsappMessage(template, filling) };

/** Returns the readable text of a filled template, for the history and the inbox: its texts on separate lines. */
export function composeText(template: Sendable, filling: Filling): string {
  const placeholders = placeholdersOf(template);
  if (template.channel === 'RCS') return readable(fillObject(template.content, lookUp(template, filling)));
  return componentsOf(template.content)
    .filter(({ type, text }) => text !== '' && type !== 'BUTTONS')
    .map(({ type, text }) =>
      fillPlaceholders(text, valuesAt(type === 'HEADER' ? 'header' : 'body', placeholders, filling)),
    )
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

type Json = { readonly [key: string]: unknown };

const fillObject = (object: unknown, valueOf: Values): Json =>
  typeof object === 'object' && object !== null
    ? Object.fromEntries(Object.entries(object).map(([key, value]) => [key, fill(value, valueOf)]))
    : {};

/** Fills the texts. Recursion is safe: these are our own stored contents, and a card is about ten levels deep. */
function fill(value: unknown, valueOf: Values): unknown {
  if (typeof value === 'string') return fillPlaceholders(value, valueOf);
  if (Array.isArray(value)) return value.map((item) => fill(item, valueOf));
  return typeof value === 'object' && value !== null ? fillObject(value, valueOf) : value;
}

/** Builds a message of the type `template` (Cloud API, messages). */
function whatsappMessage(template: Sendable, filling: Filling) {
  const { name, language } = template;
  const components = [...headerOf(template, filling), ...bodyOf(template, filling), ...buttonsOf(template, filling)];
  const sent = { name, language: { code: language, policy: 'deterministic' } };
  return { type: 'template', template: components.length > 0 ? { ...sent, components } : sent };
}

type Parameters = { readonly index: number; readonly parameters: readonly object[] };

/** Returns the text parameters of one place, by button. */
function parametersOf(template: Sendable, { values }: Filling, place: string): Parameters[] {
  const own = placeholdersOf(template).flatMap((p, i) => (p.place === place ? [{ ...p, text: values[i] ?? '' }] : []));
  if (own.length === 0) return [];
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

/** Returns the type of file in the header (`image`, `video` or `document`); null for a text header or none. */
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

/** Returns the texts of an RCS message on separate lines, without its suggestions. */
export function readable(message: Json): string {
  const lines: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (typeof value !== 'object' || value === null) return;
    for (const [key, item] of Object.entries(value)) {
      if (READABLE.has(key) && typeof item === 'string') lines.push(item);
      else if (key !== 'suggestions') visit(item);
    }
  };
  visit(message);
  return lines.join('\n');
}
