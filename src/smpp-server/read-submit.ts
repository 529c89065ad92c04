import type { CredentialSettings } from '../accounts/smpp-credentials.ts';
import { AccountAway, AppError } from '../core/errors.ts';
import { STATUS as STATE_STATUS } from '../core/message-state.ts';
import type { NumberRules } from '../core/phone.ts';
import { DAY_MS, MAX_SCHEDULE_DAYS } from '../core/time.ts';
import type { Sender } from '../messages/accept.ts';
import { type Draft, newDraft, type Refusal, type Verdict } from '../messages/read-send.ts';
import { parseTime } from '../smpp/message.ts';
import type { Message } from '../smpp/pdu.ts';
import { STATUS as SMPP, STATUS } from '../smpp/status.ts';
import {
  concatOf,
  decodeText,
  isDefaultAlphabet,
  isInGroup,
  isUcs2,
  languageOf,
  readUdh,
  segmentStatus,
  udhConcat,
  userData,
} from '../smpp/text.ts';
import { encodeTlvs, readText, readUint, TAG } from '../smpp/wire.ts';
import type { ShownId } from './message-ids.ts';
import type { Client } from './sign-in.ts';

/** Properties of a credential that decide how its submits are read. */
export type Submitter = Pick<CredentialSettings, 'alphabet' | 'senders'> &
  Pick<NumberRules, 'defaultCountry'> & {
    readonly id: number;
    /** The message id for the client. */
    readonly shown: ShownId;
  };

export type ReadOptions = {
  readonly now: Date;
  /** The tags of optional parameters that are passed on to carriers. */
  readonly passedTags: ReadonlySet<number>;
};

type ReadSubmit = { readonly draft: Draft } | { readonly status: number };

/**
 * A client's own id of a message, as a C-octet string: our vendor's parameter for idempotent submits. It is far from
 * 0x1400, where carriers begin to count: in India 0x1400 has the same value in all messages of an entity.
 */
export const CLIENT_ID_TAG = 0x3fe0;
const FIRST_VENDOR_TAG = 0x1400;
export const MAX_CLIENT_ID_LENGTH = 100;
/** Maximum total of all parameters that are passed on: they are stored with the message. */
const MAX_PASSED_OCTETS = 1024;

const UDHI = 0x40;
const MAX_PRIORITY = 3;
const MAX_SERVICE_TYPE_LENGTH = 5;
/** The bits of registered_delivery that SMPP reserves. */
const RESERVED_DELIVERY = 0xe0;
/** The bits that ask for receipts: of final states, and intermediate notifications. */
const WANTS_RECEIPT = 0x13;
const QUOTED_CHARACTERS = 20;

const INTERNATIONAL = 1;
const ALPHANUMERIC = 5;
const NUMBER = /^\+?\d{1,20}$/;

/**
 * Reads a submit_sm as a draft of a single message (SMPP 3.4, 4.4; GSM 03.40, 9.2.3.24). The fields are checked here,
 * their content (the number, the sender, the length of the text) where messages of all clients are. A part of a long
 * message stays one: a draft with a user data header.
 */
export function readSubmit(message: Message, by: Submitter, options: ReadOptions): ReadSubmit {
  const status = fieldStatus(message) || addressStatus(message, by) || segmentStatus(message);
  if (status !== STATUS.ESME_ROK) return { status };
  const times = readTimes(message, options);
  if ('status' in times) return times;
  const clientId = readText(message.tlvs, CLIENT_ID_TAG) ?? '';
  if (clientId.length > MAX_CLIENT_ID_LENGTH) return { status: STATUS.ESME_RINVTLVLEN };
  if ([...message.tlvs.keys()].some((tag) => isMeaningful(tag) && !options.passedTags.has(tag)))
    return { status: STATUS.ESME_RTLVNOTALLWD };
  const tlvs = passedOn(message, options);
  if (tlvs !== null && tlvs.length > MAX_PASSED_OCTETS) return { status: STATUS.ESME_RINVTLVLEN };
  const content = contentOf(message, by);
  if (content === null) return { status: STATUS.ESME_RINVDCS };
  const draft = newDraft({
    channel: 'SMS',
    source: 'API',
    clientId: clientId === '' ? null : clientId,
    destination: destinationOf(message, by),
    sender: message.source,
    ...content,
    ...times,
    tlvs,
    smpp: receiptsOf(message, by, content.body),
  });
  return { draft };
}

