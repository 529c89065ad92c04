import { receiptText } from '../channels/smpp/receipts.ts';
import { deliverFrame } from '../smpp/link.ts';
import { parseTime } from '../smpp/message.ts';
import { EMPTY_MESSAGE, type Message, type PduOf } from '../smpp/pdu.ts';
import { STATUS, statusName } from '../smpp/status.ts';
import { concatOf, encodeText, type LongMode, segmentStatus, textOf, udhConcat, userData } from '../smpp/text.ts';
import { NO_TLVS, receiptTlvs, TAG, type Tlvs, uint8, uint16 } from '../smpp/wire.ts';
import type { Account } from './smsc-account.ts';
import {
  createRecentMap,
  ENROUTE,
  type LedgerWriter,
  type MessageId,
  type MessageStore,
  receiptId,
  type StoredMessage,
  type SubmitEntry,
} from './smsc-ledger.ts';
import {
  createTimeline,
  DELETED,
  DELIVERED,
  FINAL_STATES,
  type Outcome,
  outcomeFor,
  type Random,
  type ReceiptStep,
  type SandboxScript,
} from './smsc-script.ts';
import type { Session } from './smsc-session.ts';

type Submit = PduOf<'submit_sm'>;
type Answer = {
  readonly session: Session;
  readonly sequence: number;
  readonly messageId: string;
  readonly entry: SubmitEntry | null;
  readonly status: number;
};

type SubmitHandler = {
  submit(session: Session, pdu: Submit): void;
  /** Records a submit that its bind does not allow. */
  refused(session: Session, pdu: Submit, status: number): void;
  stop(): void;
};

type SubmitDeps = {
  readonly script: SandboxScript;
  readonly ledger: LedgerWriter;
  readonly random: Random;
  readonly store: MessageStore;
  readonly receipts: ReceiptPlanner;
  nextId(): MessageId;
};

/** The delay of a response whose first receipt was sent early. */
const EARLY_GAP_MS = 30;
const MAX_DESTINATIONS = 10_000;

/**
 * Creates the handler that accepts or rejects submits, records them, responds as the script defines, and schedules
 * receipts.
 */
export function createSubmitHandler({ script, ledger, random, store, receipts, nextId }: SubmitDeps): SubmitHandler {
  const late = createTimeline<Answer>(({ session, sequence, status, messageId, entry }) =>
    session.answer(sequence, status, messageId, entry),
  );
  const isRefused = createRefusalCounter();

  function submit(session: Session, pdu: Submit): void {
    const outcome = outcomeFor(script, pdu.destination);
    const status = statusOf(session, pdu, outcome);
    if (status === STATUS.ESME_ROK) accept(session, pdu, outcome);
    else
      answer({ session, sequence: pdu.sequence, status, messageId: '', entry: record(session, pdu, status, null) }, 0);
  }

  function statusOf(session: Session, pdu: Submit, outcome: Outcome): number {
    if (script.window > 0 && session.unanswered > script.window) return STATUS[script.windowStatus];
    if (session.account?.takeToken() === false || random.chance(script.throttleShare)) return STATUS.ESME_RTHROTTLED;
    const status = submitStatus(pdu, script);
    if (status !== STATUS.ESME_ROK || !outcome.refuse) return status;
    const refused = outcome.refuseTimes === undefined || isRefused(pdu.destination, outcome.refuseTimes);
    return refused ? STATUS[outcome.refuse] : STATUS.ESME_ROK;
  }

  function accept(session: Session, pdu: Submit, outcome: Outcome): void {
    const id = nextId();
    const entry = record(session, pdu, STATUS.ESME_ROK, id.text);
    const acceptedAt = Date.now();
    const systemId = session.account?.systemId ?? '';
    const stored = { systemId, id, message: pdu, outcome, acceptedAt, current: ENROUTE, doneAt: acceptedAt };
    store.add(stored);
    session.taken++;
    const early = receipts.plan(stored);
    if (script.cutAfter > 0 && session.taken >= script.cutAfter) session.destroy();
    else if (random.chance(script.dropResponseShare)) session.forget();
    else {
      const accepted = { session, sequence: pdu.sequence, status: STATUS.ESME_ROK, messageId: id.text, entry };
      answer(accepted, early ? EARLY_GAP_MS : 0);
    }
  }

  function answer(ready: Answer, extraMs: number): void {
    const reorderMs = random.chance(script.reorderResponseShare) ? script.reorderMs : 0;
    const delayMs = script.responseDelayMs + reorderMs + extraMs;
    if (delayMs > 0) late.after(delayMs, ready);
    else ready.session.answer(ready.sequence, ready.status, ready.messageId, ready.entry);
  }

  function record(session: Session, pdu: Submit, status: number, id: string | null): SubmitEntry | null {
    return ledger.recordSubmit(statusName(status), () => ({
      session: session.id,
      systemId: session.account?.systemId ?? '',
      sequence: pdu.sequence,
      source: pdu.source,
      destination: pdu.destination,
      text: textOf(pdu, 'gsm'),
      esmClass: pdu.esmClass,
      dataCoding: pdu.dataCoding,
      octets: Buffer.from(userData(pdu)).toString('hex'),
      concat: concatOf(pdu),
      id,
    }));
  }

  return {
    submit,
    refused: (session, pdu, status) => ledger.recordAnswer(record(session, pdu, status, null)),
    stop: () => late.stop(),
  };
}

