import type { Socket } from 'node:net';
import { createLink, type Link, withoutTlvs, withSequence } from '../smpp/link.ts';
import { COMMAND, type Pdu, type PduOf } from '../smpp/pdu.ts';
import { STATUS } from '../smpp/status.ts';
import { NO_TLVS, TAG, uint8 } from '../smpp/wire.ts';
import type { Account, Delivery, Outbox } from './smsc-account.ts';
import type { LedgerWriter, SubmitEntry } from './smsc-ledger.ts';
import type { SandboxScript } from './smsc-script.ts';

/** The kinds of binds. */
export type BindMode = 'transmitter' | 'receiver' | 'transceiver';

/** Services of the simulator that a session uses. */
export type Services = {
  readonly script: SandboxScript;
  readonly ledger: LedgerWriter;
  account(systemId: string): Account;
  /** Handles a submit; responds to it, now or later, with `session.answer`. */
  submit(session: Session, pdu: PduOf<'submit_sm'>): void;
  /** Looks up an accepted message; returns the response. */
  query(systemId: string, pdu: PduOf<'query_sm'>): Pdu;
  /** Cancels an accepted message; returns the response. */
  cancel(systemId: string, pdu: PduOf<'cancel_sm'>): Pdu;
  /** Replaces the text of an accepted message; returns the response. */
  replace(systemId: string, pdu: PduOf<'replace_sm'>): Pdu;
  /** Called when a session has ended. */
  closed(session: Session): void;
};

/** One connection of a client, from accept to close. */
export type Session = {
  readonly id: number;
  /** Null until it has bound. */
  readonly account: Account | null;
  readonly mode: BindMode | null;
  /** The version declared in the bind; below 0x34 no optional parameters may be sent. */
  readonly interfaceVersion: number;
  /** Submits whose response has not been written to the socket. */
  readonly unanswered: number;
  /** Accepted submits. */
  taken: number;
  /** Returns true if the session is bound to submit. */
  canSubmit(): boolean;
  /** Sends the response to a submit. */
  answer(sequence: number, status: number, messageId: string, entry: SubmitEntry | null): void;
  /** Removes a submit that will never get a response from `unanswered`. */
  forget(): void;
  /** Checks the session's timeouts. */
  sweep(): void;
  /** Asks the client to unbind; the connection closes with its response. */
  unbind(): void;
  /** Stops or resumes reading. */
  hold(held: boolean): void;
  /** Closes the connection immediately. */
  destroy(): void;
};

const MAX_SEQUENCE = 0x7fffffff;
const RESPONSE_BIT = 0x80000000;

