import type { Socket } from 'node:net';
import type { Log } from '../core/log.ts';
import { SECOND_MS } from '../core/time.ts';
import { createLink, MAX_FRAME, withSequence } from '../smpp/link.ts';
import { type AnyPduOf, COMMAND, type CommandName, type Pdu, withoutBody } from '../smpp/pdu.ts';
import { STATUS, statusName } from '../smpp/status.ts';
import { NO_TLVS, TAG, uint8 } from '../smpp/wire.ts';
import { createDeliverWindow, type DeliverWindow, type Settled } from './delivery-message.ts';
import type { BindMode, Client, Shown, SignedIn } from './sign-in.ts';

/** The requests that are answered from the database. */
export type Request = AnyPduOf<'submit_sm' | 'data_sm' | 'submit_multi' | 'query_sm' | 'cancel_sm' | 'replace_sm'>;
type BindRequest = AnyPduOf<`bind_${BindMode}`>;

/** Time limits and intervals of a session. */
export type Timing = {
  /** Limit from the connection to the bind, TLS included. */
  readonly bindMs: number;
  /** Silence after which an enquire_link goes out; after three times as long the client counts as gone. */
  readonly enquireMs: number;
  /** Limit for the response to a deliver_sm. */
  readonly answerMs: number;
  /** Interval between two reports about the binds. */
  readonly reportMs: number;
};

export const TIMING: Timing = { bindMs: 10_000, enquireMs: 30_000, answerMs: 30_000, reportMs: 10_000 };

/** Dependencies of a session within the server. */
export type SessionDeps = {
  readonly timing: Timing;
  readonly log: Log;
  signIn(shown: Shown): Promise<SignedIn>;
  /** Answers a request; never rejects. */
  answer(client: Client, request: Request): Promise<Pdu>;
  /** Called with the status of the response to each request. */
  readonly answered?: ((request: Request, status: number) => void) | undefined;
  /** Called when the client has bound, before its bind_resp is sent. */
  bound(session: Session): void;
  /** Called when the connection has ended; once more when a bind that was being checked opened only after that. */
  closed(session: Session): void;
};

/** An open bind. */
type Bind = {
  readonly id: number;
  readonly mode: BindMode;
  /** Below 0x34 a client knows no optional parameters. */
  readonly version: number;
  /** The current credential and account. */
  client: Client;
};

/** Activity of a bind so far. */
type Activity = {
  /** Messages that were submitted, answered or not; each destination of a submit_multi counts. */
  readonly submits: number;
  /** Requests that were rejected with ESME_RTHROTTLED. */
  readonly throttled: number;
  /** Number of deliver_sm without a response. */
  readonly unanswered: number;
};

/** One connection of a client, from its first byte to its end. */
export type Session = {
  readonly address: string;
  /** Null until it has bound. */
  readonly bind: Bind | null;
  /** Returns how many more deliver_sm it takes now: 0 for a transmitter, and for one that is ending. */
  room(): number;
  activity(): Activity;
  /**
   * Sends a delivery in one or more encoded deliver_sm, into which the sequence numbers are written; `settled` is
   * called once, with the first status that is not 0.
   */
  deliver(frames: readonly Buffer[], settled: Settled): void;
  /** Sets the credential and the account from now on. */
  follow(client: Client): void;
  /**
   * Accepts no more requests, answers those it has read, waits briefly for the responses to its deliver_sm, and
   * unbinds.
   */
  leave(reason: string): void;
  /** Checks for exceeded time limits. */
  sweep(): void;
  /** Closes immediately. */
  destroy(): void;
};

const RESPONSE_BIT = 0x80000000;
const MAX_SEQUENCE = 0x7fffffff;
const VERSION_3_4 = 0x34;
const OUR_SYSTEM_ID = 'Heliograph';
const SILENT_PERIODS = 3;
/** Rounds of deliver_sm without any response after which other binds get them. */
const MAX_UNANSWERED_ROUNDS = 2;
const LEAVE_MS = 5000;
/** Wait for responses to deliver_sm when a session ends: unanswered ones are sent again on another bind. */
const LAST_ANSWERS_MS = 1000;
/** Maximum bytes of a PDU before the bind: the fields of a bind take less than half of it. */
const MAX_STRANGER_FRAME = 1024;
/**
 * Maximum bytes of unanswered requests, which are in memory: no more requests are read above it, whatever the window
 * is.
 */
