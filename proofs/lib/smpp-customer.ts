import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createLink } from '../../src/smpp/link.ts';
import { EMPTY_MESSAGE, type Pdu, type PduOf } from '../../src/smpp/pdu.ts';
import { STATUS, statusClass, statusName } from '../../src/smpp/status.ts';
import { cStringValue, NO_TLVS, readText, readUint, TAG, type Tlvs } from '../../src/smpp/wire.ts';
import { CLIENT_ID_TAG } from '../../src/smpp-server/read-submit.ts';

/** A message of a customer, under the customer's own reference. */
export type Order = { readonly reference: string; readonly destination: string; readonly text: string };

/** A receipt as the customer got it, and whether it got `ESME_ROK`. */
export type CustomerReceipt = { readonly id: string; readonly state: number; readonly isTaken: boolean };

/** A customer that binds to the gateway over SMPP. */
export type SmppCustomer = {
  /**
   * Submits a message; resolves with the id when it is accepted. When a bind ends without a response, or the response says
   * that the failure is temporary, the message is submitted again under its reference, on any bind. Rejects when it is
   * refused for good.
   */
  submit(order: Order): Promise<string>;
  /** The receipts, in the order of their arrival. */
  readonly receipts: readonly CustomerReceipt[];
  readonly counts: Readonly<Record<'submits' | 'again' | 'throttled' | 'binds' | 'refusedReceipts', number>>;
  /** Closes one bind without a word. */
  cutOne(): void;
  /** Unbinds, and binds no more. */
  stop(): Promise<void>;
};

export type CustomerOptions = {
  readonly systemId: string;
  readonly password: string;
  /** The port to connect to next; it may change, as processes come and go. */
  port(): number;
  readonly binds: number;
  readonly window: number;
  /** registered_delivery of each message. */
  readonly registered: number;
  /** The status that a receipt gets; `ESME_ROK` by default. */
  readonly answer?: () => number;
};

const HOST = '127.0.0.1';
/** Before the next attempt, to connect or to submit what was refused for now. */
const RETRY_MS = 100;
const BIND_WITHIN_MS = 5000;
const STOP_WITHIN_MS = 3000;
const MAX_SHORT_MESSAGE = 254;

type Job = Order & { readonly done: PromiseWithResolvers<string> };
type Counts = Record<keyof SmppCustomer['counts'], number>;
/** State shared by all binds of a customer. */
type Shared = {
  readonly options: CustomerOptions;
  readonly waiting: Job[];
  readonly receipts: CustomerReceipt[];
  readonly counts: Counts;
  /** Tells all binds that something waits. */
  wake(): void;
};
type Lane = { fill(): void; cut(): void; unbind(): void; readonly ended: Promise<void> };

/** Starts a customer with our codec. It keeps its binds open, whatever becomes of the processes that serve them. */
export function startSmppCustomer(options: CustomerOptions): SmppCustomer {
  const lanes = new Set<Lane>();
  const counts: Counts = { submits: 0, again: 0, throttled: 0, binds: 0, refusedReceipts: 0 };
  const shared: Shared = {
    options,
    waiting: [],
    receipts: [],
    counts,
    wake: () => lanes.forEach((lane) => lane.fill()),
  };
  let stopping = false;

  async function keepBound(): Promise<void> {
    while (!stopping) {
      const lane = openLane(shared);
      lanes.add(lane);
      await lane.ended;
      lanes.delete(lane);
      shared.wake();
      if (!stopping) await delay(RETRY_MS);
    }
  }

  const all = Promise.all(Array.from({ length: options.binds }, keepBound));
  return {
    submit(order) {
      const done = Promise.withResolvers<string>();
      shared.waiting.push({ ...order, done });
      shared.wake();
      return done.promise;
    },
    receipts: shared.receipts,
    counts,
    cutOne: () => [...lanes][0]?.cut(),
    async stop() {
      stopping = true;
      for (const lane of lanes) lane.unbind();
      const cut = setTimeout(() => lanes.forEach((lane) => lane.cut()), STOP_WITHIN_MS);
      await all;
      clearTimeout(cut);
    },
  };
}