/**
 * The standard parameters without which a message arrives as another one (SMPP 3.4, 5.3.2): dest_addr_subunit, ports,
 * ussd_service_op, display_time, its_reply_type, its_session_info.
 */
const MEANINGFUL_TAGS: ReadonlySet<number> = new Set([0x0005, 0x020a, 0x020b, 0x0501, 0x1201, 0x1380, 0x1383]);

/** True for a parameter that is passed on or refused; the other standard ones are hints to a carrier, and ignored. */
const isMeaningful = (tag: number): boolean =>
  MEANINGFUL_TAGS.has(tag) || (tag >= FIRST_VENDOR_TAG && tag !== CLIENT_ID_TAG);

/** Returns the parameters that the operator lets pass, as on the wire; null if none. */
function passedOn({ tlvs }: Message, { passedTags }: ReadOptions): Buffer | null {
  const passed = [...tlvs].filter(([tag]) => passedTags.has(tag));
  return passed.length === 0 ? null : encodeTlvs(new Map(passed));
}

function fieldStatus(message: Message): number {
  if (message.serviceType.length > MAX_SERVICE_TYPE_LENGTH) return STATUS.ESME_RINVSERTYP;
  if (message.priority > MAX_PRIORITY) return STATUS.ESME_RINVPRTFLG;
  if ((message.registeredDelivery & RESERVED_DELIVERY) !== 0) return STATUS.ESME_RINVREGDLVFLG;
  // Replacing is not offered, and sending the message in addition to the other one was not requested.
  if (message.replaceIfPresent !== 0) return STATUS.ESME_RINVREPFLAG;
  if (message.defaultMessageId !== 0) return STATUS.ESME_RINVDFTMSGID;
  const twice = message.shortMessage.length > 0 && message.tlvs.has(TAG.message_payload);
  return twice ? STATUS.ESME_RINVMSGLEN : STATUS.ESME_ROK;
}

function addressStatus({ source, destTon, destination }: Message, { senders }: Submitter): number {
  if (destTon === ALPHANUMERIC) return STATUS.ESME_RINVDSTTON;
  if (!NUMBER.test(destination)) return STATUS.ESME_RINVDSTADR;
  const isAllowed = senders.length === 0 || senders.some((sender) => isSameSender(sender, source));
  return isAllowed ? STATUS.ESME_ROK : STATUS.ESME_RINVSRCADR;
}

/** True if two numbers are the same, with or without their plus. */
export const isSameSender = (one: string, other: string): boolean => bare(one) === bare(other);
const bare = (sender: string): string => sender.replace(/^\+(?=\d+$)/, '');

/**
 * Returns the destination. An international number gets its plus. Others are read by the account's number rules;
 * without a default country they can only be international too, whatever type of number a client has declared.
 */
const destinationOf = ({ destTon, destination }: Message, { defaultCountry }: Submitter): string =>
  /^[1-9]/.test(destination) && (destTon === INTERNATIONAL || defaultCountry === null)
    ? `+${destination}`
    : destination;

type Times = Pick<Draft, 'validUntil' | 'scheduledAt'>;

function readTimes(message: Message, { now }: ReadOptions): Times | { readonly status: number } {
  const scheduledAt = instantOf(message.scheduleTime, now);
  if (scheduledAt === 'invalid') return { status: STATUS.ESME_RINVSCHED };
  // A time that is over, by a clock that is behind ours, means immediately.
  const later = scheduledAt !== null && scheduledAt > now ? scheduledAt : null;
  if (later !== null && later.getTime() > now.getTime() + MAX_SCHEDULE_DAYS * DAY_MS)
    return { status: STATUS.ESME_RINVSCHED };
  const validUntil = instantOf(message.validity, later ?? now);
  if (validUntil === 'invalid' || (validUntil !== null && validUntil <= (later ?? now)))
    return { status: STATUS.ESME_RINVEXPIRY };
  return { scheduledAt: later, validUntil };
}

