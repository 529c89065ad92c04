import { randomBytes } from 'node:crypto';
import { getList, getMember, getText } from '../channels/settings.ts';
import { isUserId } from '../core/phone.ts';
import { type Events, type StatusPlanner, userIdOf } from './graph-events.ts';
import type { MediaFile, MediaStore } from './graph-media.ts';
import {
  type Fault,
  faultAnswer,
  type GraphScript,
  type LedgerWriter,
  type Limits,
  type MessageEntry,
  type Outcome,
  ok,
  outcomeFor,
  type Windows,
} from './graph-script.ts';
import type { Templates } from './graph-templates.ts';
import type { SandboxAnswer } from './http-server.ts';
import { createRecentMap } from './smsc-ledger.ts';
import type { Random } from './smsc-script.ts';

/** A phone number of the business account. */
export type PhoneNumber = {
  readonly id: string;
  /** The number as people see it, with the plus sign. */
  readonly displayNumber: string;
  readonly verifiedName: string;
  /** False for a number that has to be registered before it can send; default true. */
  readonly registered?: boolean;
  /** The PIN of the two-step verification; without one, registering accepts any PIN. */
  readonly pin?: string;
};

type MessageDeps = {
  readonly script: GraphScript;
  readonly ledger: LedgerWriter;
  readonly random: Random;
  readonly limits: Limits;
  readonly windows: Windows;
  readonly templates: Templates;
  readonly statuses: StatusPlanner;
  readonly hasMedia: (id: string) => boolean;
};

export type MessageEndpoint = {
  /** Accepts or rejects a message, or marks an inbound message as read. */
  post(number: PhoneNumber, body: unknown): SandboxAnswer | Promise<SandboxAnswer>;
};

/** Maximum number of destinations whose rejections are counted; the newest are kept. */
const MAX_REFUSALS = 10_000;

const SCRIPTED = 'Rejected by the script of the simulator.';

type Accepted = { readonly to: string; readonly category: string };

/** Creates the endpoint for messages, with the rules of the network (Cloud API, messages and error codes). */
export function createMessageEndpoint(deps: MessageDeps): MessageEndpoint {
  const { script, ledger, random, limits, windows, templates, statuses, hasMedia } = deps;
  const refusals = createRecentMap<number>(() => MAX_REFUSALS);

  function post(number: PhoneNumber, body: unknown): SandboxAnswer | Promise<SandboxAnswer> {
    if (getMember(body, 'status') !== undefined) return markRead(body);
    const checked = validate(number, body);
    if ('code' in checked) return refuse(number, body, checked);
    const entry = accept(number, body, checked);
    if (script.silent || random.chance(script.dropAnswerShare)) return 'silent';
    if (script.answerDelayMs === 0) return answer(checked, body, entry);
    return new Promise((resolve) => {
      setTimeout(() => resolve(answer(checked, body, entry)), script.answerDelayMs);
    });
  }

  /** Validates a request in the network's order: format, template, the script's rejections, then the rates. */
  function validate(number: PhoneNumber, body: unknown): Accepted | Fault {
    const frame = frameFault(body);
    if (frame) return frame;
    const recipient = recipientOf(body);
    if ('code' in recipient) return recipient;
    const category = categoryOf(body, recipient);
    if (typeof category !== 'string') return category;
    if (recipient.to === number.displayNumber.replaceAll(/\D/g, '')) return { code: 131021, details: 'to' };
    const fault =
      scriptedRefusal(outcomeFor(script, recipient.to), recipient.to) ?? limits.take(number.id, recipient.to);
    return fault ?? { to: recipient.to, category };
  }

  function categoryOf(body: unknown, recipient: Recipient): string | Fault {
    const type = getText(body, 'type') || 'text';
    const content = getMember(body, type);
    if (type !== 'template') return contentFault(type, content, hasMedia) ?? 'service';
    const checked = templates.check(content);
    if ('code' in checked) return checked;
    if (checked.category === 'authentication' && recipient.kind === 'user')
      return { code: 131062, details: 'recipient' };
    return checked.category;
  }

  function scriptedRefusal({ refuse: code, refuseTimes }: Outcome, to: string): Fault | null {
    if (script.refuse !== null) return { code: script.refuse, details: SCRIPTED };
    if (code === undefined) return null;
    const times = (refusals.get(to) ?? 0) + 1;
    refusals.set(to, times);
    if (refuseTimes === undefined || times <= refuseTimes) return { code, details: SCRIPTED };
    refusals.set(to, 0);
    return null;
  }

  function refuse(number: PhoneNumber, body: unknown, fault: Fault): SandboxAnswer {
    ledger.recordMessage(describe(number, body, getText(body, 'to'), null, fault.code), fault.code, false);
    return faultAnswer(fault);
  }

  function accept(number: PhoneNumber, body: unknown, { to, category }: Accepted): MessageEntry | Unrecorded {
    const id = newWamid();
    const description = describe(number, body, to, id, 0);
    const entry = ledger.recordMessage(description, null, true);
    const outOfWindow = category === 'service' && !windows.isOpen(number.id, to);
    statuses.plan({ id, phoneNumberId: number.id, to, opaque: description.opaque, category, outOfWindow });
    return entry ?? { id };
  }

  function answer({ to }: Accepted, body: unknown, entry: MessageEntry | Unrecorded): SandboxAnswer {
    if ('answered' in entry) entry.answered = true;
    const { held, waId = to } = outcomeFor(script, to);
    return ok({
      messaging_product: 'whatsapp',
      contacts: [{ input: getText(body, 'to') || to, ...personOf(waId, script.payload) }],
      messages: [{ id: entry.id, message_status: held ? 'held_for_quality_assessment' : 'accepted' }],
    });
  }

  return { post };
}