/** Runs the server side of SMPP 3.4 on a socket: bind states, liveness, and the dispatch of each PDU. */
export function createSession(id: number, socket: Socket, services: Services): Session {
  const { script, ledger } = services;
  const link: Link = createLink(socket, { pdu: receive, broken: (reason) => recordViolation(reason), closed });
  const startedAt = performance.now();
  let account: Account | null = null;
  let mode: BindMode | null = null;
  let interfaceVersion = 0;
  let window: DeliverWindow | null = null;
  let sequence = 0;
  let lastRequest = 0;
  let unanswered = 0;
  let enquired = false;
  let released = false;

  function recordViolation(text: string): void {
    ledger.violation(`session ${id}: ${text}`);
  }

  function nextSequence(): number {
    sequence = sequence === MAX_SEQUENCE ? 1 : sequence + 1;
    return sequence;
  }

  function receive(pdu: Pdu): void {
    if (COMMAND[pdu.command] < RESPONSE_BIT) checkRequest(pdu);
    switch (pdu.command) {
      case 'bind_transmitter':
        return bind(pdu, 'transmitter', 'bind_transmitter_resp');
      case 'bind_receiver':
        return bind(pdu, 'receiver', 'bind_receiver_resp');
      case 'bind_transceiver':
        return bind(pdu, 'transceiver', 'bind_transceiver_resp');
      case 'submit_sm':
        unanswered++;
        return services.submit(session, pdu);
      case 'query_sm':
      case 'cancel_sm':
      case 'replace_sm':
        return link.send(handleStoredMessage(pdu));
      case 'deliver_sm_resp':
        return deliverAnswered(pdu);
      case 'generic_nack':
        return deliverAnswered(pdu);
      case 'enquire_link':
        return link.send({ command: 'enquire_link_resp', status: 0, sequence: pdu.sequence });
      case 'enquire_link_resp':
        return enquireAnswered();
      case 'unbind':
        return unbound(pdu.sequence);
      case 'unbind_resp':
        return link.end();
      default:
        return refuseCommand(pdu);
    }
  }

  function checkRequest(pdu: Pdu): void {
    if (pdu.status !== 0) recordViolation(`${pdu.command} with command_status ${pdu.status}`);
    if (pdu.sequence < 1 || pdu.sequence > MAX_SEQUENCE)
      recordViolation(`${pdu.command} with sequence ${pdu.sequence}`);
    else if (pdu.sequence <= lastRequest && lastRequest !== MAX_SEQUENCE) {
      recordViolation(`${pdu.command} with the used or lower sequence ${pdu.sequence}`);
    }
    lastRequest = pdu.sequence;
  }

  function bind(pdu: Bind, wanted: BindMode, command: `bind_${BindMode}_resp`): void {
    const status = account ? STATUS.ESME_RALYBND : bindStatus(script, pdu) || capacityStatus(pdu.systemId);
    ledger.count(status === 0 ? 'binds' : 'bindsRefused');
    if (status !== 0) {
      link.send({ command, status, sequence: pdu.sequence, systemId: '', tlvs: NO_TLVS });
      return;
    }
    interfaceVersion = pdu.interfaceVersion;
    const tlvs = interfaceVersion < 0x34 ? NO_TLVS : new Map([[TAG.sc_interface_version as number, uint8(0x34)]]);
    link.send({ command, status: 0, sequence: pdu.sequence, systemId: 'SANDBOX', tlvs });
    open(services.account(pdu.systemId), wanted);
  }

  function capacityStatus(systemId: string): number {
    const full = script.maxBinds > 0 && services.account(systemId).binds >= script.maxBinds;
    return full ? STATUS.ESME_RALYBND : STATUS.ESME_ROK;
  }

  function open(bound: Account, wanted: BindMode): void {
    account = bound;
    mode = wanted;
    account.bound();
    if (mode === 'transmitter') return;
    window = createDeliverWindow(script, ledger, account.outbox, sendDeliver);
    account.outbox.join(window);
  }

  function sendDeliver(delivery: Delivery): number {
    const number = nextSequence();
    if (interfaceVersion < 0x34) delivery.frame = withoutTlvs(delivery.frame);
    // The socket may still hold the octets of an earlier attempt.
    else if (delivery.failures > 0) delivery.frame = Buffer.from(delivery.frame);
    link.sendFrame(withSequence(delivery.frame, number));
    return number;
  }

  function deliverAnswered(pdu: PduOf<'deliver_sm_resp'> | PduOf<'generic_nack'>): void {
    const status = pdu.command === 'generic_nack' && pdu.status === 0 ? STATUS.ESME_RUNKNOWNERR : pdu.status;
    if (!window?.answered(pdu.sequence, status)) recordViolation(`${pdu.command} for unknown sequence ${pdu.sequence}`);
    if (pdu.command === 'deliver_sm_resp' && pdu.messageId !== '') recordViolation('deliver_sm_resp with a message_id');
  }

  function handleStoredMessage(pdu: PduOf<'query_sm'> | PduOf<'cancel_sm'> | PduOf<'replace_sm'>): Pdu {
    if (!account || mode === 'receiver') return outOfState(pdu);
    if (pdu.command === 'query_sm') return services.query(account.systemId, pdu);
    if (pdu.command === 'cancel_sm') return services.cancel(account.systemId, pdu);
    return services.replace(account.systemId, pdu);
  }

  function outOfState(pdu: PduOf<'query_sm'> | PduOf<'cancel_sm'> | PduOf<'replace_sm'>): Pdu {
    recordViolation(`${pdu.command} while ${mode ?? 'not bound'}`);
    const head = { status: STATUS.ESME_RINVBNDSTS, sequence: pdu.sequence };
    if (pdu.command !== 'query_sm') return { command: `${pdu.command}_resp`, ...head };
    return { command: 'query_sm_resp', ...head, messageId: '', finalDate: '', messageState: 0, errorCode: 0 };
  }

  function enquireAnswered(): void {
    if (!enquired) recordViolation('enquire_link_resp without an enquire_link');
    enquired = false;
  }

  function unbound(requestSequence: number): void {
    const status = account ? STATUS.ESME_ROK : STATUS.ESME_RINVBNDSTS;
    link.send({ command: 'unbind_resp', status, sequence: requestSequence });
    if (!account) return;
    release();
    link.end();
  }

  /** Rejects broadcast, submit_multi and other unsupported commands; a response never gets a response. */
  function refuseCommand(pdu: Pdu): void {
    recordViolation(`${pdu.command} is not supported`);
    if (COMMAND[pdu.command] >= RESPONSE_BIT) return;
    link.send({ command: 'generic_nack', status: STATUS.ESME_RINVCMDID, sequence: pdu.sequence });
  }

  function answer(requestSequence: number, status: number, messageId: string, entry: SubmitEntry | null): void {
    const response = { status, sequence: requestSequence, messageId, tlvs: NO_TLVS };
    link.send({ command: 'submit_sm_resp', ...response }, () => {
      unanswered--;
      ledger.recordAnswer(entry);
    });
  }

  function sweep(): void {
    window?.sweep();
    if (!account && performance.now() - startedAt > script.bindTimeoutMs) link.end();
    const silentMs = link.silentMs();
    if (silentMs > script.idleMs) link.end();
    else if (account && !enquired && silentMs > script.enquireMs) enquire();
  }

  function enquire(): void {
    enquired = true;
    link.send({ command: 'enquire_link', status: 0, sequence: nextSequence() });
  }

  /** Releases the bind, and passes unanswered deliveries to the other binds of the account. */
  function release(): void {
    if (released || !account) return;
    released = true;
    account.unbound();
    if (window) account.outbox.leave(window, window.open());
  }

  function closed(): void {
    release();
    services.closed(session);
  }

  const session: Session = {
    id,
    taken: 0,
    get account() {
      return account;
    },
    get mode() {
      return mode;
    },
    get interfaceVersion() {
      return interfaceVersion;
    },
    get unanswered() {
      return unanswered;
    },
    canSubmit: () => account !== null && mode !== 'receiver',
    answer,
    forget: () => void unanswered--,
    sweep,
    unbind: () => link.send({ command: 'unbind', status: 0, sequence: nextSequence() }),
    hold: link.hold,
    destroy: link.destroy,
  };
  ledger.count('connections');
  return session;
}