function instantOf(text: string, from: Date): Date | null | 'invalid' {
  if (text === '') return null;
  const time = parseTime(text);
  if (time === null) return 'invalid';
  return time instanceof Date ? time : new Date(from.getTime() + time.relativeMs);
}

type Content = Pick<Draft, 'body' | 'binary' | 'udh' | 'dataCoding'>;

/**
 * Returns the content of a message; null for a data_coding that we do not know, and for a national language table of
 * another alphabet than GSM 03.38.
 */
function contentOf(message: Message, { alphabet }: Submitter): Content | null {
  const { dataCoding } = message;
  const { udh, octets } = partsOf(message);
  const kind = kindOfCoding(dataCoding);
  if (kind === null) return null;
  if (kind === 'binary') {
    const coding = PLAIN_BINARY.has(dataCoding) ? {} : { dataCoding };
    return { body: '', binary: { udh: udh ?? new Uint8Array(0), data: octets, ...coding }, udh: null };
  }
  const header = udh && readUdh(udh);
  const language = header ? languageOf(header) : {};
  const hasTable = isDefaultAlphabet(dataCoding) && Object.values(language).some((table) => table !== undefined);
  if (hasTable && alphabet !== 'gsm') return null;
  const body = decodeText(octets, dataCoding, alphabet, language).toWellFormed();
  // Half of a character that is divided between two parts is no text, and another part may be in UCS-2 too; what is
  // written with a table can be written in no other way: the octets go to the carrier unchanged.
  if (udh && body !== '' && (hasTable || isUcs2(dataCoding)))
    return { body, binary: { udh, data: octets, dataCoding }, udh: null };
  return { body, binary: null, udh, dataCoding };
}

function partsOf(message: Message): { readonly udh: Uint8Array | null; readonly octets: Uint8Array } {
  const all = Uint8Array.from(userData(message));
  const udh = message.esmClass & UDHI ? readUdh(all) : null;
  if (udh) return { udh: all.subarray(0, udh.length), octets: all.subarray(udh.length) };
  const concat = concatOf(message);
  // A header of six octets leaves exactly the room that SAR leaves.
  return { udh: concat && udhConcat(concat.ref, concat.total, concat.seq, 8), octets: all };
}

/** 8-bit data without a class. */
const PLAIN_BINARY: ReadonlySet<number> = new Set([0x02, 0x04]);

/** True for octets, and 8-bit data in the groups of TS 23.038 that have a class. */
const isBinary = (coding: number): boolean =>
  PLAIN_BINARY.has(coding) || (coding & 0xfc) === 0x14 || (coding & 0xf4) === 0xf4;

const TEXT_CODINGS: ReadonlySet<number> = new Set([0x00, 0x01, 0x03, 0x06, 0x07, 0x08, 0x0a, 0x0e]);

function kindOfCoding(coding: number): 'text' | 'binary' | null {
  if (isBinary(coding)) return 'binary';
  return TEXT_CODINGS.has(coding) || isInGroup(coding) ? 'text' : null;
}

function receiptsOf(message: Message, { id, shown }: Submitter, body: string): NonNullable<Draft['smpp']> | null {
  if ((message.registeredDelivery & WANTS_RECEIPT) === 0 && !shown.isCounted) return null;
  return {
    credentialId: id,
    showId: shown.of,
    registered: message.registeredDelivery,
    reference: readUint(message.tlvs, TAG.user_message_reference, 2),
    sourceTon: message.sourceTon,
    sourceNpi: message.sourceNpi,
    source: message.source,
    destTon: message.destTon,
    destNpi: message.destNpi,
    destination: message.destination,
    quote: body.slice(0, QUOTED_CHARACTERS).toWellFormed(),
  };
}

export const senderOf = ({ accountId, id, numberRules, sendingRules }: Client): Sender => ({
  accountId,
  numberRules,
  sendingRules,
  keyId: null,
  userId: null,
  smppCredentialId: id,
});

/** Returns the properties of a client that decide how its submits are read. */
export const submitterOf = ({ id, alphabet, senders, defaultCountry }: Client, shown: ShownId): Submitter => ({
  id,
  shown,
  alphabet,
  senders,
  defaultCountry,
});