/** An accepted message of which no entry is kept. */
type Unrecorded = { readonly id: string };

const personOf = (to: string, payload: GraphScript['payload']): object =>
  payload === 'bsuid' ? { user_id: userIdOf(to) } : { wa_id: to };

function markRead(body: unknown): SandboxAnswer {
  const fault = frameFault(body);
  if (fault) return faultAnswer(fault);
  if (getMember(body, 'status') !== 'read') return faultAnswer({ code: 131009, details: 'status' });
  if (!getText(body, 'message_id').startsWith('wamid.')) return faultAnswer({ code: 131009, details: 'message_id' });
  // developers.facebook.com/docs/whatsapp/cloud-api/typing-indicators
  const typing = getMember(body, 'typing_indicator');
  if (typing !== undefined && getText(typing, 'type') !== 'text')
    return faultAnswer({ code: 131009, details: 'typing_indicator.type' });
  return ok({ success: true });
}

function describe(
  { id: phoneNumberId }: PhoneNumber,
  body: unknown,
  to: string,
  id: string | null,
  code: number,
): Omit<MessageEntry, 'kind' | 'n' | 'at'> {
  const type = getText(body, 'type') || 'text';
  const opaque = getText(body, 'biz_opaque_callback_data') || null;
  const content = getMember(body, type);
  return { phoneNumberId, to: to.replace('+', ''), type, content, opaque, id, code, answered: false };
}

/** Returns a new message id of the same length as the network's. */
const newWamid = (): string => `wamid.HBgM${randomBytes(30).toString('base64')}`;

const missing = (details: string): Fault => ({ code: 131008, details });
const bad = (details: string): Fault => ({ code: 131009, details });

const MAX_TEXT_LENGTH = 4096;
const MAX_CAPTION_LENGTH = 1024;
const MAX_OPAQUE_LENGTH = 512;

/** The media types; true if a type may have a caption. */
const ALLOWS_CAPTION: ReadonlyMap<string, boolean> = new Map([
  ['image', true],
  ['video', true],
  ['document', true],
  ['audio', false],
  ['sticker', false],
]);