const MAX_UNANSWERED_OCTETS = 256 * 1024;

/**
 * Runs the server side of SMPP 3.4 on a socket (SMPP 3.4 §2 to §4): bind states, liveness, both windows. It reads no
 * more requests than the client's window holds before these are answered, so that a client that sends faster than we
 * store waits in its own socket. Every PDU counts: few before the bind, and after it ten times as many a second as the
 * messages that the client may send; above that, nothing is read until the second is over. Too many responses to
 * nothing end the session.
 */
export function createSession(socket: Socket, address: string, deps: SessionDeps): Session {
  const { timing, log } = deps;
  const link = createLink(
    socket,
    { pdu: receive, broken, closed },
    { maxLength: () => (bind ? MAX_FRAME : MAX_STRANGER_FRAME) },
  );
  const startedAt = performance.now();
  let bind: Bind | null = null;
  let window: DeliverWindow | null = null;
  let signingIn = false;
  let ended = false;
  let leaving: string | null = null;
  /** True when responses to deliver_sm are no longer awaited. */
  let leftLate = false;
  let left = false;
  /** Sequence number of the unbind to answer before the end; null without one. */
  let unbindSequence: number | null = null;
  let unanswered = 0;
  let unansweredOctets = 0;
  let submits = 0;
  let throttled = 0;
  let enquiries = 0;
  let unansweredRounds = 0;
  let sequence = 0;
  const budget = createPduBudget(() => bind?.client && (bind.client.rate?.perSecond ?? Infinity), updateHold);

  function nextSequence(): number {
    sequence = sequence === MAX_SEQUENCE ? 1 : sequence + 1;
    return sequence;
  }

  function updateHold(): void {
    const full = bind !== null && (unanswered >= bind.client.window || unansweredOctets >= MAX_UNANSWERED_OCTETS);
    // A leaving session reads on: the responses to its deliveries are behind the requests.
    link.hold(budget.isResting || (leaving === null && (signingIn || full)));
  }

  function receive(pdu: Pdu, octets: number): void {
    enquiries = 0;
    if (COMMAND[pdu.command] >= RESPONSE_BIT) return receiveResponse(pdu);
    if (!budget.request()) return link.end();
    // As if it had not arrived: it is not stored, and gets no response.
    if (leaving === null || pdu.command === 'unbind') receiveRequest(pdu, octets);
  }

  function receiveRequest(pdu: Pdu, octets: number): void {
    switch (pdu.command) {
      case 'bind_transmitter':
        return bindAs('transmitter', pdu);
      case 'bind_receiver':
        return bindAs('receiver', pdu);
      case 'bind_transceiver':
        return bindAs('transceiver', pdu);
      case 'enquire_link':
        return link.send({ command: 'enquire_link_resp', status: 0, sequence: pdu.sequence });
      case 'unbind':
        return unbound(pdu.sequence);
      case 'submit_sm':
      case 'data_sm':
      case 'submit_multi':
      case 'query_sm':
      case 'cancel_sm':
      case 'replace_sm':
        return serve(pdu, octets);
      default:
        return unknown(pdu.sequence);
    }
  }

  function receiveResponse(pdu: Pdu): void {
    if (pdu.command === 'unbind_resp') return link.end();
    const isAnswer = pdu.command === 'deliver_sm_resp' || pdu.command === 'generic_nack';
    const status = pdu.command === 'generic_nack' && pdu.status === 0 ? STATUS.ESME_RUNKNOWNERR : pdu.status;
    if (!isAnswer || window?.answered(pdu.sequence, status) !== true) return endUnless(budget.stray());
    unansweredRounds = 0;
    leaveIfAnswered();
  }

  function unknown(requestSequence: number): void {
    link.send({ command: 'generic_nack', status: STATUS.ESME_RINVCMDID, sequence: requestSequence });
    endUnless(budget.fault());
  }

  function endUnless(withinBudget: boolean): void {
    if (!withinBudget) link.end();
  }

  function bindAs(mode: BindMode, pdu: BindRequest): void {
    if (bind || signingIn) return refuse(pdu, STATUS.ESME_RALYBND);
    signingIn = true;
    updateHold();
    const { systemId, password } = pdu;
    void deps.signIn({ systemId, password, mode, address, version: pdu.interfaceVersion }).then((signedIn) => {
      signingIn = false;
      if ('status' in signedIn) endBind(pdu, signedIn);
      else openBind(mode, pdu, signedIn);
    });
  }

  function endBind(pdu: BindRequest, { status, reason }: { status: number; reason: string }): void {
    log.info({ systemId: pdu.systemId, address, status: statusName(status), reason }, 'SMPP bind refused');
    refuse(pdu, status);
    // One attempt for each connection: a guess costs a handshake.
    link.end();
  }

  function openBind(
    mode: BindMode,
    { command, sequence: requestSequence, interfaceVersion: version, systemId }: BindRequest,
    { client, bindId }: { client: Client; bindId: number },
  ): void {
    bind = { id: bindId, mode, version, client };
    if (ended) return deps.closed(session);
    if (mode !== 'transmitter') window = createDeliverWindow(() => bind?.client.window ?? 0, timing.answerMs);
    const tlvs = version < VERSION_3_4 ? NO_TLVS : new Map([[TAG.sc_interface_version as number, uint8(VERSION_3_4)]]);
    link.send({ command: `${command}_resp`, status: 0, sequence: requestSequence, systemId: OUR_SYSTEM_ID, tlvs });
    log.info({ systemId, address, mode, accountId: client.accountId }, 'SMPP bind opened');
    deps.bound(session);
    updateHold();
  }

  function serve(request: Request, octets: number): void {
    if (!bind || bind.mode === 'receiver') {
      refuse(request, STATUS.ESME_RINVBNDSTS);
      return endUnless(budget.fault());
    }
    unanswered += 1;
    unansweredOctets += octets;
    submits += messagesIn(request);
    updateHold();
    void deps.answer(bind.client, request).then((response) => {
      link.send(response);
      deps.answered?.(request, response.status);
      if (response.status === STATUS.ESME_RTHROTTLED) throttled += 1;
      unanswered -= 1;
      unansweredOctets -= octets;
      updateHold();
      leaveIfAnswered();
    });
  }

  function refuse({ command, sequence: requestSequence }: Pdu, status: number): void {
    const response = `${command}_resp`;
    const known = isCommand(response) ? response : 'generic_nack';
    link.send(withoutBody({ command: known, status, sequence: requestSequence }));
  }

  function broken(): void {
    endUnless(budget.request() && budget.fault());
  }

  function unbound(requestSequence: number): void {
    unbindSequence = requestSequence;
    // It responds to nothing any more.
    leftLate = true;
    leave('the client unbound');
    leaveIfAnswered();
  }

  function leave(reason: string): void {
    if (leaving !== null) return;
    leaving = reason;
    updateHold();
    setTimeout(link.destroy, LEAVE_MS).unref();
    setTimeout(giveUpAnswers, LAST_ANSWERS_MS).unref();
    leaveIfAnswered();
  }

  function giveUpAnswers(): void {
    leftLate = true;
    leaveIfAnswered();
  }

  /** Ends the session when it is to end and owes no response. After our own unbind the client still responds to it. */
  function leaveIfAnswered(): void {
    if (leaving === null || left || unanswered > 0 || (!leftLate && unansweredDeliveries() > 0)) return;
    left = true;
    if (unbindSequence !== null) {
      const status = bind ? STATUS.ESME_ROK : STATUS.ESME_RINVBNDSTS;
      link.send({ command: 'unbind_resp', status, sequence: unbindSequence });
    } else if (bind) link.send({ command: 'unbind', status: 0, sequence: nextSequence() });
    link.end();
  }

  const unansweredDeliveries = (): number => window?.count() ?? 0;

  function deliver(frames: readonly Buffer[], settled: Settled): void {
    let open = frames.length;
    let first: number | null = 0;
    for (const frame of frames) {
      const number = nextSequence();
      link.sendFrame(withSequence(frame, number));
      window?.add(number, (status) => {
        if (first === 0) first = status;
        open -= 1;
        if (open === 0) settled(first);
      });
    }
  }

  function sweep(): void {
    const now = performance.now();
    if (!bind) {
      // The client waits for the bind response.
      if (!signingIn && now - startedAt > timing.bindMs) link.destroy();
      return;
    }
    const expired = window?.expire(now) ?? 0;
    budget.expectLate(expired);
    if (expired > 0) unansweredRounds += 1;
    if (unansweredRounds >= MAX_UNANSWERED_ROUNDS) return leave('the client answers no deliver_sm');
    // While we owe responses, we may be the side that does not read.
    if (unanswered > 0) return;
    const periods = link.silentMs() / timing.enquireMs;
    if (periods >= SILENT_PERIODS) return link.destroy();
    if (periods < enquiries + 1) return;
    enquiries += 1;
    budget.expectLate(1);
    link.send({ command: 'enquire_link', status: 0, sequence: nextSequence() });
  }

  function closed(): void {
    ended = true;
    window?.close();
    if (bind) {
      const reason = leaving ?? 'the connection ended';
      log.info({ systemId: bind.client.systemId, address, mode: bind.mode, reason }, 'SMPP bind closed');
    }
    deps.closed(session);
  }

  const session: Session = {
    address,
    get bind() {
      return bind;
    },
    room: () => (leaving === null && !ended ? (window?.room() ?? 0) : 0),
    activity: () => ({ submits, throttled, unanswered: unansweredDeliveries() }),
    deliver,
    follow(client) {
      if (bind) bind.client = client;
      updateHold();
    },
    leave,
    sweep,
    destroy: link.destroy,
  };
  return session;
}