/** Our own statuses, from the range that SMPP leaves to vendors (SMPP 3.4, 5.1.3). */
export const OWN_STATUS = { no_credit: 0x400, opted_out: 0x401, no_price: 0x402, no_route: 0x403 } as const;

/** The command_status of each rejection: the one table of both directions, which docs/smpp.md shows. */
const STATUS_OF_REFUSAL: Readonly<Record<Refusal, number>> = {
  not_a_number: SMPP.ESME_RINVDSTADR,
  no_country_code: SMPP.ESME_RINVDSTADR,
  unknown_country_code: SMPP.ESME_RINVDSTADR,
  impossible_length: SMPP.ESME_RINVDSTADR,
  bad_sender: SMPP.ESME_RINVSRCADR,
  foreign_sender: SMPP.ESME_RINVSRCADR,
  sender_not_allowed: SMPP.ESME_RINVSRCADR,
  no_pool: SMPP.ESME_RINVSRCADR,
  empty_body: SMPP.ESME_RINVMSGLEN,
  bad_body: SMPP.ESME_RINVMSGLEN,
  no_content: SMPP.ESME_RINVMSGLEN,
  body_too_long: SMPP.ESME_RINVMSGLEN,
  body_not_gsm: SMPP.ESME_RINVMSGLEN,
  no_public_url: SMPP.ESME_RSUBMITFAIL,
  binary_too_long: SMPP.ESME_RINVMSGLEN,
  text_too_long_for_header: SMPP.ESME_RINVMSGLEN,
  tlv_not_allowed: SMPP.ESME_RTLVNOTALLWD,
  no_dlt_template: SMPP.ESME_RSUBMITFAIL,
  weekly_cap: SMPP.ESME_RSUBMITFAIL,
  no_route: OWN_STATUS.no_route,
  no_registered_route: SMPP.ESME_RINVSRCADR,
  no_price: OWN_STATUS.no_price,
  no_credit: OWN_STATUS.no_credit,
  opted_out: OWN_STATUS.opted_out,
  marketing_stopped: OWN_STATUS.opted_out,
  stop_suspected: OWN_STATUS.opted_out,
  not_opted_in: OWN_STATUS.opted_out,
};

/** Returns the command_status of a verdict on one message. */
export function statusOfVerdict(verdict: Verdict): number {
  if (verdict.kind === 'accepted') return SMPP.ESME_ROK;
  // The client's id was used for other content.
  return verdict.kind === 'conflict' ? SMPP.ESME_RSUBMITFAIL : STATUS_OF_REFUSAL[verdict.refusal];
}

/** Returns the command_status of a failure: temporary, as nothing is known to be wrong with the request. */
export const statusOfError = (error: unknown): number =>
  error instanceof AccountAway || (error instanceof AppError && error.code === 'rate_limited')
    ? SMPP.ESME_RTHROTTLED
    : SMPP.ESME_RSYSERR;

/** The written form of a state in receipts and responses: `stat` and message_state (SMPP 3.4, 5.2.28). */
type WrittenState = { readonly stat: string; readonly state: number };

const WRITTEN: Readonly<Record<number, WrittenState>> = {
  [STATE_STATUS.UNKNOWN]: { stat: 'UNKNOWN', state: 7 },
  [STATE_STATUS.ACCEPTED]: { stat: 'ENROUTE', state: 1 },
  [STATE_STATUS.REJECTED]: { stat: 'REJECTD', state: 8 },
  [STATE_STATUS.DELIVERED]: { stat: 'DELIVRD', state: 2 },
  [STATE_STATUS.EXPIRED]: { stat: 'EXPIRED', state: 3 },
  [STATE_STATUS.DELETED]: { stat: 'DELETED', state: 4 },
};
/** All other failures. */
const UNDELIVERABLE: WrittenState = { stat: 'UNDELIV', state: 5 };

/** Returns the written form of a message state. */
export const writtenState = (status: number): WrittenState => WRITTEN[status] ?? UNDELIVERABLE;

/**
 * Returns the error code of a state in receipts: 0 for a success or a state that is not final, else the code of our
 * status table.
 */
export const errorOfState = (status: number): number =>
  status === STATE_STATUS.DELIVERED || status === STATE_STATUS.ACCEPTED ? 0 : status;
