import type { Socket } from 'node:net';
import type { Log } from '../core/log.ts';
import { SECOND_MS } from '../core/time.ts';
import { MAX_FRAME } from '../smpp/link.ts';
import type { AnyPduOf, Pdu } from '../smpp/pdu.ts';
import { type Answer, type BindMode, type BindRequest, deliveryStatus, openSession } from '../smpp/session.ts';
import { STATUS, statusName } from '../smpp/status.ts';
import { NO_TLVS, TAG, uint8 } from '../smpp/wire.ts';
import type { Asker } from './message-ids.ts';
import type { BindAttempt, Client, SignedIn } from './sign-in.ts';

const SERVES = ['submit_sm', 'data_sm', 'submit_multi', 'query_sm', 'cancel_sm', 'replace_sm'] as const;
/** Requests whose response depends on the database. */
export type Request = AnyPduOf<(typeof SERVES)[number]>;

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

export type SessionDeps = {
  readonly timing: Timing;
  readonly log: Log;
  readonly budget: typeof createPduBudget;
  signIn(shown: BindAttempt): Promise<SignedIn>;
  /** Responds to a request; never rejects. */
  answer(asker: Asker, request: Request): Promise<Pdu>;
  /** Called with the status of the response to each request. */
  readonly answered?: ((request: Request, status: number) => void) | undefined;
  /** Called when a PDU cannot be read, or not to its end. */
  readonly unreadable?: (() => void) | undefined;
  /** Called when the client has bound, before its bind_resp is sent. */
  bound(session: Session): void;
  /** Called when the connection has ended; once more when a bind that was being checked opened only after that. */
  closed(session: Session): void;
};

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
  /** Messages that were submitted, with or without a response; each destination of a submit_multi counts. */
  readonly submits: number;
  /** Requests that were rejected with ESME_RTHROTTLED. */
  readonly throttled: number;
  /** Number of deliver_sm without a response. */
  readonly unanswered: number;
};

/**
 * Callback with the result of a request: the status of its response; null when none came, because of a time-out or a
 * closed connection.
 */
type Settled = (status: number | null) => void;

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
   * Accepts no more requests, responds to those it has read, waits briefly for the responses to its deliver_sm, and
   * unbinds.
   */
  leave(reason: string): void;
  /** Checks for exceeded time limits. */
  sweep(): void;
};

const VERSION_3_4 = 0x34;
const OUR_SYSTEM_ID = 'Heliograph';
/** Rounds of deliver_sm without any response after which other binds get them. */
const MAX_UNANSWERED_ROUNDS = 2;
const OWED_MS = 5000;
/**
 * Before a session ends, it waits briefly for responses to its deliver_sm: unanswered ones are sent again on another
 * bind.
 */
const LEAVE_WAIT = { answersMs: 1000, owedMs: OWED_MS };
/** Having unbound, a client responds to nothing any more. */
const UNBIND_WAIT = { answersMs: 0, owedMs: OWED_MS };
/** Maximum bytes of a PDU before the bind: the fields of a bind take less than half of it. */
export const MAX_UNBOUND_FRAME = 1024;
/**
 * Maximum bytes of unanswered requests, which are in memory: no more requests are read above it, whatever the window
 * is.
 */
const MAX_UNANSWERED_OCTETS = 256 * 1024;

/**
 * Runs the server side of SMPP 3.4 on a socket, with both windows. It reads no more requests than the client's window
 * holds before these get a response, so that a client that sends faster than we store waits in its own socket. Every PDU
 * counts: few before the bind, and after it ten times as many a second as the messages that the client may send; above
 * that, nothing is read until the second is over. Too many responses to nothing end the session.
 */
