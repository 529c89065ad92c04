import type { Socket } from 'node:net';
import { Counter } from 'prom-client';
import type { Metrics } from '../core/metrics.ts';
import { createLink, MAX_FRAME, withSequence } from './link.ts';
import {
  type AnyPduOf,
  COMMAND,
  type CommandName,
  commandName,
  type DecodeFailure,
  encodePdu,
  type Pdu,
  RESPONSE_BIT,
  withoutBody,
} from './pdu.ts';
import { STATUS } from './status.ts';

export type BindMode = 'transceiver' | 'transmitter' | 'receiver';
export type BindRequest = AnyPduOf<`bind_${BindMode}`>;

/** The result of one of our requests. Every request gets exactly one. */
export type Answer =
  | { readonly kind: 'response'; readonly pdu: Pdu }
  | { readonly kind: 'timeout' }
  /** The connection ended first. `written` is false only if no octet of the request can have left this process. */
  | { readonly kind: 'closed'; readonly written: boolean };

/** Time limits of a session that is to end. */
export type Wait = {
  /** Limit for the responses to our requests. */
  readonly answersMs: number;
  /** Limit for our responses to the requests of the peer. */
  readonly owedMs: number;
};

type SessionOptions<Name extends CommandName> = {
  /** The requests that are passed on. Any other one gets a generic_nack. */
  readonly serves: readonly Name[];
  /** Returns the silence after which an enquire_link goes out; after three times as long the peer counts as gone. */
  enquireMs(): number;
  /** Returns the time within which the peer has to bind. */
  bindMs?(): number;
  /** Limits after the unbind of the peer. */
  readonly unbindWait: Wait;
  /** Returns the maximum octets of a PDU; by default `MAX_FRAME`. */
  maxLength?(): number;
};

/** Events that a session reports to its owner. */
type SessionHandlers<Name extends CommandName> = {
  /**
   * A peer that is not bound requests a bind: to be completed with `bound` or `refuse`, before which nothing else is
   * read; reading goes on in the next turn of the event loop. With this handler the session is the side of the SMSC, without it that of the ESME.
   */
  bind?(mode: BindMode, pdu: BindRequest): void;
  /** A request that the session serves and the bind allows: to be completed once, with `respond`. */
  request(pdu: AnyPduOf<Name>, octets: number): void;
  /** Any request of the peer, before everything else; false ends the session. */
  arrived?(pdu: Pdu): boolean;
  /** A request was refused: it is not served, or not in this state. */
  refused?(pdu: Pdu, status: number): void;
  /** A frame cannot be read; a request got a permanent error as its response. */
  broken?(reason: string): void;
  /** A PDU has octets behind its last readable field. It is served like any other. */
  surplus?(): void;
  /** A response matches no request: it is late, repeated, or to another command. */
  stray?(command: string, sequence: number): void;
  /** So many requests have just timed out. */
  expired?(count: number): void;
  /** The session takes no new requests from now on. */
  leaving?(): void;
  /** The socket takes octets again after backpressure. */
  drained?(): void;
  /** The connection has ended. By then every request has its result. */
  closed(reason: string): void;
};

/** One connection that speaks SMPP; see `openSession`. */
export type SmppSession = {
  /** Null until it is bound. */
  readonly mode: BindMode | null;
  /** Returns true if it is bound and not ending. */
  isUp(): boolean;
  /** Returns false while the peer does not read fast enough. */
  isWritable(): boolean;
  /** Returns the number of our requests without a response. */
  unanswered(): number;
  /** Returns the number of the peer's requests without a response. */
  owed(): number;
  /**
   * Sends an encoded request under a fresh sequence number, which is written into `frame`. `onAnswer` is called once: at
   * full speed a promise for each message would cost too much here.
   */
  request(frame: Buffer, timeoutMs: number, onAnswer: (answer: Answer) => void): void;
  /** Responds to a request that was passed on. `written` runs when the socket takes it. */
  respond(response: Pdu, written?: () => void): void;
  /** Counts a request as completed that never gets a response. */
  forget(): void;
  /** Opens the bind; `response` is the bind response, on the side of the SMSC. */
  bound(mode: BindMode, response?: Pdu): void;
  refuse(request: Pdu, status: number): void;
  /** Stops or resumes reading. */
  hold(held: boolean): void;
  /** Takes no new requests, waits for open responses on both sides, unbinds and closes. */
  leave(reason: string, wait: Wait): void;
  /** Checks for exceeded time limits; must be called at intervals, which are the maximum delay of a timeout. */
  sweep(): void;
  /** Sends what is queued, and closes. */
  end(reason: string): void;
  /** Closes immediately. */
  destroy(reason: string): void;
};

