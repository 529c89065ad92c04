import { isRecord } from '../../core/schema.ts';
import { constantTimeEqual } from '../../core/secrets.ts';
import type { Inbound, Notice, Receipt, ReceiptState } from '../carrier.ts';
import { getList, getMember, getText } from '../settings.ts';
import { readMessagingLimit } from './account.ts';
import { isSigned, readGraphError, statusOfFailure } from './client.ts';
import { dateOf, readEpochSeconds, readInbound, readUserIdChange } from './inbound.ts';
import { readQualityChange, readTemplateChange, type TemplateChange } from './templates.ts';

/** The content of one callback request, in its order; any list may be empty. */
export type WhatsappCallback = {
  readonly receipts: readonly Receipt[];
  readonly inbounds: readonly Inbound[];
  readonly templateChanges: readonly TemplateChange[];
  /** Changes of the account or its numbers. */
  readonly notices: readonly Notice[];
  readonly preferences: readonly MarketingPreference[];
  /** The messaging limit of the portfolio, if it has changed; null: any number of people. */
  readonly messagingLimit?: number | null;
  readonly other: readonly OtherChange[];
};

/** A person has stopped the marketing messages of a number in WhatsApp, or resumed them. */
type MarketingPreference = {
  readonly phoneNumberId: string;
  /** Digits only, or the business-scoped user id of a person who shows no number. */
  readonly person: string;
  readonly wanted: boolean;
  readonly at: Date | null;
};

/** A change that a callback request reports, with the business account that it belongs to. */
export type WabaChange = { readonly wabaId: string; readonly field: string; readonly value: unknown };

/**
 * A change that only deserves a log entry: a field that is not handled (one that begins with `template` or
 * `message_template` means that templates have changed), a change of another number, or one in an unknown format.
 */
type OtherChange = {
  readonly field: string;
  readonly wabaId: string;
  readonly phoneNumberId: string | null;
  readonly why: 'field' | 'foreign' | 'unreadable';
};

/** A callback request with the data needed to verify it. */
export type CallbackRequest = {
  /** The bytes as received, which the signature covers. */
  readonly rawBody: Uint8Array;
  /** The value of the header `X-Hub-Signature-256`. */
  readonly signature: string | undefined;
  readonly appSecret: string;
};

/** WhatsApp business account and numbers of a connection; changes of others are not passed to it. */
export type ChangeOwner = { readonly wabaId: string; readonly phoneNumberIds: readonly string[] };

type ReadCallback =
  /** The signature is missing or does not match this body and secret. */
  | { readonly kind: 'forbidden' }
  /** Correctly signed, but not a WhatsApp notification. */
  | { readonly kind: 'malformed' }
  | { readonly kind: 'ok'; readonly changes: readonly WabaChange[] };

/**
 * Handles the network's check of a callback URL: returns the challenge to respond with, or null if the verify token is
 * not ours (Cloud API, webhooks).
 */
export function verifyChallenge(query: Readonly<Record<string, unknown>>, verifyToken: string): string | null {
  const { 'hub.mode': mode, 'hub.verify_token': token, 'hub.challenge': challenge } = query;
  if (mode !== 'subscribe' || typeof token !== 'string' || typeof challenge !== 'string') return null;
  return constantTimeEqual(token, verifyToken) ? challenge : null;
}

/**
 * Reads a notification as its changes (Cloud API, message templates and webhooks). The signature is verified on the raw
 * bytes before anything is read. Never throws.
 *
 * An app has one callback URL. Meta posts the changes of all business accounts that subscribed the app there, unless
 * the account overrides the URL; changes of templates and of the account itself are posted to the URL of the app in any
 * case (developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/override).
 */
export function readWhatsappCallback(request: CallbackRequest): ReadCallback {
  if (!isSigned(request.rawBody, request.signature, request.appSecret)) return { kind: 'forbidden' };
  const json = parseExactly(Buffer.from(request.rawBody).toString('utf8'));
  if (getMember(json, 'object') !== 'whatsapp_business_account') return { kind: 'malformed' };
  const changes = getList(json, 'entry').flatMap((entry) =>
    getList(entry, 'changes').map((change) => ({
      wabaId: getText(entry, 'id'),
      field: getText(change, 'field'),
      value: getMember(change, 'value'),
    })),
  );
  return { kind: 'ok', changes };
}

/** Reads the changes of one business account for its owner. Never throws: unreadable changes are listed in `other`. */
export function readWhatsappChanges(changes: readonly WabaChange[], owner: ChangeOwner): WhatsappCallback {
  const found: Found = { receipts: [], inbounds: [], templateChanges: [], notices: [], preferences: [], other: [] };
  for (const { wabaId, field, value } of changes) {
    if (field === 'messages') readMessages(value, wabaId, owner, found);
    else if (field === 'user_preferences') readPreferences(value, wabaId, found);
    else if (field === 'user_id_update') readUserIdChanges(value, wabaId, owner, found);
    else if (TEMPLATE_FIELDS.has(field)) readTemplate(field, value, wabaId, found);
    else readOther(field, value, wabaId, found);
  }
  return found;
}

