import type { Content, TrafficType, WhatsAppContent } from '../channels/carrier.ts';
import { getList, getText, type OwnFile } from '../channels/settings.ts';
import type { RichChannel } from '../core/channels.ts';
import { type FieldError, invalidFields } from '../core/errors.ts';
import { fillPlaceholders, placeholderNames, valuesIn } from '../core/schema.ts';

/** The parts of a template that are needed to send it. */
export type Sendable = {
  readonly channel: RichChannel;
  /** WhatsApp: the network's id. RCS: our own. */
  readonly id: string;
  /** Null: shared by all accounts. */
  readonly ownerId: number | null;
  readonly name: string;
  readonly language: string;
  /** WhatsApp: MARKETING, UTILITY or AUTHENTICATION. RCS: empty. */
  readonly category: string;
  /** Only an APPROVED template may be sent. */
  readonly status: string;
  readonly reason: string | null;
  /** WhatsApp: the array of components. RCS: a contentMessage. */
  readonly content: unknown;
  /** WhatsApp: the URL of the file in the header, for sends that name no other. */
  readonly headerLink: string | null;
  /** RCS: the purpose of its messages; null leaves it to the connection. */
  readonly trafficType: TrafficType | null;
  /** True if placeholders have names; otherwise numbers. */
  readonly named: boolean;
  /**
   * The contact field of each placeholder, with its default behind a `|`; with `campaignComponents`, each field in
   * these.
   */
  readonly variables: readonly string[];
  /** WhatsApp: the components of messages of campaigns, with contact fields between `{{` and `}}`; null: by `variables`. */
  readonly campaignComponents: SentComponents | null;
};

/** The components of a WhatsApp template message in the network's own form (components.ts). */
export type SentComponents = readonly object[];

/** The part of a template that contains a placeholder. */
type Place = 'header' | 'body' | 'button' | 'text' | 'unknown';

type Placeholder = {
  readonly place: Place;
  /** The text between the braces: a number or a name. */
  readonly name: string;
  /** The index of the button; 0 elsewhere. */
  readonly index: number;
  /** The name that clients see: `1`, `header.1`, `button.0.1`. */
  readonly label: string;
};

/** A template and the values of its variables: the network's JSON is composed when the message is sent. */
export type TemplateContent = {
  /** The id of the template (src/templates). */
  readonly template: string;
  readonly channel: RichChannel;
  readonly values: Readonly<Record<string, string>>;
  /** RCS: overrides that of the template. */
  readonly trafficType?: TrafficType;
};

/**
 * A complete content. Instead of URLs it may contain references to the account's files (src/media/store.ts), which
 * `files` lists.
 */
export type WholeContent = Content & { readonly files?: readonly number[] };

/** The value of `message.content` for every message other than a plain text. */
export type StoredContent = WholeContent | TemplateContent;

export const isTemplateContent = (content: StoredContent): content is TemplateContent => 'template' in content;

/** Turns stored contents into those that carriers send. */
export type Resolver = {
  /** Reads everything that a batch of contents needs. */
  load(wanted: readonly { readonly accountId: number; readonly content: StoredContent }[]): Promise<void>;
  /**
   * Resolves a content that was loaded; null when it cannot be sent because its template is gone or no longer approved.
   */
  resolve(accountId: number, content: StoredContent): Content | null;
  /** Returns the account's file that a resolved content has a link to, if it has exactly one. */
  fileOf?(accountId: number, content: StoredContent): OwnFile | undefined;
};

/** A resolver without templates: only complete contents can be sent. */
export const WHOLE_CONTENT_ONLY: Resolver = {
  load: () => Promise.resolve(),
  resolve: (_, content) => (isTemplateContent(content) ? null : content),
};

/** Returns true if jsonb can store a value: PostgreSQL rejects NUL and lone surrogates, in texts and in names. */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, item]) => isStorable(name) && isStorable(item));
}

/**
 * Caches the result of reading a stored content, which never changes: each message of a campaign asks seven times, and
 * reading it was 3 % of the gateway's time for a WhatsApp campaign.
 */
function remembered<T>(read: (content: unknown) => T): (content: unknown) => T {
  const known = new WeakMap<object, { readonly value: T }>();
  return (content) => {
    if (typeof content !== 'object' || content === null) return read(content);
    const found = known.get(content) ?? { value: read(content) };
    known.set(content, found);
    return found.value;
  };
}