/** A recipient, by number or by business-scoped user id. */
type Recipient = { readonly kind: 'number' | 'user'; readonly to: string };

/** Returns the recipient of a message: `to` takes precedence over `recipient` (Cloud API, messages). */
function recipientOf(body: unknown): Recipient | Fault {
  const to = getText(body, 'to').replaceAll(/[+\-() ]/g, '');
  if (to !== '') return /^\d{7,15}$/.test(to) ? { kind: 'number', to } : bad('to: not a phone number');
  const user = getText(body, 'recipient');
  if (user === '') return missing('to');
  return isUserId(user) ? { kind: 'user', to: user } : bad('recipient: not a user id');
}

/** Validates the members that all types of messages share; null when they are valid. */
function frameFault(body: unknown): Fault | null {
  if (getMember(body, 'messaging_product') !== 'whatsapp') {
    return { code: 100, details: 'The parameter messaging_product is required.' };
  }
  const recipientType = getMember(body, 'recipient_type') ?? 'individual';
  if (recipientType !== 'individual' && recipientType !== 'group') return bad('recipient_type');
  const opaque = getMember(body, 'biz_opaque_callback_data');
  if (opaque === undefined) return null;
  return typeof opaque === 'string' && opaque.length <= MAX_OPAQUE_LENGTH ? null : bad('biz_opaque_callback_data');
}

/**
 * Validates the content of a free-form message by its type (Cloud API, messages); null when
 * valid.
 */
function contentFault(type: string, content: unknown, hasMedia: (id: string) => boolean): Fault | null {
  if (typeof content !== 'object' || content === null) return missing(type);
  const caption = ALLOWS_CAPTION.get(type);
  if (caption !== undefined) return mediaFault(type, content, caption, hasMedia);
  switch (type) {
    case 'text':
      return textFault(content);
    case 'location':
      return locationFault(content);
    case 'contacts':
      return contactsFault(content);
    case 'reaction':
      return reactionFault(content);
    case 'interactive':
      return interactiveFault(content);
    default:
      return { code: 100, details: `Param type: ${type} is not a message type` };
  }
}

function textFault(content: unknown): Fault | null {
  const body = getText(content, 'body');
  if (body === '') return missing('text.body');
  return body.length > MAX_TEXT_LENGTH ? bad(`text.body: at most ${MAX_TEXT_LENGTH} characters`) : null;
}