/** Creates a function that returns true for the first `times` submits to a destination, then false once, and so on. */
function createRefusalCounter(): (destination: string, times: number) => boolean {
  const counts = createRecentMap<number>(() => MAX_DESTINATIONS);
  return (destination, times) => {
    const count = counts.get(destination) ?? 0;
    counts.set(destination, count < times ? count + 1 : 0);
    return count < times;
  };
}

type Check = (message: Message, script: SandboxScript) => number;

const UDHI = 0x40;
const MAX_TON = 6;
const ALPHANUMERIC = 5;
const INTERNATIONAL = 1;
const NPIS: ReadonlySet<number> = new Set([0, 1, 3, 4, 6, 8, 9, 10, 14, 18]);

const DIGITS = /^\d{3,20}$/;
const INTERNATIONAL_NUMBER = /^[1-9]\d{6,14}$/;
const ALPHANUMERIC_SENDER = /^[\x20-\x7e]{1,11}$/;

/**
 * Validates a submit_sm like a strict carrier, in this order: lengths,
 * addresses, esm_class against the SAR parameters, times, registered_delivery, and the fields that few carriers check.
 * Returns the status of the first check that fails, or 0.
 */
export function submitStatus(message: Message, script: SandboxScript): number {
  for (const check of CHECKS) {
    const status = check(message, script);
    if (status !== STATUS.ESME_ROK) return status;
  }
  return STATUS.ESME_ROK;
}

const CHECKS: readonly Check[] = [
  checkDataCoding,
  checkLength,
  checkSource,
  checkDestination,
  segmentStatus,
  checkTimes,
  checkRegisteredDelivery,
  checkRest,
];

/** The capacity of one message: 160 septets, or 140 octets; a character has `unit` octets. */
type Room = { readonly septets: boolean; readonly unit: 1 | 2 };

function roomOf(dataCoding: number): Room | null {
  if (dataCoding === 0x00 || dataCoding === 0x01) return { septets: true, unit: 1 };
  if (dataCoding >= 0x02 && dataCoding <= 0x04) return { septets: false, unit: 1 };
  if (dataCoding === 0x08 || dataCoding === 0x18) return { septets: false, unit: 2 };
  // TS 23.038, data coding and message class: bit 2 distinguishes 8-bit from GSM 7-bit.
  if (dataCoding >= 0xf0 && dataCoding <= 0xf7) return { septets: (dataCoding & 0x04) === 0, unit: 1 };
  return null;
}

function checkDataCoding(message: Message): number {
  return roomOf(message.dataCoding) ? STATUS.ESME_ROK : STATUS.ESME_RINVDCS;
}

