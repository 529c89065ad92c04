import type { Inbound, Notice, Receipt } from '../events.ts';
import { getList, getMember, getText } from '../json.ts';
import { readAccountChange } from './account-changes.ts';
import { readInbound } from './inbound.ts';
import { constantTimeEqual } from '../../platform/lib/constant-time-equal.ts';
import { isSigned } from './signature.ts';
import { readStatus } from './statuses.ts';
import { readQualityChange, readTemplateChange, type TemplateChange } from './template-changes.ts';

/** The content of one callback request, in its order; any list may be empty. */
export type WhatsappCallback = {
  readonly receipts: readonly Receipt[];
  readonly inbounds: readonly Inbound[];
  readonly templateChanges: readonly TemplateChange[];
  /** Changes of the account or its numbers. */
  readonly notices: readonly Notice[];
  readonly other: readonly OtherChange[];
};

/**
 * A change that only deserves a log entry: a field that is not handled (one that begins with `template` or
 * `message_template` means that templates have changed), a change of another business account or number, or one in an
 * unknown format.
 */
export type OtherChange = {
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
  /** The owner of these callbacks; changes of other accounts and numbers are not read. */
  readonly wabaId: string;
  readonly phoneNumberIds: readonly string[];
};

/** The result of reading a callback request. */
export type ReadCallback =
  /** The signature is missing or does not match this body and secret. */
  | { readonly kind: 'forbidden' }
  /** Correctly signed, but not a WhatsApp notification. */
  | { readonly kind: 'malformed' }
  | { readonly kind: 'ok'; readonly callback: WhatsappCallback };

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
 * Reads a notification (Cloud API, message templates and webhooks). The signature is verified on the raw bytes before
 * anything is read. Never throws: unreadable changes are listed in `other`.
 */
export function readWhatsappCallback(request: CallbackRequest): ReadCallback {
  if (!isSigned(request.rawBody, request.signature, request.appSecret)) return { kind: 'forbidden' };
  const json = parseExactly(Buffer.from(request.rawBody).toString('utf8'));
  if (getMember(json, 'object') !== 'whatsapp_business_account') return { kind: 'malformed' };
  const found: Found = { receipts: [], inbounds: [], templateChanges: [], notices: [], other: [] };
  for (const entry of getList(json, 'entry')) readEntry(entry, request, found);
  return { kind: 'ok', callback: found };
}

type Found = {
  readonly receipts: Receipt[];
  readonly inbounds: Inbound[];
  readonly templateChanges: TemplateChange[];
  readonly notices: Notice[];
  readonly other: OtherChange[];
};
type Owner = Pick<CallbackRequest, 'wabaId' | 'phoneNumberIds'>;

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

function readEntry(entry: unknown, owner: Owner, found: Found): void {
  const wabaId = getText(entry, 'id');
  for (const change of getList(entry, 'changes')) {
    const field = getText(change, 'field');
    const value = getMember(change, 'value');
    if (wabaId !== owner.wabaId) found.other.push({ field, wabaId, phoneNumberId: null, why: 'foreign' });
    else if (field === 'messages') readMessages(value, wabaId, owner, found);
    else if (TEMPLATE_FIELDS.has(field)) readTemplate(field, value, wabaId, found);
    else readOther(field, value, wabaId, found);
  }
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
  const notice = readAccountChange(field, value);
  if (notice) found.notices.push(notice);
  else found.other.push({ field, wabaId, phoneNumberId: null, why: 'field' });
}

function readMessages(value: unknown, wabaId: string, owner: Owner, found: Found): void {
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
    if (inbound) found.inbounds.push(inbound);
    else skip('messages', 'unreadable');
  }
  if (getList(value, 'errors').length > 0) skip('errors', 'field');
}