/** Returns how many messages a request submits. */
export function messagesIn(request: Request): number {
  if (request.command === 'submit_multi') return request.destinations.length;
  return request.command === 'submit_sm' || request.command === 'data_sm' ? 1 : 0;
}

const isCommand = (name: string): name is CommandName => name in COMMAND;

/** Maximum PDUs before the bind, including the bind: a client has no reason to send more. */
const MAX_BEFORE_BIND = 5;
/**
 * PDUs per second of one bind, responses to our deliver_sm not counted, as a multiple of the messages that it may send.
 */
const PDUS_OF_RATE = 10;
const PDUS_PER_SECOND = { least: 100, most: 10_000 };
/** Responses on one bind to nothing that we have sent, in addition to those that came too late. */
const MAX_STRAYS = 20;
/** Maximum errors that a client may make on one connection: above that, it is not sending SMPP. */
const MAX_FAULTS = { stranger: 3, bound: 100 };

/** Remaining allowance of one connection. Each call counts one PDU and returns false when the connection has to end. */
type PduBudget = {
  /** A request, or a frame that cannot be read. */
  request(): boolean;
  /** A request that makes no sense in its state. */
  fault(): boolean;
  /** A response to nothing that we have sent. */
  stray(): boolean;
  /** Expects this many more apparent strays: responses that are no longer awaited. */
  expectLate(responses: number): void;
  /** True while the PDUs of this second are used up: nothing is read meanwhile. */
  readonly isResting: boolean;
};