function checkLength(message: Message): number {
  const length = message.shortMessage.length;
  const payload = message.tlvs.get(TAG.message_payload);
  if (payload) return length > 0 || payload.length === 0 ? STATUS.ESME_RINVMSGLEN : STATUS.ESME_ROK;
  const room = roomOf(message.dataCoding);
  if (!room || length === 0 || length > 254) return STATUS.ESME_RINVMSGLEN;
  const header = message.esmClass & UDHI ? (message.shortMessage[0] ?? 0) + 1 : 0;
  const limit = room.septets ? Math.floor(((140 - header) * 8) / 7) : 140 - header;
  const text = length - header;
  return text < 0 || text > limit || text % room.unit !== 0 ? STATUS.ESME_RINVMSGLEN : STATUS.ESME_ROK;
}

function checkSource({ sourceTon, sourceNpi, source }: Message, script: SandboxScript): number {
  if (sourceTon > MAX_TON) return STATUS.ESME_RINVSRCTON;
  if (!NPIS.has(sourceNpi)) return STATUS.ESME_RINVSRCNPI;
  if (source === '') return sourceTon === 0 && sourceNpi === 0 ? STATUS.ESME_ROK : STATUS.ESME_RINVSRCADR;
  if (sourceTon !== ALPHANUMERIC) return isNumber(source, sourceTon, script) ? STATUS.ESME_ROK : STATUS.ESME_RINVSRCADR;
  if (sourceNpi > 1) return STATUS.ESME_RINVSRCNPI;
  return ALPHANUMERIC_SENDER.test(source) ? STATUS.ESME_ROK : STATUS.ESME_RINVSRCADR;
}

function checkDestination({ destTon, destNpi, destination }: Message, script: SandboxScript): number {
  if (destTon > MAX_TON || destTon === ALPHANUMERIC) return STATUS.ESME_RINVDSTTON;
  if (!NPIS.has(destNpi)) return STATUS.ESME_RINVDSTNPI;
  return isNumber(destination, destTon, script) ? STATUS.ESME_ROK : STATUS.ESME_RINVDSTADR;
}

function isNumber(address: string, ton: number, script: SandboxScript): boolean {
  const digits = script.allowPlus && address.startsWith('+') ? address.slice(1) : address;
  return (ton === INTERNATIONAL ? INTERNATIONAL_NUMBER : DIGITS).test(digits);
}

/**
 * Checks the times. Scheduling is rejected, as at several aggregators; a validity must be readable and in the future.
 */
function checkTimes({ scheduleTime, validity }: Message): number {
  if (scheduleTime !== '') return STATUS.ESME_RINVSCHED;
  if (validity === '') return STATUS.ESME_ROK;
  return readTime(validity) > Date.now() ? STATUS.ESME_ROK : STATUS.ESME_RINVEXPIRY;
}

const lastTime = { text: '', at: 0 };

/**
 * Returns milliseconds since the epoch; 0 for an invalid time. Consecutive messages mostly share their validity, so one
 * is cached.
 */
function readTime(text: string): number {
  if (lastTime.text === text) return lastTime.at;
  const time = parseTime(text);
  if (time && !(time instanceof Date)) return Date.now() + time.relativeMs;
  lastTime.text = text;
  lastTime.at = time?.getTime() ?? 0;
  return lastTime.at;
}

/** SMPP 3.4: bits 1-0 are 0 to 2 (3 is reserved), bits 7-5 are 0. */
function checkRegisteredDelivery({ registeredDelivery }: Message): number {
  const valid = (registeredDelivery & 0x03) !== 0x03 && (registeredDelivery & 0xe0) === 0;
  return valid ? STATUS.ESME_ROK : STATUS.ESME_RINVREGDLVFLG;
}

function checkRest(message: Message): number {
  if (message.serviceType.length > 5) return STATUS.ESME_RINVSERTYP;
  if (message.priority > 3) return STATUS.ESME_RINVPRTFLG;
  if (message.replaceIfPresent > 1) return STATUS.ESME_RINVREPFLAG;
  return message.defaultMessageId === 0 ? STATUS.ESME_ROK : STATUS.ESME_RINVDFTMSGID;
}

type ReceiptPlanner = {
  /**
   * Schedules the receipts of an accepted message; returns true when the first one was sent immediately, before the
   * response.
   */
  plan(stored: StoredMessage): boolean;
  /** Returns the number of messages whose next state is not due yet. */
  scheduled(): number;
  stop(): void;
};