type PendingRequest = {
  /** The command_id of the expected response. */
  readonly responseId: number;
  readonly position: number;
  /** Deadline on the clock of `performance.now()`. */
  readonly deadline: number;
  readonly onAnswer: (answer: Answer) => void;
};

const COMMAND_OFFSET = 4;
const MAX_SEQUENCE = 0x7fffffff;
const MISSED_ENQUIRIES = 2;
/** Limit for the response to our unbind. */
const UNBIND_MS = 2000;
const MODES = { bind_transceiver: 'transceiver', bind_transmitter: 'transmitter', bind_receiver: 'receiver' } as const;

/**
 * Runs SMPP 3.4 on a connection, as either side of it (SMPP 3.4, 2.2 to 4): bind states, sequence numbers, open requests
 * with their time limits, liveness, and an end in order.
 */
export function openSession<Name extends CommandName>(
  socket: Socket,
  options: SessionOptions<Name>,
  handlers: SessionHandlers<Name>,
): SmppSession {
  const link = createLink(
    socket,
    { pdu: receive, broken, closed, ...(handlers.drained && { drained: handlers.drained }) },
    // Responses to a carrier go out in as few writes as possible; clients leave the event loop to one another.
    { maxLength: options.maxLength ?? (() => MAX_FRAME), ...(!handlers.bind && { maxPerTurn: Infinity }) },
  );
  const served = new Set<CommandName>(options.serves);
  const isServed = (pdu: Pdu): pdu is AnyPduOf<Name> => served.has(pdu.command);
  const startedAt = performance.now();
  /** Our requests without a response, by sequence number. */
  const pending = new Map<number, PendingRequest>();
  let sequence = 0;
  let owed = 0;
  let mode: BindMode | null = null;
  let isBinding = false;
  let held = false;
  /** Number of enquire_links of this silence, and of those without a response. */
  let enquiries = 0;
  let openEnquiries = 0;
  let phase: 'open' | 'leaving' | 'ending' = 'open';
  /** True while an end waits for responses to our requests. */
  let isAwaiting = true;
  /** Sequence number of the peer's unbind, which gets a response last. */
  let unbindSequence: number | null = null;
  let endReason: string | null = null;

  function request(frame: Buffer, timeoutMs: number, onAnswer: (answer: Answer) => void): void {
    sequence = sequence === MAX_SEQUENCE ? 1 : sequence + 1;
    const position = link.sendFrame(withSequence(frame, sequence));
    if (position === 0) return onAnswer({ kind: 'closed', written: false });
    const responseId = frame.readUInt32BE(COMMAND_OFFSET) + RESPONSE_BIT;
    pending.set(sequence, { responseId, position, deadline: performance.now() + timeoutMs, onAnswer });
  }

  function receive(pdu: Pdu, octets: number): void {
    if (pdu.ignored !== undefined) handlers.surplus?.();
    const commandId = COMMAND[pdu.command];
    if (commandId >= RESPONSE_BIT) {
      if (!settle(commandId, pdu)) handlers.stray?.(pdu.command, pdu.sequence);
    } else if (handlers.arrived?.(pdu) === false) end('it sends too much');
    else receiveRequest(pdu, octets);
  }

  function settle(commandId: number, pdu: Pdu): boolean {
    const entry = pending.get(pdu.sequence);
    if (!entry || (commandId !== entry.responseId && commandId !== COMMAND.generic_nack)) return false;
    pending.delete(pdu.sequence);
    entry.onAnswer({ kind: 'response', pdu });
    endIfIdle();
    return true;
  }

  function receiveRequest(pdu: Pdu, octets: number): void {
    if (isServed(pdu)) return serve(pdu, octets);
    switch (pdu.command) {
      case 'enquire_link':
        return link.send({ command: 'enquire_link_resp', status: 0, sequence: pdu.sequence });
      case 'unbind':
        return unbound(pdu.sequence);
      case 'bind_transceiver':
      case 'bind_transmitter':
      case 'bind_receiver':
        return bind(pdu);
      case 'alert_notification':
      case 'outbind':
        // Requests of an SMSC that have no response.
        if (!handlers.bind) return;
        break;
      default:
    }
    refuse(pdu, STATUS.ESME_RINVCMDID);
  }

  function serve(pdu: AnyPduOf<Name>, octets: number): void {
    // An SMSC may send before we have read the response to our bind.
    if (handlers.bind && (mode === null || mode === 'receiver')) return refuse(pdu, STATUS.ESME_RINVBNDSTS);
    owed += 1;
    handlers.request(pdu, octets);
  }

  function bind(pdu: BindRequest): void {
    if (!handlers.bind) return refuse(pdu, STATUS.ESME_RINVCMDID);
    if (mode !== null || isBinding) return refuse(pdu, STATUS.ESME_RALYBND);
    isBinding = true;
    updateHold();
    handlers.bind(MODES[pdu.command], pdu);
  }

  function bound(as: BindMode, response?: Pdu): void {
    isBinding = false;
    mode = as;
    if (response) link.send(response);
    setImmediate(updateHold);
  }

  function refuse(pdu: Pdu, status: number): void {
    sendRefusal(pdu.command, pdu.sequence, status);
    handlers.refused?.(pdu, status);
  }

  function sendRefusal(request: CommandName | undefined, sequence: number, status: number): void {
    const response = `${request}_resp`;
    const command = status !== STATUS.ESME_RINVCMDID && isCommand(response) ? response : 'generic_nack';
    link.send(withoutBody({ command, status, sequence }));
  }

  function broken(reason: string, failure: DecodeFailure | null): void {
    if (failure === null) endReason ??= reason;
    // A response gets none: two peers could go on like that forever.
    else if (failure.commandId < RESPONSE_BIT) refuseUnreadable(failure);
    handlers.broken?.(reason);
  }

  /** An SMSC repeats a delivery for days unless its response says that the receiver rejects it permanently. */
  function refuseUnreadable({ commandId, sequence }: DecodeFailure): void {
    const command = commandName(commandId);
    if (command === undefined) return sendRefusal(command, sequence, STATUS.ESME_RINVCMDID);
    const isDelivery = !handlers.bind && served.has(command);
    sendRefusal(command, sequence, isDelivery ? STATUS.ESME_RX_P_APPN : STATUS.ESME_RINVCMDLEN);
  }

  function respond(response: Pdu, written?: () => void): void {
    link.send(response, written);
    forget();
  }

  function forget(): void {
    owed -= 1;
    endIfIdle();
  }

  function updateHold(): void {
    link.hold(isBinding || held);
  }

  function unbound(requestSequence: number): void {
    if (phase === 'ending') return answerUnbind(requestSequence);
    unbindSequence = requestSequence;
    leave('the peer unbound', options.unbindWait);
  }

  function answerUnbind(requestSequence: number): void {
    const status = mode ? STATUS.ESME_ROK : STATUS.ESME_RINVBNDSTS;
    link.send({ command: 'unbind_resp', status, sequence: requestSequence });
    link.end();
  }

  function leave(reason: string, { answersMs, owedMs }: Wait): void {
    if (phase !== 'open') return;
    phase = 'leaving';
    endReason ??= reason;
    handlers.leaving?.();
    if (mode === null) return finish();
    after(answersMs, () => {
      isAwaiting = false;
      endIfIdle();
    });
    after(owedMs, finish);
    endIfIdle();
  }

  const unanswered = (): number => pending.size - openEnquiries;

  function endIfIdle(): void {
    if (phase === 'leaving' && owed === 0 && (!isAwaiting || unanswered() === 0)) finish();
  }

  function finish(): void {
    if (phase !== 'leaving') return;
    phase = 'ending';
    if (unbindSequence !== null) answerUnbind(unbindSequence);
    else if (mode === null) link.end();
    else request(encodePdu({ command: 'unbind', status: 0, sequence: 0 }), UNBIND_MS, link.end);
  }

  /** Runs after the sockets are read: a process that was blocked must not miss responses that have already arrived. */
  function sweep(): void {
    setImmediate(() => {
      if (link.isBehind()) sweep();
      else checkLimits(performance.now());
    });
  }

  function checkLimits(now: number): void {
    expire(now);
    if (mode !== null) checkLiveness();
    else if (options.bindMs && !isBinding && now - startedAt > options.bindMs()) destroy('it did not bind in time');
  }

  /** Scans all requests: the window bounds them, and different kinds have different time limits. */
  function expire(now: number): void {
    let count = 0;
    for (const [overdue, { deadline, onAnswer }] of pending) {
      if (deadline > now) continue;
      count += 1;
      pending.delete(overdue);
      onAnswer({ kind: 'timeout' });
    }
    if (count === 0) return;
    handlers.expired?.(count);
    endIfIdle();
  }

  function checkLiveness(): void {
    // Otherwise we are the side that does not read.
    if (held) return;
    const periods = Math.floor(link.silentMs() / options.enquireMs());
    enquiries = Math.min(enquiries, periods);
    if (periods <= enquiries) return;
    if (enquiries === MISSED_ENQUIRIES) return destroy('the peer is silent');
    enquiries += 1;
    openEnquiries += 1;
    request(encodePdu({ command: 'enquire_link', status: 0, sequence: 0 }), Infinity, () => {
      openEnquiries -= 1;
    });
  }

  function end(reason: string): void {
    endReason ??= reason;
    link.end();
  }

  function destroy(reason: string): void {
    endReason ??= reason;
    link.destroy();
  }

  function closed(error: Error | null): void {
    phase = 'ending';
    for (const [open, { position, onAnswer }] of pending) {
      pending.delete(open);
      onAnswer({ kind: 'closed', written: position <= link.lastWritten() });
    }
    handlers.closed(endReason ?? error?.message ?? 'the peer closed the connection');
  }

  return {
    get mode() {
      return mode;
    },
    isUp: () => mode !== null && phase === 'open',
    isWritable: link.isWritable,
    unanswered,
    owed: () => owed,
    request,
    respond,
    forget,
    bound,
    refuse(pdu, status) {
      isBinding = false;
      refuse(pdu, status);
      setImmediate(updateHold);
    },
    hold(value) {
      held = value;
      updateHold();
    },
    leave,
    sweep,
    end,
    destroy,
  };
}

const after = (ms: number, then: () => void): void => (ms === 0 ? then() : void setTimeout(then, ms).unref());

const isCommand = (name: string): name is CommandName => name in COMMAND;

const UNREADABLE = 'heliograph_smpp_unreadable_total';

/** Registers the counter of PDUs and receipts that could not be read to their end, once, and returns the function that counts one. */
export function countUnreadable({ registry }: Pick<Metrics, 'registry'>): (sender: 'carrier' | 'customer') => void {
  const known = registry.getSingleMetric(UNREADABLE);
  const help = 'PDUs and receipts that could not be read, or not to their end, by their sender';
  const create = () => new Counter({ name: UNREADABLE, help, labelNames: ['sender'] as const, registers: [registry] });
  const counter = known instanceof Counter ? known : create();
  return (sender) => counter.inc({ sender });
}

/**
 * Returns the command_status with which the peer responded to a delivery; null when none came, because of a time-out or a
 * closed connection.
 */
export function deliveryStatus(answer: Answer): number | null {
  if (answer.kind !== 'response') return null;
  const { command, status } = answer.pdu;
  return command === 'generic_nack' && status === 0 ? STATUS.ESME_RUNKNOWNERR : status;
}
