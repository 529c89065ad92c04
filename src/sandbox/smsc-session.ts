import type { Socket } from 'node:net';
import { withoutTlvs } from '../smpp/link.ts';
import type { AnyPduOf, Pdu, PduOf } from '../smpp/pdu.ts';
import { type Answer, type BindMode, type BindRequest, deliveryStatus, openSession } from '../smpp/session.ts';
import { STATUS } from '../smpp/status.ts';
import { NO_TLVS, TAG, uint8 } from '../smpp/wire.ts';
import type { Account, Delivery } from './smsc-account.ts';
import type { LedgerWriter, SubmitEntry } from './smsc-ledger.ts';
import type { SandboxScript } from './smsc-script.ts';

/** Services of the simulator that a session uses. */
export type Services = {
  readonly script: SandboxScript;
  readonly ledger: LedgerWriter;
  account(systemId: string): Account;
  /** Handles a submit; responds to it, now or later, with `session.answer`. */
  submit(session: Session, pdu: PduOf<'submit_sm'>): void;
  /** Records a submit that the bind does not allow. */
  refused(session: Session, pdu: PduOf<'submit_sm'>, status: number): void;
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
  /** Requests without a response. */
  readonly unanswered: number;
  /** Accepted submits. */
  taken: number;
  /** Sends the response to a submit. */
  answer(sequence: number, status: number, messageId: string, entry: SubmitEntry | null): void;
  /** Removes a submit that will never get a response from `unanswered`. */
  forget(): void;
  sweep(): void;
  /** Asks the client to unbind; the connection closes with its response. */
  unbind(): void;
  /** Stops or resumes reading. */
  hold(held: boolean): void;
  /** Closes the connection immediately. */
  destroy(): void;
};

const SERVES = ['submit_sm', 'query_sm', 'cancel_sm', 'replace_sm'] as const;
const NO_WAIT = { answersMs: 0, owedMs: 0 };
const MAX_SEQUENCE = 0x7fffffff;

