import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isRecord } from '../../../src/core/schema.ts';
import {
  createPoster,
  POSTER_DEFAULTS,
  type SandboxAnswer,
  type SandboxRequest,
  startServer,
} from '../../../src/sandbox/http-server.ts';
import type { LedgerOptions } from '../../../src/sandbox/ledger.ts';
import { createLedger, createMessageIds, type DeliveryEntry, type Ledger } from '../../../src/sandbox/smsc-ledger.ts';
import {
  createRandom,
  createTimeline,
  DELIVERED,
  defaultScript,
  outcomeFor,
  type ReceiptStep,
  type SandboxScript,
} from '../../../src/sandbox/smsc-script.ts';

/** The behaviour of the simulator: that of the simulated SMSC, as far as it is the same over HTTP. */
export type HttpSmsScript = SandboxScript & {
  /** The share of messages that are accepted although the response is 503, as from a proxy that lost its server. */
  errorShare: number;
};

export type HttpSmsOptions = Partial<HttpSmsScript> & {
  readonly ledger?: LedgerOptions['keep'];
  readonly ledgerFile?: string;
};

/** A running web service for SMS. */
export type SandboxHttpSms = {
  readonly port: number;
  readonly ledger: Ledger;
  /** It may be changed while the simulator runs. */
  readonly script: HttpSmsScript;
  /** Posts receipts to this URL from now on; until then they wait. */
  callTo(url: string): void;
  /** Number of messages that were accepted without a response that confirms it. */
  withheld(): number;
  /** Number of receipts that are not due yet, or wait for the next callback. */
  scheduled(): number;
  close(): Promise<void>;
};

/** The API key that requests must have, and the key that signs callbacks. */
export const HTTP_SMS_SECRETS = { apiKey: 'the-api-key', signingKey: 'the-signing-key' };

/** Settings of a connection of the kind `http` to the simulator, in addition to its `baseUrl`. */
export const HTTP_SMS_PROTOCOL = {
  probePath: '/status',
  request: {
    path: '/messages',
    auth: 'bearer',
    body: { to: '{{toDigits}}', from: '{{fromPlain}}', text: '{{text}}', ref: '{{messageId}}' },
  },
  answer: { id: '/id', code: '/error' },
  receipts: {
    list: '/receipts',
    ids: ['/id', '/ref'],
    state: '/state',
    states: {
      ENROUTE: 'ACCEPTED',
      DELIVRD: 'DELIVERED',
      UNDELIV: 'UNDELIVERABLE',
      EXPIRED: 'EXPIRED',
      REJECTD: 'REJECTED',
      FAILED: 'UNDELIVERABLE',
    },
    code: '/error',
    to: '/to',
    from: '/from',
  },
  verify: { by: 'signature', name: 'x-signature' },
};

type Message = { readonly id: string; readonly to: string; readonly from: string; readonly ref: string };
type Due = { readonly message: Message; readonly step: number };
type Waiting = { readonly entry: DeliveryEntry | null; readonly receipt: object };

/** Receipts that are due within this time are posted together. */
const BATCH_MS = 10;
const MAX_BATCH = 50;
const FOREIGN_DIGITS = 1e9;

/**
 * Starts a web service that takes SMS as JSON and posts signed receipts, several in one callback. It records a message
 * in its ledger before it responds, and may then withhold the response, or send a 503. Rejects when the port is not
 * available.
 */