type Found = {
  readonly receipts: Receipt[];
  readonly inbounds: Inbound[];
  readonly templateChanges: TemplateChange[];
  readonly notices: Notice[];
  readonly preferences: MarketingPreference[];
  messagingLimit?: number | null;
  readonly other: OtherChange[];
};

/**
 * Template ids arrive as numbers, and may be too long for a double. Only requests that contain one pay for parsing
 * every number with its source text.
 */
function parseExactly(text: string): unknown {
  try {
    if (!text.includes('"message_template_id"')) return JSON.parse(text);
    return JSON.parse(text, exactIds);
  } catch {
    return undefined;
  }
}

/** Node passes the third argument, which the types of ES do not define yet. */
function exactIds(key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return key === 'message_template_id' && typeof value === 'number' ? (context?.source ?? String(value)) : value;
}

const TEMPLATE_FIELDS: ReadonlyMap<string, (value: unknown) => TemplateChange | null> = new Map([
  ['message_template_status_update', readTemplateChange],
  ['message_template_quality_update', readQualityChange],
]);

function readTemplate(field: string, value: unknown, wabaId: string, found: Found): void {
  const change = TEMPLATE_FIELDS.get(field)?.(value);
  if (change) found.templateChanges.push(change);
  else found.other.push({ field, wabaId, phoneNumberId: null, why: 'unreadable' });
}

function readOther(field: string, value: unknown, wabaId: string, found: Found): void {
  const limit = readMessagingLimit(
    getMember(value, 'max_daily_conversations_per_business') ?? getMember(value, 'max_daily_conversation_per_phone'),
  );
  if (limit !== undefined && LIMIT_FIELDS.has(field)) found.messagingLimit = limit;
  const notice = readAccountChange(field, value);
  if (notice) found.notices.push(notice);
  else found.other.push({ field, wabaId, phoneNumberId: null, why: 'field' });
}

/** Changes of the account that state the messaging limit of its portfolio. */
const LIMIT_FIELDS: ReadonlySet<string> = new Set(['business_capability_update', 'phone_number_quality_update']);

function readMessages(value: unknown, wabaId: string, owner: ChangeOwner, found: Found): void {
  const metadata = getMember(value, 'metadata');
  const phoneNumberId = getText(metadata, 'phone_number_id');
  const skip = (field: string, why: OtherChange['why']): void =>
    void found.other.push({ field, wabaId, phoneNumberId, why });
  if (!owner.phoneNumberIds.includes(phoneNumberId)) return skip('messages', 'foreign');
  for (const item of getList(value, 'statuses')) {
    const receipt = readStatus(item, phoneNumberId);
    if (receipt) found.receipts.push(receipt);
    else skip('statuses', 'unreadable');
  }
  for (const item of getList(value, 'messages')) {
    const inbound = readInbound(item, metadata, getList(value, 'contacts'));
    if (inbound === 'nothing') skip(`messages ${getText(item, 'type')}`.slice(0, 100), 'field');
    else if (inbound) found.inbounds.push(inbound);
    else skip('messages', 'unreadable');
  }
  if (getList(value, 'errors').length > 0) skip('errors', 'field');
}

function readUserIdChanges(value: unknown, wabaId: string, owner: ChangeOwner, found: Found): void {
  const metadata = getMember(value, 'metadata');
  const phoneNumberId = getText(metadata, 'phone_number_id');
  const isOurs = owner.phoneNumberIds.includes(phoneNumberId);
  for (const item of getList(value, 'user_id_update')) {
    const change = isOurs ? readUserIdChange(item, metadata) : null;
    if (change) found.inbounds.push(change);
    else found.other.push({ field: 'user_id_update', wabaId, phoneNumberId, why: isOurs ? 'unreadable' : 'foreign' });
  }
}

/**
 * Reads which people stopped or resumed marketing messages
 * (developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/user_preferences).
 */
function readPreferences(value: unknown, wabaId: string, found: Found): void {
  const phoneNumberId = getText(getMember(value, 'metadata'), 'phone_number_id');
  for (const item of getList(value, 'user_preferences')) {
    const person = getText(item, 'wa_id') || getText(item, 'user_id');
    const wanted = PREFERENCES.get(getText(item, 'value'));
    if (getText(item, 'category') === 'marketing_messages' && person !== '' && wanted !== undefined)
      found.preferences.push({ phoneNumberId, person, wanted, at: dateOf(String(getMember(item, 'timestamp'))) });
    else found.other.push({ field: 'user_preferences', wabaId, phoneNumberId, why: 'unreadable' });
  }
}