/** Any bind request. */
type Bind = PduOf<'bind_transmitter'> | PduOf<'bind_receiver'> | PduOf<'bind_transceiver'>;

const MAX_SYSTEM_ID_LENGTH = 15;
const MAX_SYSTEM_TYPE_LENGTH = 12;
const VERSIONS: ReadonlySet<number> = new Set([0x33, 0x34, 0x50]);

/** Returns the status for a bind on a connection that is not bound yet; 0 when the bind is valid. */
function bindStatus(script: SandboxScript, pdu: Bind): number {
  if (script.bindRefusal) return STATUS[script.bindRefusal];
  if (!VERSIONS.has(pdu.interfaceVersion)) return STATUS.ESME_RBINDFAIL;
  if (!isSystemId(script, pdu.systemId)) return STATUS.ESME_RINVSYSID;
  if (!isPassword(script, pdu.password)) return STATUS.ESME_RINVPASWD;
  if (pdu.systemType.length > MAX_SYSTEM_TYPE_LENGTH) return STATUS.ESME_RINVSYSTYP;
  return STATUS.ESME_ROK;
}

function isSystemId(script: SandboxScript, systemId: string): boolean {
  if (systemId.length === 0 || systemId.length > MAX_SYSTEM_ID_LENGTH) return false;
  return script.systemId === undefined || script.systemId === systemId;
}

function isPassword(script: SandboxScript, password: string): boolean {
  if (script.maxPasswordLength > 0 && password.length > script.maxPasswordLength) return false;
  return script.password === undefined || script.password === password;
}

/** The deliver_sm of one session that wait for their response. */
type DeliverWindow = {
  /** Returns true if another deliver_sm may be sent. */
  room(): boolean;
  deliver(delivery: Delivery): void;
  /** Settles a deliver_sm; returns false when none with this sequence number waits for a response. */
  answered(sequence: number, status: number): boolean;
  /** Returns deliveries without a response for `retryMs` to the outbox. */
  sweep(): void;
  /** Returns the unanswered deliveries, oldest first. */
  open(): Iterable<Delivery>;
};

/**
 * Creates the window of one session with room for `deliverWindow` unanswered deliver_sm. `send` passes the PDU to the
 * connection and returns its sequence number.
 */
function createDeliverWindow(
  script: SandboxScript,
  ledger: LedgerWriter,
  outbox: Outbox,
  send: (delivery: Delivery) => number,
): DeliverWindow {
  /** By sequence number; a Map keeps the order in which they were sent. */
  const inFlight = new Map<number, { readonly delivery: Delivery; readonly sentAt: number }>();

  return {
    room: () => inFlight.size < script.deliverWindow,
    deliver(delivery) {
      ledger.recordTry(delivery.entry);
      inFlight.set(send(delivery), { delivery, sentAt: performance.now() });
    },
    answered(sequence, status) {
      const sent = inFlight.get(sequence);
      if (!sent) return false;
      inFlight.delete(sequence);
      outbox.answered(sent.delivery, status);
      return true;
    },
    sweep() {
      const overdue = performance.now() - script.retryMs;
      for (const [sequence, sent] of inFlight) {
        if (sent.sentAt > overdue) return;
        inFlight.delete(sequence);
        outbox.answered(sent.delivery, null);
      }
    },
    open: () => [...inFlight.values()].map((sent) => sent.delivery),
  };
}