function mediaFault(type: string, content: unknown, caption: boolean, hasMedia: (id: string) => boolean): Fault | null {
  const [id, link] = [getText(content, 'id'), getText(content, 'link')];
  if ((id === '') === (link === '')) return bad(`${type}: exactly one of id and link`);
  if (link !== '' && !/^https?:\/\//.test(link)) return bad(`${type}.link: not a URL`);
  if (id !== '' && !hasMedia(id)) return bad(`${type}.id: there is no media with this id`);
  const text = getText(content, 'caption');
  if (text !== '' && !caption) return bad(`${type}.caption: not allowed`);
  return text.length > MAX_CAPTION_LENGTH ? bad(`${type}.caption: at most ${MAX_CAPTION_LENGTH} characters`) : null;
}

function locationFault(content: unknown): Fault | null {
  const isWithin = (name: string, max: number): boolean => {
    const value = Number(getText(content, name) || numberIn(content, name));
    return Math.abs(value) <= max;
  };
  if (!isWithin('latitude', 90)) return bad('location.latitude');
  return isWithin('longitude', 180) ? null : bad('location.longitude');
}

function numberIn(json: unknown, name: string): number {
  const value = getMember(json, name);
  return typeof value === 'number' ? value : Number.NaN;
}

function contactsFault(content: unknown): Fault | null {
  if (!Array.isArray(content) || content.length === 0) return missing('contacts');
  const nameless = content.some((card) => getText(getMember(card, 'name'), 'formatted_name') === '');
  if (nameless) return missing('contacts.name.formatted_name');
  const invalid = content.some((card) => getList(card, 'phones').some((phone) => getText(phone, 'phone') === ''));
  return invalid ? bad('contacts.phones.phone') : null;
}

function reactionFault(content: unknown): Fault | null {
  if (getText(content, 'message_id') === '') return missing('reaction.message_id');
  return typeof getMember(content, 'emoji') === 'string' ? null : missing('reaction.emoji');
}

const missingPart = (details: string): Fault => ({ code: 131008, details: `interactive.${details}` });
const badPart = (details: string): Fault => ({ code: 131009, details: `interactive.${details}` });

/** Types whose action is not validated. */
const UNVALIDATED_TYPES = ['product', 'product_list', 'catalog_message', 'order_details', 'order_status'];

/** Validates an interactive message (Cloud API, messages); null when it is valid. */
function interactiveFault(content: unknown): Fault | null {
  const type = getText(content, 'type');
  const action = getMember(content, 'action');
  if (typeof action !== 'object' || action === null) return missingPart('action');
  const fault = lengthFault(content, ['header', 'text', 60], ['body', 'text', 1024], ['footer', 'text', 60]);
  if (fault) return fault;
  if (!UNVALIDATED_TYPES.includes(type) && getText(getMember(content, 'body'), 'text') === '')
    return missingPart('body.text');
  switch (type) {
    case 'button':
      return buttonsFault(getList(action, 'buttons'));
    case 'list':
      return headerIsText(content) ? listFault(action) : badPart('header: must be a text for a list');
    case 'cta_url':
      return urlFault(getMember(action, 'parameters'));
    case 'flow':
      return flowFault(getMember(action, 'parameters'));
    default:
      return [...UNVALIDATED_TYPES, 'location_request_message', 'call_permission_request'].includes(type)
        ? null
        : badPart('type');
  }
}

type Limit = readonly [member: string, name: string, maxLength: number];

function lengthFault(content: unknown, ...limits: readonly Limit[]): Fault | null {
  const exceeded = limits.find(([member, name, max]) => getText(getMember(content, member), name).length > max);
  if (!exceeded) return null;
  const [member, name, max] = exceeded;
  return badPart(`${member}.${name}: at most ${max} characters`);
}

const headerIsText = (content: unknown): boolean => {
  const header = getMember(content, 'header');
  return header === undefined || getText(header, 'type') === 'text';
};

const fits = (text: string, maxLength: number): boolean => text !== '' && text.length <= maxLength;

function buttonsFault(buttons: readonly unknown[]): Fault | null {
  if (buttons.length === 0 || buttons.length > 3) return badPart('action.buttons: 1 to 3');
  const replies = buttons.map((button) => getMember(button, 'reply'));
  if (buttons.some((button) => getText(button, 'type') !== 'reply')) return badPart('action.buttons.type');
  if (!replies.every((reply) => fits(getText(reply, 'id'), 256))) return badPart('action.buttons.reply.id');
  if (!replies.every((reply) => fits(getText(reply, 'title'), 20))) return badPart('action.buttons.reply.title');
  return isUnique(replies.map((reply) => getText(reply, 'id')))
    ? null
    : badPart('action.buttons.reply.id: must be unique');
}

const isUnique = (ids: readonly string[]): boolean => new Set(ids).size === ids.length;

function listFault(action: unknown): Fault | null {
  const sections = getList(action, 'sections');
  const rows = sections.flatMap((section) => getList(section, 'rows'));
  if (!fits(getText(action, 'button'), 20)) return badPart('action.button');
  if (sections.length === 0 || sections.length > 10) return badPart('action.sections: 1 to 10');
  if (rows.length === 0 || rows.length > 10) return badPart('action.sections.rows: 1 to 10 in all');
  const titles = sections.map((section) => getText(section, 'title'));
  if (titles.some((title) => title.length > 24 || (title === '' && titles.length > 1))) {
    return badPart('action.sections.title');
  }
  return rowsFault(rows);
}

function rowsFault(rows: readonly unknown[]): Fault | null {
  if (!rows.every((row) => fits(getText(row, 'id'), 200))) return badPart('action.sections.rows.id');
  if (!rows.every((row) => fits(getText(row, 'title'), 24))) return badPart('action.sections.rows.title');
  if (rows.some((row) => getText(row, 'description').length > 72)) return badPart('action.sections.rows.description');
  return isUnique(rows.map((row) => getText(row, 'id'))) ? null : badPart('action.sections.rows.id: must be unique');
}

function urlFault(parameters: unknown): Fault | null {
  if (!fits(getText(parameters, 'display_text'), 20)) return badPart('action.parameters.display_text');
  return /^https?:\/\//.test(getText(parameters, 'url')) ? null : badPart('action.parameters.url');
}

function flowFault(parameters: unknown): Fault | null {
  if (getText(parameters, 'flow_id') === '' && getText(parameters, 'flow_name') === '') {
    return missingPart('action.parameters.flow_id');
  }
  const absent = ['flow_message_version', 'flow_cta'].find((name) => getText(parameters, name) === '');
  return absent === undefined ? null : missingPart(`action.parameters.${absent}`);
}

/** A message from a person to one of our numbers. */
export type InboundDraft = {
  /** The person's number; a plus sign is removed. */
  readonly from: string;
  /** Our number that receives the message; defaults to the first one. */
  readonly phoneNumberId?: string;
  readonly profileName?: string;
  /** The id; the same id twice simulates a duplicate notification. */
  readonly id?: string;
  readonly text?: string;
  /** The type of any other message. */
  readonly type?: string;
  /** The object that is named after the type. */
  readonly content?: object | readonly object[];
  readonly file?: MediaFile & { readonly fileName?: string; readonly caption?: string };
  /** Further members of the item, such as context, referral or errors. */
  readonly more?: object;
};

type InboundDeps = {
  readonly script: GraphScript;
  readonly ledger: LedgerWriter;
  readonly events: Events;
  readonly media: MediaStore;
  readonly windows: Windows;
  readonly firstNumber: string;
};

/** Opens the person's window and sends the message; resolves with its id once it was acknowledged or given up. */
export function injectInbound(deps: InboundDeps, draft: InboundDraft): Promise<{ id: string; acked: boolean }> {
  const { script, ledger, events, windows, firstNumber } = deps;
  const { id = newWamid(), phoneNumberId = firstNumber, profileName = 'Sandbox' } = draft;
  const from = draft.from.replace('+', '');
  const shown = script.payload === 'bsuid' ? { user_id: userIdOf(from) } : { wa_id: from };
  const [type, content] = contentOf(draft, deps.media);
  windows.open(phoneNumberId, from);
  const sender = script.payload === 'bsuid' ? { from_user_id: userIdOf(from) } : { from };
  const timestamp = String(Math.floor(Date.now() / 1000));
  return new Promise((resolve) => {
    events.publish({
      entry: ledger.recordEvent({ kind: 'inbound', id, what: type }),
      done: (acked) => resolve({ id, acked }),
      list: 'messages',
      phoneNumberId,
      item: { ...sender, id, timestamp, type, ...(content ? { [type]: content } : {}), ...draft.more },
      contact: { profile: { name: profileName }, ...shown },
    });
  });
}

function contentOf({ text, type, content, file }: InboundDraft, media: MediaStore): [type: string, content?: object] {
  if (file) return [type ?? 'document', mediaContent(file, media)];
  if (text !== undefined) return ['text', { body: text }];
  return content === undefined ? [type ?? 'unsupported'] : [type ?? 'unsupported', content];
}

function mediaContent(file: NonNullable<InboundDraft['file']>, media: MediaStore): object {
  const { bytes, mimeType, fileName, caption } = file;
  return {
    id: media.put({ bytes, mimeType }),
    mime_type: mimeType,
    ...(fileName === undefined ? {} : { filename: fileName }),
    ...(caption === undefined ? {} : { caption }),
  };
}