const PREFERENCES: ReadonlyMap<string, boolean> = new Map([
  ['stop', false],
  ['resume', true],
]);

/** States by status. `sent` only means that the network has the message; an unknown status leads to UNKNOWN. */
const STATES: ReadonlyMap<string, ReceiptState> = new Map([
  ['sent', 'ACCEPTED'],
  ['delivered', 'DELIVERED'],
  ['read', 'READ'],
  ['played', 'READ'],
]);

const MAX_RAW_LENGTH = 4000;

/**
 * Reads one status of a message (Cloud API, webhooks); null without an id.
 *
 * Its ids are the network's, followed by our own where present, which we sent as `biz_opaque_callback_data`: a message
 * whose submit got no response is known only by that one. If the status shows no number, the destination is the
 * business-scoped user id.
 */
function readStatus(item: unknown, phoneNumberId: string): Receipt | null {
  const id = getText(item, 'id');
  const status = getText(item, 'status');
  if (id === '') return null;
  const ours = getText(item, 'biz_opaque_callback_data');
  const errors = getList(item, 'errors').flatMap((error) => readGraphError(error) ?? []);
  const code = errors[0]?.code ?? null;
  return {
    carrierIds: ours === '' ? [id] : [id, ours],
    state: status === 'failed' ? statusOfFailure(code) : (STATES.get(status) ?? 'UNKNOWN'),
    doneAt: readEpochSeconds(item, 'timestamp'),
    errorCode: code === null ? null : String(code),
    destination: getText(item, 'recipient_id') || getText(item, 'recipient_user_id'),
    sender: phoneNumberId,
    raw: errors.length > 0 ? errorsText(errors) : JSON.stringify(item).slice(0, MAX_RAW_LENGTH).toWellFormed(),
    ...readBilling(item, status),
  };
}

/** Reads the charge of a message (Cloud API, status webhooks), which is due if the message is delivered. */
function readBilling(item: unknown, status: string): Pick<Receipt, 'billing'> {
  const pricing = getMember(item, 'pricing');
  if (!isRecord(pricing) || status === 'failed') return {};
  const textOf = (name: string): string => shorten(getText(pricing, name), 50);
  const [type, category] = [textOf('type'), textOf('category')];
  const flag = getMember(pricing, 'billable');
  const billable = typeof flag === 'boolean' ? flag : type === 'regular';
  return { billing: { billable, model: textOf('pricing_model'), type, category } };
}

/** Failures are shown to people, so they get the network's text instead of its JSON. */
const errorsText = (errors: readonly { readonly code: number; readonly text: string }[]): string =>
  errors
    .map(({ code, text }) => `${code} ${text}`)
    .join('; ')
    .slice(0, MAX_RAW_LENGTH)
    .toWellFormed();

/** Fields about the account and its numbers, for the operator; the API itself rejects whatever they forbid. */
const ACCOUNT_FIELDS: ReadonlySet<string> = new Set([
  'account_update',
  'account_alerts',
  'account_review_update',
  'business_capability_update',
  'phone_number_quality_update',
  'phone_number_name_update',
  'security',
]);

/** Events, decisions and severities that require the operator to act; `UNFLAGGED` and `UPGRADE` are not among them. */
const SERIOUS =
  /^(FLAGGED|DOWNGRADE|REJECTED|CRITICAL|DISABLED_UPDATE|ACCOUNT_(RESTRICTION|VIOLATION|DELETED|OFFBOARDED)|PARTNER_REMOVED)$/;

const MAX_LENGTH = 1000;

const shorten = (text: string, maxLength: number): string =>
  text.replaceAll('\0', '').slice(0, maxLength).toWellFormed();

/**
 * Reads a change of the account or of one of its numbers; null for a field about something else. The text is that of
 * the network: `account_update: {"event":"ACCOUNT_RESTRICTION", …}`.
 */
function readAccountChange(field: string, value: unknown): Notice | null {
  if (!ACCOUNT_FIELDS.has(field)) return null;
  const event = getText(value, 'event') || getText(value, 'decision') || getText(value, 'alert_severity');
  const about = getText(value, 'display_phone_number') || getText(value, 'alert_type');
  // Events of the account do not replace one another: a restriction is shown next to the review of something else.
  const kind = field === 'account_update' ? event : about;
  const isReinstated = getText(getMember(value, 'ban_info'), 'waba_ban_state') === 'REINSTATE';
  return {
    subject: shorten(`${field} ${kind}`.trim(), 200),
    text: shorten(`${field}: ${JSON.stringify(value ?? null)}`, MAX_LENGTH),
    serious: SERIOUS.test(event) && !isReinstated,
  };
}