/**
 * Lists the placeholders of a template in the order in which values are given. WhatsApp: header, body, buttons, with
 * numbers in ascending order. RCS: by name, because stored JSON has no defined order. A placeholder is listed once per
 * place: `{{1}}` in the header and `{{1}}` in the body are two.
 */
export function placeholdersOf({ channel, content }: Pick<Sendable, 'channel' | 'content'>): readonly Placeholder[] {
  return FORMATS[channel].placeholders(content);
}

const inCard = remembered((content): readonly Placeholder[] => namesInTexts(content).sort().map(inText));
const inComponents = remembered((content): readonly Placeholder[] => componentsOf(content).flatMap(inComponent));

function namesInTexts(content: unknown): string[] {
  const names = new Set<string>();
  for (const value of valuesIn(content))
    if (typeof value === 'string') for (const name of placeholderNames(value)) names.add(name);
  return [...names];
}

const inText = (name: string): Placeholder => ({ place: 'text', name, index: 0, label: name });

function inComponent({ type, text, buttons }: Component): Placeholder[] {
  if (type === 'HEADER')
    return namesIn(text).map((name) => ({ place: 'header', name, index: 0, label: `header.${name}` }));
  if (type === 'BODY') return namesIn(text).map((name) => ({ place: 'body', name, index: 0, label: name }));
  return buttons.flatMap((button, index) =>
    namesIn(getText(button, 'url')).map((name) => ({ place: 'button', name, index, label: `button.${index}.${name}` })),
  );
}

function namesIn(text: string): string[] {
  const names = placeholderNames(text);
  return names.every((name) => /^\d+$/.test(name)) ? names.sort((a, b) => Number(a) - Number(b)) : names;
}

/** The parts of a WhatsApp component that are read here. */
type Component = {
  readonly type: string;
  /** The format of a header: TEXT, IMAGE, VIDEO, DOCUMENT or LOCATION. */
  readonly format: string;
  readonly text: string;
  readonly buttons: readonly unknown[];
};

const ORDER: readonly string[] = ['HEADER', 'BODY', 'FOOTER', 'BUTTONS'];
const placeOf = ({ type }: Component): number => (ORDER.includes(type) ? ORDER.indexOf(type) : ORDER.length);

/** Lists the components of a WhatsApp template, the header first. */
export const componentsOf = remembered(readComponents);

function readComponents(content: unknown): readonly Component[] {
  const components: unknown[] = Array.isArray(content) ? content : [];
  return components
    .map((component) => ({
      type: getText(component, 'type').toUpperCase(),
      format: getText(component, 'format').toUpperCase(),
      text: getText(component, 'text'),
      buttons: getList(component, 'buttons'),
    }))
    .sort((a, b) => placeOf(a) - placeOf(b));
}

/**
 * Returns the contact fields of a template's placeholders: those given, otherwise the names of the placeholders, or
 * none when these are numbers. Errors: 400 when the number of given fields is not that of the placeholders.
 */
export function variablesFor(
  template: Pick<Sendable, 'channel' | 'content'>,
  given: readonly string[] | undefined,
): readonly string[] {
  const placeholders = placeholdersOf(template);
  if (given && given.length !== placeholders.length) {
    const labels = placeholders.map(({ label }) => label).join(', ');
    throw invalidFields([
      { field: 'variables', message: `must be ${placeholders.length}, one for each placeholder (${labels})` },
    ]);
  }
  if (given) return given;
  const names = placeholders.map(({ name }) => name);
  return names.every((name) => !/^\d+$/.test(name)) ? names : [];
}

/** Input for a template: the values of its placeholders, and the file of its header. */
type Filling = {
  /** One value per placeholder, in the order of `placeholdersOf`. */
  readonly values: readonly string[];
  readonly headerLink?: string | null | undefined;
};

/** Returns the content to be sent for a filled template. Braces inside a value are not replaced again. */
export const composeContent = (template: Sendable, filling: Filling): Content =>
  FORMATS[template.channel].content(template, filling);

/** Returns the readable text of a filled template, for the history and the inbox: its texts on separate lines. */
export const composeText = (template: Sendable, filling: Filling): string =>
  FORMATS[template.channel].text(template, filling);

/** The templates of a network, as its API has them. */
type Format = {
  placeholders(content: unknown): readonly Placeholder[];
  content(template: Sendable, filling: Filling): Content;
  text(template: Sendable, filling: Filling): string;
};