type ReceiptDeps = {
  readonly script: SandboxScript;
  readonly ledger: LedgerWriter;
  readonly random: Random;
  account(systemId: string): Account;
};

/** The next state of a message; `silent` when it is reached without a receipt. */
type Due = { readonly stored: StoredMessage; readonly step: number; readonly silent: boolean };

const DEFAULT_STEPS: readonly ReceiptStep[] = [DELIVERED];
const FOREIGN_DIGITS = 1e9;

/** Creates the schedule that moves messages through their states and sends the requested receipts. */
export function createReceiptPlanner({ script, ledger, random, account }: ReceiptDeps): ReceiptPlanner {
  const timeline = createTimeline<Due>(reach);

  function plan(stored: StoredMessage): boolean {
    const { early = false } = stored.outcome;
    const silent = script.receipts === 'none' || random.chance(script.missingReceiptShare);
    const due = { stored, step: 0, silent };
    if (early || random.chance(script.earlyReceiptShare)) {
      reach(due);
      return true;
    }
    schedule(due);
    return false;
  }

  function schedule(due: Due): void {
    if (due.step >= stepsOf(due.stored).length) return;
    const reorderMs = random.chance(script.reorderReceiptShare) ? script.reorderMs : 0;
    timeline.after(script.receiptDelayMs + reorderMs, due);
  }

  function reach({ stored, step, silent }: Due): void {
    const cancelled = stored.current === DELETED;
    const next = cancelled ? DELETED : stepsOf(stored)[step];
    if (!next) return;
    stored.current = next;
    stored.doneAt = Date.now();
    if (!silent && isAskedFor(stored.message.registeredDelivery, next)) send(stored, next);
    if (!cancelled) schedule({ stored, step: step + 1, silent });
  }

  function send(stored: StoredMessage, step: ReceiptStep): void {
    deliver(stored, step, stored.id);
    if (stored.outcome.doubled || random.chance(script.doubleReceiptShare)) deliver(stored, step, stored.id);
    if (random.chance(script.foreignReceiptShare)) deliver(stored, step, foreignId(random));
  }

  function deliver(stored: StoredMessage, step: ReceiptStep, id: MessageId): void {
    const spelled = receiptId(id.text, id.number, script);
    const message = receiptMessage(stored, step, spelled, script.receiptForm);
    const entry = ledger.recordDelivery('receipt', () => ({
      systemId: stored.systemId,
      receiptId: spelled,
      id: id === stored.id ? id.text : '',
      text: step.stat,
      source: message.source,
      destination: message.destination,
    }));
    const frame = deliverFrame(message);
    account(stored.systemId).outbox.add({ kind: 'receipt', frame, entry, failures: 0, settled: null });
  }

  return { plan, scheduled: timeline.size, stop: () => timeline.stop() };
}

function stepsOf(stored: StoredMessage): readonly ReceiptStep[] {
  return stored.outcome.receipts ?? DEFAULT_STEPS;
}

/** registered_delivery bits 1-0: 0 none, 1 every final state, 2 failures only (SMPP 3.4, 5.2.17). */
function isAskedFor(registeredDelivery: number, step: ReceiptStep): boolean {
  const mode = registeredDelivery & 0x03;
  return mode === 1 || (mode === 2 && step.state !== DELIVERED.state);
}

/** Returns an id far below any that the simulator assigns. */
function foreignId(random: Random): MessageId {
  const number = 1 + Math.floor(random.next() * FOREIGN_DIGITS);
  return { text: String(number), number };
}

const RECEIPT = 0x04;
const INTERMEDIATE = 0x20;
const WANTS_INTERMEDIATE = 0x10;
/** The sender of messages that left the choice to the carrier. */
const OWN_SENDER = '10000';
const NO_TEXT = new Uint8Array(0);