/** Connects and binds once. What has no response when it ends waits again, before everything else. */
function openLane({ options, waiting, receipts, counts, wake }: Shared): Lane {
  const ended = Promise.withResolvers<void>();
  const open = new Map<number, Job>();
  const socket = net.connect({ host: HOST, port: options.port() });
  const link = createLink(socket, { pdu: receive, broken: () => socket.destroy(), closed });
  const late = setTimeout(() => socket.destroy(), BIND_WITHIN_MS);
  let sequence = 1;
  let bound = false;

  function receive(pdu: Pdu): void {
    switch (pdu.command) {
      case 'bind_transceiver_resp':
        clearTimeout(late);
        bound = pdu.status === STATUS.ESME_ROK;
        if (bound) counts.binds++;
        return bound ? fill() : void socket.destroy();
      case 'submit_sm_resp':
        return answered(pdu);
      case 'deliver_sm':
        return deliver(pdu);
      case 'unbind':
      case 'enquire_link':
        return link.send({ command: `${pdu.command}_resp`, status: 0, sequence: pdu.sequence });
      default:
    }
  }

  function fill(): void {
    while (bound && open.size < options.window) {
      const job = waiting.shift();
      if (!job) return;
      sequence += 1;
      open.set(sequence, job);
      counts.submits++;
      link.send(submitOf(job, sequence, options.registered));
    }
  }

  function answered(pdu: PduOf<'submit_sm_resp'>): void {
    const job = open.get(pdu.sequence);
    open.delete(pdu.sequence);
    if (!job) return;
    if (pdu.status === STATUS.ESME_ROK) job.done.resolve(pdu.messageId);
    else if (isTemporary(pdu.status)) again(job, pdu.status);
    else job.done.reject(new Error(statusName(pdu.status)));
    fill();
  }

  function again(job: Job, status: number): void {
    if (status === STATUS.ESME_RTHROTTLED) counts.throttled++;
    counts.again++;
    setTimeout(() => {
      waiting.push(job);
      wake();
    }, RETRY_MS);
  }

  function deliver({ sequence: number, tlvs }: PduOf<'deliver_sm'>): void {
    const id = readText(tlvs, TAG.receipted_message_id);
    const state = readUint(tlvs, TAG.message_state, 1);
    const status = options.answer?.() ?? STATUS.ESME_ROK;
    const isTaken = status === STATUS.ESME_ROK;
    if (id !== null && state !== null) receipts.push({ id, state, isTaken });
    if (!isTaken) counts.refusedReceipts++;
    link.send({ command: 'deliver_sm_resp', status, sequence: number, messageId: '', tlvs: NO_TLVS });
  }

  function closed(): void {
    clearTimeout(late);
    bound = false;
    counts.again += open.size;
    waiting.unshift(...open.values());
    open.clear();
    ended.resolve();
  }

  const { systemId, password } = options;
  const rest = { systemType: '', interfaceVersion: 0x34, addrTon: 0, addrNpi: 0, addressRange: '' };
  link.send({ command: 'bind_transceiver', status: 0, sequence, systemId, password, ...rest });
  return {
    fill,
    cut: () => socket.destroy(),
    unbind() {
      sequence += 1;
      bound = false;
      link.send({ command: 'unbind', status: 0, sequence });
      link.end();
    },
    ended: ended.promise,
  };
}

const isTemporary = (status: number): boolean => ['throttle', 'retry'].includes(statusClass(status));

function submitOf({ reference, destination, text }: Order, sequence: number, registeredDelivery: number): Pdu {
  const octets = Buffer.from(text, 'latin1');
  const isLong = octets.length > MAX_SHORT_MESSAGE;
  const tlvs: Tlvs = new Map([
    [CLIENT_ID_TAG, cStringValue(reference)],
    ...(isLong ? [[TAG.message_payload as number, octets] as const] : []),
  ]);
  return {
    ...EMPTY_MESSAGE,
    command: 'submit_sm',
    status: 0,
    sequence,
    sourceTon: 5,
    source: 'Acme',
    destTon: 1,
    destNpi: 1,
    destination: destination.replace('+', ''),
    registeredDelivery,
    shortMessage: isLong ? new Uint8Array() : octets,
    tlvs,
  };
}
