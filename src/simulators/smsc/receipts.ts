import { EMPTY_MESSAGE, type Message } from '../../carriers/smpp/pdu.ts';
import { receiptTlvs } from '../../carriers/smpp/receipt-tlvs.ts';
import { receiptText } from '../../carriers/smpp/receipts.ts';
import { userData } from '../../carriers/smpp/text.ts';
import { NO_TLVS } from '../../carriers/smpp/tlv.ts';
import type { Account } from './account.ts';
import { deliverFrame } from '../../carriers/smpp/deliver-frame.ts';
import type { LedgerWriter } from './ledger.ts';
import { type MessageId, receiptId } from './message-ids.ts';
import type { Random } from './random.ts';
import { DELETED, DELIVERED, FINAL_STATES, type ReceiptStep, type SandboxScript } from './script.ts';
import type { StoredMessage } from './stored.ts';
import { createTimeline } from './timeline.ts';

/** The schedule of receipts. */
export type ReceiptPlanner = {
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
const UDHI = 0x40;

/** Returns the first octets unchanged, since a receipt has the same default alphabet. Other codings are not quoted. */
function quoteOf(message: Message): string {
  if (message.dataCoding !== 0) return '';
  const octets = userData(message);
  const start = message.esmClass & UDHI ? (octets[0] ?? 0) + 1 : 0;
  const end = Math.min(start + QUOTED_OCTETS, octets.length);
  return Buffer.from(octets.buffer, octets.byteOffset, octets.length).toString('latin1', start, end);
}