/** Builds the deliver_sm of a receipt, with the addresses of the submit swapped (SMPP 3.4, appendix B). */
function receiptMessage(
  stored: StoredMessage,
  step: ReceiptStep,
  id: string,
  form: SandboxScript['receiptForm'],
): Message {
  const { message } = stored;
  const intermediate = !FINAL_STATES.has(step.state) && (message.registeredDelivery & WANTS_INTERMEDIATE) !== 0;
  return {
    ...EMPTY_MESSAGE,
    serviceType: message.serviceType,
    sourceTon: message.destTon,
    sourceNpi: message.destNpi,
    source: message.destination,
    destTon: message.sourceTon,
    destNpi: message.sourceNpi,
    destination: message.source || OWN_SENDER,
    esmClass: intermediate ? INTERMEDIATE : RECEIPT,
    shortMessage: form === 'tlv' ? NO_TEXT : Buffer.from(receiptTextOf(stored, step, id), 'latin1'),
    tlvs: form === 'text' ? NO_TLVS : receiptTlvs({ id, state: step.state, error: Number(step.err) }),
  };
}

function receiptTextOf(stored: StoredMessage, step: ReceiptStep, id: string): string {
  return receiptText({
    id,
    submittedAt: new Date(stored.acceptedAt),
    doneAt: new Date(stored.doneAt),
    stat: step.stat,
    err: step.err,
    text: quoteOf(stored.message),
  });
}

const QUOTED_OCTETS = 20;

/** Returns the first octets unchanged, since a receipt has the same default alphabet. Other codings are not quoted. */
function quoteOf(message: Message): string {
  if (message.dataCoding !== 0) return '';
  const octets = userData(message);
  const start = message.esmClass & UDHI ? (octets[0] ?? 0) + 1 : 0;
  const end = Math.min(start + QUOTED_OCTETS, octets.length);
  return Buffer.from(octets.buffer, octets.byteOffset, octets.length).toString('latin1', start, end);
}

/** A message from a handset to one of the client's numbers. */
export type InboundMessage = {
  /** Digits without a plus sign. */
  readonly source: string;
  readonly destination: string;
  readonly text: string;
  /** Way of splitting a long text (default `udh8`); `payload` puts any text in message_payload. */
  readonly longMode?: LongMode;
  /** True to send the parts in reverse order. */
  readonly outOfOrder?: boolean;
  /** The concatenation reference; by default the next value of a counter. */
  readonly ref?: number;
  /** The account that receives the message; by default the one that bound last. */
  readonly systemId?: string;
};

/** Returns the deliver_sm of an inbound message, one per part, in the order of delivery. */
export function inboundMessages(inbound: InboundMessage, ref: number): Message[] {
  const longMode = inbound.longMode ?? 'udh8';
  const { dataCoding, parts } = encodeText(inbound.text, { longMode });
  const { source, destination } = inbound;
  const messages = parts.map((octets, index) => ({
    ...EMPTY_MESSAGE,
    sourceTon: 1,
    sourceNpi: 1,
    source,
    destination,
    dataCoding,
    ...partOf(octets, { ref, total: parts.length, seq: index + 1 }, longMode),
  }));
  return inbound.outOfOrder ? messages.toReversed() : messages;
}

type PartPosition = { readonly ref: number; readonly total: number; readonly seq: number };
type Content = Pick<Message, 'esmClass' | 'shortMessage' | 'tlvs'>;

function partOf(octets: Uint8Array, { ref, total, seq }: PartPosition, longMode: LongMode): Content {
  if (longMode === 'payload') {
    const tlvs = new Map([[TAG.message_payload as number, octets]]);
    return { esmClass: 0, shortMessage: new Uint8Array(0), tlvs };
  }
  if (total === 1) return { esmClass: 0, shortMessage: octets, tlvs: NO_TLVS };
  if (longMode === 'sar') return { esmClass: 0, shortMessage: octets, tlvs: sarTlvs({ ref, total, seq }) };
  const header = udhConcat(ref, total, seq, longMode === 'udh16' ? 16 : 8);
  return { esmClass: UDHI, shortMessage: Buffer.concat([header, octets]), tlvs: NO_TLVS };
}

function sarTlvs({ ref, total, seq }: PartPosition): Tlvs {
  return new Map<number, Uint8Array>([
    [TAG.sar_msg_ref_num, uint16(ref)],
    [TAG.sar_total_segments, uint8(total)],
    [TAG.sar_segment_seqnum, uint8(seq)],
  ]);
}
