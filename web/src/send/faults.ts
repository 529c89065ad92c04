import type { FieldFault } from '../api/errors.ts';
import { type Channel, type Draft, enabledFallbacksOf, hasText } from './draft.ts';

/** The form field for each API field. The first match applies, so longer paths come before shorter ones. */
const PLACES: Readonly<Record<Channel, readonly (readonly [field: string, place: string])[]>> = {
  SMS: [
    ['destination', 'destination'],
    ['sender', 'smsSender'],
    ['body', 'text'],
    ['text', 'text'],
  ],
  WHATSAPP: [
    ['destination', 'destination'],
    ['phoneNumberId', 'WHATSAPP.sender'],
    ['sender', 'WHATSAPP.sender'],
    ['template.headerLink', 'WHATSAPP.headerLink'],
    ['template.variables', 'variables'],
    ['template', 'WHATSAPP.templateId'],
    ['body', 'text'],
    ['fallbackRcs.agentId', 'RCS.sender'],
    ['fallbackRcs', 'fallbackRcsText'],
    ['fallbackSms.sender', 'smsSender'],
    ['fallbackSms', 'fallbackSmsText'],
  ],
  RCS: [
    ['destination', 'destination'],
    ['agentId', 'RCS.sender'],
    ['sender', 'RCS.sender'],
    ['variables', 'variables'],
    ['templateId', 'RCS.templateId'],
    ['body.card.title', 'cardTitle'],
    ['body.card.media', 'picture'],
    ['body.card.suggestions', 'replies'],
    ['body.suggestions', 'replies'],
    ['body', 'text'],
    ['fallbackSms.sender', 'smsSender'],
    ['fallbackSms', 'fallbackSmsText'],
  ],
};

/**
 * The form field for an API field; template values keep their name, such as `variables.header.1`; null if there is
 * none.
 */
export function placeOf(channel: Channel, field: string): string | null {
  const found = PLACES[channel].find(
    ([name]) => field === name || (/^[.[]/.test(field.slice(name.length)) && field.startsWith(name)),
  );
  if (found === undefined) return null;
  const [name, place] = found;
  return place === 'variables' ? `variables${field.slice(name.length)}` : place;
}

export type GroupedFaults = {
  readonly errors: Readonly<Record<string, string>>;
  readonly others: readonly FieldFault[];
};

/** Groups the server's errors by form field; `others` are those without a field. */
export function groupFaults(channel: Channel, faults: readonly FieldFault[]): GroupedFaults {
  const errors: Record<string, string> = {};
  const others: FieldFault[] = [];
  for (const fault of faults) {
    const place = placeOf(channel, fault.field);
    if (place === null || place === 'variables') others.push(fault);
    else errors[place] = errors[place] === undefined ? fault.message : `${errors[place]}; ${fault.message}`;
  }
  return { errors, others };
}

/** The required form fields that are empty. */
export function missingOf(channel: Channel, draft: Draft, template: Wanted | undefined): readonly string[] {
  return [...missingContent(channel, draft, template), ...missingFallback(channel, draft)];
}

type Wanted = { readonly placeholders: readonly string[]; readonly wantsFile: boolean };

function missingContent(channel: Channel, draft: Draft, template: Wanted | undefined): string[] {
  const missing = draft.destination.trim() === '' ? ['destination'] : [];
  if (channel === 'SMS') {
    if (draft.smsSender.trim() === '') missing.push('smsSender');
  } else if (draft[channel].sender === '') missing.push(`${channel}.sender`);
  const isCard = channel === 'RCS' && draft.RCS.kind === 'card';
  if (isCard && draft.cardTitle === '' && draft.text === '' && draft.picture === null) missing.push('cardTitle');
  if (hasText(channel, draft)) return draft.text === '' && !isCard ? [...missing, 'text'] : missing;
  return [...missing, ...missingOfTemplate(channel, draft, template)];
}

function missingOfTemplate(channel: Channel, draft: Draft, template: Wanted | undefined): string[] {
  if (channel === 'SMS') return [];
  const { templateId, variables, headerLink } = draft[channel];
  if (templateId === '' || template === undefined) return [`${channel}.templateId`];
  const values = template.placeholders.filter((name) => !variables[name]).map((name) => `variables.${name}`);
  return template.wantsFile && headerLink.trim() === '' ? [...values, `${channel}.headerLink`] : values;
}

function missingFallback(channel: Channel, draft: Draft): string[] {
  const after = enabledFallbacksOf(channel, draft);
  const fields = [
    ['RCS', 'RCS.sender', draft.RCS.sender],
    ['RCS', 'fallbackRcsText', draft.fallbackRcsText],
    ['SMS', 'smsSender', draft.smsSender.trim()],
    ['SMS', 'fallbackSmsText', draft.fallbackSmsText],
  ] as const;
  return fields.filter(([next, , value]) => after.includes(next) && value === '').map(([, place]) => place);
}