/** Runs the simulated carrier's side of one connection, and records what its client does against the protocol. */
export function createSession(id: number, socket: Socket, services: Services): Session {
  const { script, ledger } = services;
  const smpp = openSession(
    socket,
    {
      serves: SERVES,
      enquireMs: () => script.enquireMs,
      bindMs: () => script.bindTimeoutMs,
      unbindWait: NO_WAIT,
    },
    {
      arrived: checkRequest,
      bind,
      request: serve,
      refused,
      broken: recordViolation,
      stray: (command, sequence) => recordViolation(`${command} for unknown sequence ${sequence}`),
      leaving: release,
      closed,
    },
  );
  let account: Account | null = null;
  /** Below 0x34 no optional parameters may be sent. */
  let interfaceVersion = 0;
  let lastRequest = 0;
  let released = false;
  /** The unanswered deliveries, oldest first. */
  const open = new Set<Delivery>();
  const receiver = { room: () => open.size < script.deliverWindow, deliver };

  function recordViolation(text: string): void {
    ledger.violation(`session ${id}: ${text}`);
  }

  function checkRequest(pdu: Pdu): boolean {
    if (pdu.status !== 0) recordViolation(`${pdu.command} with command_status ${pdu.status}`);
    if (pdu.sequence < 1 || pdu.sequence > MAX_SEQUENCE)
      recordViolation(`${pdu.command} with sequence ${pdu.sequence}`);
    else if (pdu.sequence <= lastRequest && lastRequest !== MAX_SEQUENCE) {
      recordViolation(`${pdu.command} with the used or lower sequence ${pdu.sequence}`);
    }
    lastRequest = pdu.sequence;
    return true;
  }

  function serve(pdu: AnyPduOf<(typeof SERVES)[number]>): void {
    const systemId = account?.systemId ?? '';
    switch (pdu.command) {
      case 'submit_sm':
        return services.submit(session, pdu);
      case 'query_sm':
        return smpp.respond(services.query(systemId, pdu));
      case 'cancel_sm':
        return smpp.respond(services.cancel(systemId, pdu));
      case 'replace_sm':
        return smpp.respond(services.replace(systemId, pdu));
      default:
        return pdu satisfies never;
    }
  }

  function refused(pdu: Pdu, status: number): void {
    if (pdu.command.startsWith('bind_')) ledger.count('bindsRefused');
    else if (pdu.command === 'submit_sm') services.refused(session, pdu, status);
    else if (status === STATUS.ESME_RINVCMDID) recordViolation(`${pdu.command} is not supported`);
    else recordViolation(`${pdu.command} while ${smpp.mode ?? 'not bound'}`);
  }

  function bind(mode: BindMode, pdu: BindRequest): void {
    const status = bindStatus(script, pdu) || capacityStatus(pdu.systemId);
    if (status !== STATUS.ESME_ROK) return smpp.refuse(pdu, status);
    ledger.count('binds');
    interfaceVersion = pdu.interfaceVersion;
    const tlvs = interfaceVersion < 0x34 ? NO_TLVS : new Map([[TAG.sc_interface_version as number, uint8(0x34)]]);
    const { command, sequence } = pdu;
    smpp.bound(mode, { command: `${command}_resp`, status, sequence, systemId: 'SANDBOX', tlvs });
    account = services.account(pdu.systemId);
    account.bound();
    if (mode !== 'transmitter') account.outbox.join(receiver);
  }

  function capacityStatus(systemId: string): number {
    const full = script.maxBinds > 0 && services.account(systemId).binds >= script.maxBinds;
    return full ? STATUS.ESME_RALYBND : STATUS.ESME_ROK;
  }

  function deliver(delivery: Delivery): void {
    ledger.recordTry(delivery.entry);
    if (interfaceVersion < 0x34) delivery.frame = withoutTlvs(delivery.frame);
    // The socket may still hold the octets of an earlier attempt.
    else if (delivery.failures > 0) delivery.frame = Buffer.from(delivery.frame);
    open.add(delivery);
    smpp.request(delivery.frame, script.retryMs, (answer) => delivered(delivery, answer));
  }

  function delivered(delivery: Delivery, answer: Answer): void {
    if (answer.kind === 'closed' || !open.delete(delivery)) return;
    account?.outbox.answered(delivery, deliveryStatus(answer));
    if (answer.kind === 'response' && answer.pdu.command === 'deliver_sm_resp' && answer.pdu.messageId !== '')
      recordViolation('deliver_sm_resp with a message_id');
  }

  function answer(sequence: number, status: number, messageId: string, entry: SubmitEntry | null): void {
    const response: Pdu = { command: 'submit_sm_resp', status, sequence, messageId, tlvs: NO_TLVS };
    smpp.respond(response, () => ledger.recordAnswer(entry));
  }

  /** Releases the bind, and passes unanswered deliveries to the other binds of the account. */
  function release(): void {
    if (!account || released) return;
    released = true;
    account.unbound();
    account.outbox.leave(receiver, open);
    open.clear();
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
      return smpp.mode;
    },
    get unanswered() {
      return smpp.owed();
    },
    answer,
    forget: smpp.forget,
    sweep: smpp.sweep,
    unbind: () => smpp.leave('the simulator unbinds', NO_WAIT),
    hold: smpp.hold,
    destroy: () => smpp.destroy('the simulator closes'),
  };
  ledger.count('connections');
  return session;
}

const MAX_SYSTEM_ID_LENGTH = 15;
const MAX_SYSTEM_TYPE_LENGTH = 12;
const VERSIONS: ReadonlySet<number> = new Set([0x33, 0x34, 0x50]);

/** Returns the status for a bind on a connection that is not bound yet; 0 when the bind is valid. */
function bindStatus(script: SandboxScript, pdu: BindRequest): number {
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
