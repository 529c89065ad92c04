import type { Inbound, Receipt } from '../events.ts';
import { listIn, memberOf, wordsIn } from '../json.ts';
import { readInbound } from './inbound.ts';
import { sameText } from '../../platform/lib/constant-time-equal.ts';
import { isSigned } from './signature.ts';
import { readStatus } from './statuses.ts';
import { readTemplateChange, type TemplateChange } from './template-changes.ts';

/** All that one request of the network tells, in its order; any part may be empty. */
export type WhatsappCallback = {
  readonly receipts: readonly Receipt[];
  readonly inbounds: readonly Inbound[];
  readonly templateChanges: readonly TemplateChange[];
  readonly other: readonly OtherChange[];
};

/**
 * What is only worth a line in the log: a field that nobody reads here (one that begins with `template` or
 * `message_template` says that templates have changed), something of another business account or number, or something
 * in a shape that nobody knows.
 */
export type OtherChange = {
  readonly field: string;
  readonly wabaId: string;
  readonly phoneNumberId: string | null;
  readonly why: 'field' | 'foreign' | 'unreadable';
};

export type CallbackRequest = {
  /** The octets as they came: the signature is over them. */
  readonly rawBody: Uint8Array;
  /** The header `X-Hub-Signature-256`. */
  readonly signature: string | undefined;
  readonly appSecret: string;
  /** Whose callbacks these are; what others own is not read. */
  readonly wabaId: string;
  readonly phoneNumberIds: readonly string[];
};

export type ReadCallback =
  /** No signature, or not one of this body by this secret. */
  | { readonly kind: 'forbidden' }
  /** Signed, and yet no notification of WhatsApp. */
  | { readonly kind: 'malformed' }
  | { readonly kind: 'ok'; readonly callback: WhatsappCallback };

/**
 * Answers the network's question whether a callback address is ours: the text to answer with, or null when the token is
 * not ours (protocol sheet whatsapp, section 6).
 */
export function verifyChallenge(query: Readonly<Record<string, unknown>>, verifyToken: string): string | null {
  const { 'hub.mode': mode, 'hub.verify_token': token, 'hub.challenge': challenge } = query;
  if (mode !== 'subscribe' || typeof token !== 'string' || typeof challenge !== 'string') return null;
  return sameText(token, verifyToken) ? challenge : null;
}

/**
 * Reads a notification (protocol sheet whatsapp, sections 4 and 6 to 8). Nothing is believed before the signature is
 * checked, on the raw octets. Never throws: what cannot be read is listed in `other`.
 */
export function readWhatsappCallback(request: CallbackRequest): ReadCallback {
  if (!isSigned(request.rawBody, request.signature, request.appSecret)) return { kind: 'forbidden' };
  const json = parseExactly(Buffer.from(request.rawBody).toString('utf8'));
  if (memberOf(json, 'object') !== 'whatsapp_business_account') return { kind: 'malformed' };
  const found: Found = { receipts: [], inbounds: [], templateChanges: [], other: [] };
  for (const entry of listIn(json, 'entry')) readEntry(entry, request, found);
  return { kind: 'ok', callback: found };
}

type Found = {
  readonly receipts: Receipt[];
  readonly inbounds: Inbound[];
  readonly templateChanges: TemplateChange[];
  readonly other: OtherChange[];
};
type Owner = Pick<CallbackRequest, 'wabaId' | 'phoneNumberIds'>;

/**
 * Template ids come as numbers, and may be too long for a double. Only requests that hold one pay for reading every
 * number as it is written.
 */
function parseExactly(text: string): unknown {
  try {
    if (!text.includes('"message_template_id"')) return JSON.parse(text);
    return JSON.parse(text, exactIds);
  } catch {
    return undefined;
  }
}

/** Node gives the third argument; the types of ES do not know it yet. */
function exactIds(key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return key === 'message_template_id' && typeof value === 'number' ? (context?.source ?? String(value)) : value;
}

function readEntry(entry: unknown, owner: Owner, found: Found): void {
  const wabaId = wordsIn(entry, 'id');
  for (const change of listIn(entry, 'changes')) {
    const field = wordsIn(change, 'field');
    const value = memberOf(change, 'value');
    if (wabaId !== owner.wabaId) found.other.push({ field, wabaId, phoneNumberId: null, why: 'foreign' });
    else if (field === 'messages') readMessages(value, wabaId, owner, found);
    else if (field === 'message_template_status_update') readTemplate(value, wabaId, found);
    else found.other.push({ field, wabaId, phoneNumberId: null, why: 'field' });
  }
}

function readTemplate(value: unknown, wabaId: string, found: Found): void {
  const change = readTemplateChange(value);
  const field = 'message_template_status_update';
  if (change) found.templateChanges.push(change);
  else found.other.push({ field, wabaId, phoneNumberId: null, why: 'unreadable' });
}

function readMessages(value: unknown, wabaId: string, owner: Owner, found: Found): void {
  const phoneNumberId = wordsIn(memberOf(value, 'metadata'), 'phone_number_id');
  const skip = (field: string, why: OtherChange['why']): void =>
    void found.other.push({ field, wabaId, phoneNumberId, why });
  if (!owner.phoneNumberIds.includes(phoneNumberId)) return skip('messages', 'foreign');
  for (const item of listIn(value, 'statuses')) {
    const receipt = readStatus(item, phoneNumberId);
    if (receipt) found.receipts.push(receipt);
    else skip('statuses', 'unreadable');
  }
  for (const item of listIn(value, 'messages')) {
    const inbound = readInbound(item, phoneNumberId, listIn(value, 'contacts'));
    if (inbound) found.inbounds.push(inbound);
    else skip('messages', 'unreadable');
  }
  if (listIn(value, 'errors').length > 0) skip('errors', 'field');
}
