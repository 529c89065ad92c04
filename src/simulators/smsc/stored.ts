import type { Message, Pdu, PduOf } from '../../carriers/smpp/pdu.ts';
import { STATUS } from '../../carriers/smpp/status.ts';
import { absoluteTime } from '../../carriers/smpp/times.ts';
import type { LedgerWriter } from './ledger.ts';
import type { MessageId } from './message-ids.ts';
import { DELETED, FINAL_STATES, type Outcome, type ReceiptStep, type SandboxScript } from './script.ts';

/** An accepted message. */
export type StoredMessage = {
  readonly systemId: string;
  readonly id: MessageId;
  message: Message;
  readonly outcome: Outcome;
  /** Milliseconds since the epoch. */
  readonly acceptedAt: number;
  /** The current state. */
  current: ReceiptStep;
  /** Time of the last change of state, in milliseconds since the epoch. */
  doneAt: number;
};

/** The state of a message that was just accepted. */
export const ENROUTE: ReceiptStep = { stat: 'ENROUTE', state: 1, err: '000' };

/** The accepted messages; see `createMessageStore`. */
export type MessageStore = {
  add(stored: StoredMessage): void;
  /** Handles a query_sm, cancel_sm or replace_sm of an account. */
  query(systemId: string, pdu: PduOf<'query_sm'>): Pdu;
  cancel(systemId: string, pdu: PduOf<'cancel_sm'>): Pdu;
  replace(systemId: string, pdu: PduOf<'replace_sm'>): Pdu;
};

/**
 * Creates a store of (at least) the newest `keepMessages` messages for query_sm, cancel_sm and replace_sm. These
 * requests are rare compared with submits, so they search linearly: an index of the ids was the most expensive part of
 * a submit.
 */
export function createMessageStore(script: SandboxScript, ledger: LedgerWriter): MessageStore {
  let young: StoredMessage[] = [];
  let old: StoredMessage[] = [];

  function add(stored: StoredMessage): void {
    young.push(stored);
    if (young.length < Math.max(1, script.keepMessages)) return;
    old = young;
    young = [];
  }

  /** Finds a message by its id and source address, only for its own account. */
  function find(systemId: string, { messageId, source }: { messageId: string; source: string }): StoredMessage | null {
    const hasId = (one: StoredMessage): boolean => one.id.text === messageId;
    const stored = young.findLast(hasId) ?? old.findLast(hasId);
    return stored?.systemId === systemId && stored.message.source === source ? stored : null;
  }

  function query(systemId: string, pdu: PduOf<'query_sm'>): Pdu {
    ledger.count('queried');
    const stored = find(systemId, pdu);
    const final = stored !== null && FINAL_STATES.has(stored.current.state);
    return {
      command: 'query_sm_resp',
      status: stored ? STATUS.ESME_ROK : STATUS.ESME_RINVMSGID,
      sequence: pdu.sequence,
      messageId: stored?.id.text ?? '',
      finalDate: final ? absoluteTime(new Date(stored.doneAt)) : '',
      messageState: stored?.current.state ?? 0,
      errorCode: Number(stored?.current.err ?? 0),
    };
  }

  function cancel(systemId: string, pdu: PduOf<'cancel_sm'>): Pdu {
    const stored = find(systemId, pdu);
    const status = changeStatus(stored, STATUS.ESME_RCANCELFAIL);
    if (stored && status === STATUS.ESME_ROK) {
      ledger.count('cancelled');
      stored.current = DELETED;
      stored.doneAt = Date.now();
    }
    return { command: 'cancel_sm_resp', status, sequence: pdu.sequence };
  }

  function replace(systemId: string, pdu: PduOf<'replace_sm'>): Pdu {
    const stored = find(systemId, pdu);
    const status = changeStatus(stored, STATUS.ESME_RREPLACEFAIL);
    if (stored && status === STATUS.ESME_ROK) {
      ledger.count('replaced');
      stored.message = {
        ...stored.message,
        shortMessage: pdu.shortMessage,
        registeredDelivery: pdu.registeredDelivery,
      };
    }
    return { command: 'replace_sm_resp', status, sequence: pdu.sequence };
  }

  return { add, query, cancel, replace };
}

function changeStatus(stored: StoredMessage | null, tooLate: number): number {
  if (!stored) return STATUS.ESME_RINVMSGID;
  return FINAL_STATES.has(stored.current.state) ? tooLate : STATUS.ESME_ROK;
}
