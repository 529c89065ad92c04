import { getList, getText } from '../../carriers/json.ts';
import { placeholderNames } from '../../platform/lib/placeholders.ts';
import { valuesIn } from '../../platform/lib/walk.ts';
import type { Placeholder, Sendable } from './template.ts';

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
  return channel === 'RCS' ? inCard(content) : inComponents(content);
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
export type Component = {
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