export async function startSandboxHttpSms(options: HttpSmsOptions = {}): Promise<SandboxHttpSms> {
  const { ledger: keep = 'entries', ledgerFile, ...given } = options;
  const script: HttpSmsScript = { ...defaultScript(), errorShare: 0, ...given };
  const ledger = createLedger({ keep, file: ledgerFile });
  const random = createRandom(script.seed);
  const nextId = createMessageIds(script);
  const timeline = createTimeline<Due>(reach);
  const poster = createPoster({
    ...POSTER_DEFAULTS,
    callbackRetryMs: 100,
    callbackMaxRetryMs: 1000,
    callbackMaxTries: 10_000,
    maxWaiting: script.maxWaiting,
  });
  let callbackUrl: string | null = null;
  const batch: Waiting[] = [];
  let timer: NodeJS.Timeout | undefined;
  let withheld = 0;

  function schedule(due: Due): void {
    const lateMs = random.chance(script.reorderReceiptShare) ? script.reorderMs : 0;
    timeline.after(script.receiptDelayMs + lateMs, due);
  }

  function reach({ message, step }: Due): void {
    const { receipts = [DELIVERED], doubled = false } = outcomeFor(script, message.to);
    const next = receipts[step];
    if (!next) return;
    report(message, next);
    if (doubled || random.chance(script.doubleReceiptShare)) report(message, next);
    if (random.chance(script.foreignReceiptShare)) reportForeign(message, next);
    if (step + 1 < receipts.length) schedule({ message, step: step + 1 });
  }

  function report({ id, ref, to, from }: Message, { stat, err }: ReceiptStep): void {
    const entry = ledger.recordDelivery('receipt', () => entryOf({ id, receiptId: id, text: stat, to, from }));
    add({ entry, receipt: { id, ref, state: stat, error: err, to, from } });
  }

  /** Sends a receipt for an unknown message. */
  function reportForeign({ to, from }: Message, { stat, err }: ReceiptStep): void {
    const id = String(1 + Math.floor(random.next() * FOREIGN_DIGITS));
    const entry = ledger.recordDelivery('receipt', () => entryOf({ id: '', receiptId: id, text: stat, to, from }));
    add({ entry, receipt: { id, state: stat, error: err, to, from } });
  }

  function add(waiting: Waiting): void {
    batch.push(waiting);
    timer ??= setTimeout(flush, BATCH_MS);
  }

  function flush(): void {
    timer = undefined;
    if (callbackUrl === null) return;
    while (batch.length > 0) post(callbackUrl, batch.splice(0, MAX_BATCH));
  }

  function post(url: string, items: readonly Waiting[]): void {
    const body = JSON.stringify({ receipts: items.map(({ receipt }) => receipt) });
    const signature = createHmac('sha256', HTTP_SMS_SECRETS.signingKey).update(body).digest('hex');
    const settle = (acked: boolean): void => {
      for (const { entry } of items) ledger.recordResult('receipt', entry, acked ? 'acked' : 'lost');
    };
    for (const { entry } of items) ledger.recordTry(entry);
    const isQueued = poster.push({ url, headers: { 'x-signature': signature }, body }, ({ acked }) => settle(acked));
    if (!isQueued) settle(false);
  }

  async function take(body: Readonly<Record<string, unknown>>): Promise<SandboxAnswer> {
    const [to, from, text, ref] = [body['to'], body['from'], body['text'], body['ref']].map((value) => String(value));
    const submit = { ...NOT_SMPP, source: from ?? '', destination: to ?? '', text: text ?? '' };
    if (random.chance(script.throttleShare)) {
      ledger.recordSubmit('ESME_RTHROTTLED', () => ({ ...submit, id: null }));
      return { status: 429, body: { error: 'too fast' } };
    }
    const message = { id: nextId().text, to: submit.destination, from: submit.source, ref: ref ?? '' };
    const entry = ledger.recordSubmit('ESME_ROK', () => ({ ...submit, id: message.id }));
    const { early = false } = outcomeFor(script, message.to);
    if (early || random.chance(script.earlyReceiptShare)) reach({ message, step: 0 });
    else schedule({ message, step: 0 });
    const isSilent = random.chance(script.dropResponseShare);
    if (isSilent || random.chance(script.errorShare)) {
      withheld++;
      return isSilent ? 'silent' : { status: 503, body: 'Service Unavailable' };
    }
    const waitMs = script.responseDelayMs + (random.chance(script.reorderResponseShare) ? script.reorderMs : 0);
    if (waitMs > 0) await delay(waitMs);
    ledger.recordAnswer(entry);
    return { status: 201, body: { id: message.id } };
  }

  function handle({ method, headers, body }: SandboxRequest): SandboxAnswer | Promise<SandboxAnswer> {
    if (headers.authorization !== `Bearer ${HTTP_SMS_SECRETS.apiKey}`) return { status: 401, body: {} };
    if (method === 'GET') return { status: 200, body: {} };
    const message: unknown = JSON.parse(body.toString());
    return isRecord(message) ? take(message) : { status: 400, body: { error: 'no object' } };
  }

  const server = await startServer({ maxBytes: 100_000, handle });
  return {
    port: server.port,
    ledger,
    script,
    callTo(url) {
      callbackUrl = url;
      flush();
    },
    withheld: () => withheld,
    scheduled: () => timeline.size() + (callbackUrl === null ? batch.length : 0),
    async close() {
      clearTimeout(timer);
      timeline.stop();
      await poster.stop();
      await server.close();
      ledger.close();
    },
  };
}

/** Fields of the ledger that only SMPP has. */
const NOT_SMPP = { session: 0, systemId: 'http', sequence: 0, esmClass: 0, dataCoding: 0, octets: '', concat: null };

type Reported = Pick<DeliveryEntry, 'id' | 'receiptId' | 'text'> & Pick<Message, 'to' | 'from'>;

/** Like a receipt over SMPP: from the number to which the message went. */
const entryOf = ({ to, from, ...entry }: Reported) => ({
  ...entry,
  systemId: 'http',
  source: to,
  destination: from,
});