/**
 * Creates the budget of a connection. `messagesPerSecond` is undefined before the bind, and Infinity for a client
 * without a rate; `changed` is called when `isResting` has changed.
 */
function createPduBudget(messagesPerSecond: () => number | undefined, changed: () => void): PduBudget {
  let requests = 0;
  let countedFrom = performance.now();
  let faults = 0;
  let strays = 0;
  let maxStrays = MAX_STRAYS;
  let isResting = false;

  function rest(ms: number): void {
    isResting = true;
    changed();
    setTimeout(() => {
      isResting = false;
      startSecond();
      changed();
    }, ms).unref();
  }

  function startSecond(): void {
    requests = 0;
    countedFrom = performance.now();
  }

  return {
    request() {
      requests += 1;
      const rate = messagesPerSecond();
      if (rate === undefined) return requests <= MAX_BEFORE_BIND;
      if (requests < pdusPerSecond(rate) || isResting) return true;
      const restMs = SECOND_MS - (performance.now() - countedFrom);
      if (restMs <= 0) startSecond();
      else rest(restMs);
      return true;
    },
    fault() {
      faults += 1;
      return faults < (messagesPerSecond() === undefined ? MAX_FAULTS.stranger : MAX_FAULTS.bound);
    },
    stray() {
      strays += 1;
      return strays <= maxStrays;
    },
    expectLate(responses) {
      maxStrays += responses;
    },
    get isResting() {
      return isResting;
    },
  };
}

const pdusPerSecond = (messagesPerSecond: number): number =>
  Math.min(PDUS_PER_SECOND.most, Math.max(PDUS_PER_SECOND.least, PDUS_OF_RATE * messagesPerSecond));