const FORMATS: Readonly<Record<RichChannel, Format>> = {
  RCS: {
    placeholders: inCard,
    content: (template, filling) => ({
      channel: 'RCS',
      message: fillObject(template.content, lookUp(template, filling)),
      ...(template.trafficType !== null && { trafficType: template.trafficType }),
    }),
    text: (template, filling) => readable(fillObject(template.content, lookUp(template, filling))),
  },
  WHATSAPP: {
    placeholders: inComponents,
    content: (template, filling) => templateMessage(template, componentsFor(template, filling)),
    text: textOfComponents,
  },
};

function textOfComponents(template: Sendable, filling: Filling): string {
  const placeholders = placeholdersOf(template);
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

const componentsFor = (template: Sendable, filling: Filling): object[] => [
  ...headerOf(template, filling),
  ...bodyOf(template, filling),
  ...buttonsOf(template, filling),
];

/** Returns true if the network takes messages with a template for marketing. */
export const isMarketing = ({ category }: Pick<Sendable, 'category'>): boolean => category === 'MARKETING';

/** Builds the content of a message of the type `template` (Cloud API, messages). */
export function templateMessage(template: Sendable, components: readonly object[]): WhatsAppContent {
  const message = whatsappMessage(template, components);
  return { channel: 'WHATSAPP', message, ...(isMarketing(template) && { marketing: true }) };
}

function whatsappMessage({ name, language }: Sendable, components: readonly object[]) {
  const sent = { name, language: { code: language, policy: 'deterministic' } };
  return { type: 'template', template: components.length > 0 ? { ...sent, components } : sent };
}

type Parameters = { readonly index: number; readonly parameters: readonly object[] };

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

/**
 * The values of a template's placeholders as a client gives them: in their order, or by name (`1`, `header.1`,
 * `first_name`).
 */
export type Given = readonly string[] | Readonly<Record<string, string>>;

type Filled = { readonly values: readonly string[]; readonly faults: readonly FieldError[] };

/** Puts the values of one send into the order of the placeholders, and returns their errors. */
export function fillTemplate(
  template: Sendable,
  { variables = [], headerLink }: { variables?: Given | undefined; headerLink?: string | undefined },
): Filled {
  const placeholders = placeholdersOf(template);
  const values = isList(variables) ? variables : placeholders.map((p) => valueOf(p, variables));
  return {
    values: values.map((value) => value ?? ''),
    faults: [...valueFaults(template, placeholders, values), ...headerFaults(template, headerLink)],
  };
}

/** Returns the value of a placeholder. A name has the same meaning in header and body; a number does not. */
const valueOf = ({ label, name }: Placeholder, values: Readonly<Record<string, string>>): string | undefined =>
  values[label] ?? (/^\d+$/.test(name) ? undefined : values[name]);

const isList = (given: Given): given is readonly string[] => Array.isArray(given);

function valueFaults(
  { channel }: Sendable,
  placeholders: readonly Placeholder[],
  values: readonly (string | undefined)[],
): FieldError[] {
  const names = placeholders.map(({ label }) => label).join(', ');
  if (values.length !== placeholders.length)
    return [
      { field: 'template.variables', message: `must be ${placeholders.length} (${names}), not ${values.length}` },
    ];
  const faultOf = (value: string | undefined): string | null => {
    if (value === undefined || (channel === 'WHATSAPP' && value === '')) return 'is required and must not be empty';
    return channel === 'WHATSAPP' ? findTextFault(value) : null;
  };
  return placeholders.flatMap(({ label }, i) => {
    const message = faultOf(values[i]);
    return message === null ? [] : [{ field: `template.variables.${label}`, message }];
  });
}

/** What the network refuses in the texts of parameters, next to more than four spaces in a row: line breaks and tabs. */
const BREAKS = /[\n\r\t\v\f\u0085\u2028\u2029]+/;

/** Returns the error of a parameter's text; null if the network takes it. */
export const findTextFault = (text: string): string | null =>
  !BREAKS.test(text) && !text.includes('     ')
    ? null
    : 'must have no line breaks, tabs or more than four spaces in a row';

/** Replaces what the network refuses in the values of contacts, which nobody can correct while a campaign is sent. */
export const inOneLine = (text: string): string => {
  const lines = text.split(BREAKS);
  return (lines.length > 1 ? lines.map((line) => line.trim()).join(' ') : text).replace(/ {5,}/g, ' ');
};

function headerFaults(template: Sendable, headerLink: string | undefined): FieldError[] {
  const media = template.channel === 'WHATSAPP' ? mediaOf(template) : null;
  return media !== null && !(headerLink ?? template.headerLink)
    ? [{ field: 'template.headerLink', message: `is required: the header of this template shows a ${media}` }]
    : [];
}