export function createSession(socket: Socket, address: string, deps: SessionDeps): Session {
  const { timing, log } = deps;
  const smpp = openSession(
    socket,
    {
      serves: SERVES,
      enquireMs: () => timing.enquireMs,
      bindMs: () => timing.bindMs,
      unbindWait: UNBIND_WAIT,
      maxLength: () => (bind ? MAX_FRAME : MAX_UNBOUND_FRAME),
    },
    {
      arrived: () => budget.request(),
      bind: bindAs,
      request: serve,
      refused: (_request, status) => endUnless(status === STATUS.ESME_RALYBND || budget.fault()),
      broken,
      ...(deps.unreadable && { surplus: deps.unreadable }),
      stray: () => endUnless(budget.stray()),
      expired,
      leaving: updateHold,
      closed,
    },
  );
  let bind: Bind | null = null;
  let ended = false;
  let unansweredOctets = 0;
  let submits = 0;
  let throttled = 0;
  let unansweredRounds = 0;
  const budget = deps.budget(() => bind?.client && (bind.client.rate?.perSecond ?? Infinity), updateHold);

  function updateHold(): void {
    const full = bind !== null && (smpp.owed() >= bind.client.window || unansweredOctets >= MAX_UNANSWERED_OCTETS);
    // A leaving session reads on: the responses to its deliveries are behind the requests.
    smpp.hold(budget.isResting || (full && smpp.isUp()));
  }

  function endUnless(withinBudget: boolean): void {
    if (!withinBudget) smpp.end('it sends what it may not');
  }

  function broken(reason: string): void {
    deps.unreadable?.();
    // An open port receives arbitrary bytes.
    if (bind) {
      const { systemId, accountId } = bind.client;
      log.warn({ systemId, accountId, address, reason }, 'an SMPP client sent a PDU that cannot be read');
    }
    endUnless(budget.request() && budget.fault());
  }

  function bindAs(mode: BindMode, pdu: BindRequest): void {
    const { systemId, password } = pdu;
    void deps.signIn({ systemId, password, mode, address, version: pdu.interfaceVersion }).then((signedIn) => {
      if ('status' in signedIn) endBind(pdu, signedIn);
      else openBind(mode, pdu, signedIn);
    });
  }

  function endBind(pdu: BindRequest, { status, reason }: { status: number; reason: string }): void {
    log.info({ systemId: pdu.systemId, address, status: statusName(status), reason }, 'SMPP bind refused');
    smpp.refuse(pdu, status);
    // One attempt for each connection: a guess costs a handshake.
    smpp.end(reason);
  }

  function openBind(
    mode: BindMode,
    { command, sequence, interfaceVersion: version, systemId }: BindRequest,
    { client, bindId }: { client: Client; bindId: number },
  ): void {
    bind = { id: bindId, mode, version, client };
    if (ended) return deps.closed(session);
    const tlvs = version < VERSION_3_4 ? NO_TLVS : new Map([[TAG.sc_interface_version as number, uint8(VERSION_3_4)]]);
    smpp.bound(mode, { command: `${command}_resp`, status: 0, sequence, systemId: OUR_SYSTEM_ID, tlvs });
    log.info({ systemId, address, mode, accountId: client.accountId }, 'SMPP bind opened');
    deps.bound(session);
  }

  function serve(request: Request, octets: number): void {
    // As if it had not arrived: it is not stored, and gets no response.
    if (!bind || !smpp.isUp()) return smpp.forget();
    unansweredOctets += octets;
    submits += messagesIn(request);
    updateHold();
    const { client, version } = bind;
    void deps.answer({ client, version }, request).then((response) => {
      smpp.respond(response);
      deps.answered?.(request, response.status);
      if (response.status === STATUS.ESME_RTHROTTLED) throttled += 1;
      unansweredOctets -= octets;
      updateHold();
    });
  }

  function deliver(frames: readonly Buffer[], settled: Settled): void {
    let open = frames.length;
    let first: number | null = 0;
    for (const frame of frames) {
      smpp.request(frame, timing.answerMs, (answer) => {
        if (first === 0) first = statusOf(answer);
        open -= 1;
        if (open === 0) settled(first);
      });
    }
  }

  function statusOf(answer: Answer): number | null {
    if (answer.kind === 'response') unansweredRounds = 0;
    return deliveryStatus(answer);
  }

  function expired(count: number): void {
    budget.expectLate(count);
    unansweredRounds += 1;
    if (unansweredRounds >= MAX_UNANSWERED_ROUNDS) smpp.leave('the client responds to no deliver_sm', LEAVE_WAIT);
  }

  function closed(reason: string): void {
    ended = true;
    if (bind) log.info({ systemId: bind.client.systemId, address, mode: bind.mode, reason }, 'SMPP bind closed');
    deps.closed(session);
  }

  const session: Session = {
    address,
    get bind() {
      return bind;
    },
    room() {
      if (bind === null || bind.mode === 'transmitter' || !smpp.isUp()) return 0;
      return Math.max(0, bind.client.window - smpp.unanswered());
    },
    activity: () => ({ submits, throttled, unanswered: smpp.unanswered() }),
    deliver,
    follow(client) {
      if (bind) bind.client = client;
      updateHold();
    },
    leave: (reason) => smpp.leave(reason, LEAVE_WAIT),
    sweep: smpp.sweep,
  };
  return session;
}

/** Returns how many messages a request submits. */
export function messagesIn(request: Request): number {
  if (request.command === 'submit_multi') return request.destinations.length;
  return request.command === 'submit_sm' || request.command === 'data_sm' ? 1 : 0;
}

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
const MAX_FAULTS = { unbound: 3, bound: 100 };

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
export function createPduBudget(messagesPerSecond: () => number | undefined, changed: () => void): PduBudget {
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
      return faults < (messagesPerSecond() === undefined ? MAX_FAULTS.unbound : MAX_FAULTS.bound);
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
