import { randomBytes } from 'node:crypto';
import { newId } from '../../platform/lib/ids.ts';
import { signatureOf } from '../../carriers/rcs/signature.ts';
import { createPoster } from '../http/poster.ts';
import type { EventEntry, LedgerWriter } from './ledger.ts';
import type { RbmScript } from './script.ts';

/** An event to report to the client. */
export type OutgoingEvent = {
  readonly kind: EventEntry['kind'];
  /** The id of the message that the event is about. */
  readonly id: string;
  /** The name of the event. */
  readonly what: string;
  readonly agentId: string;
  /** The object to sign and send as JSON. */
  readonly event: object;
};

/** The signed callbacks of the simulator. */
export type Callbacks = {
  /** Resolves with true if the client returned 200; immediately with false without a URL, or when the queue is full. */
  send(event: OutgoingEvent): Promise<boolean>;
  /**
   * Performs the handshake with a URL and sends the events there from then on. Resolves with false, and changes
   * nothing, when the response is not the secret (RBM API, webhooks).
   */
  register(url: string): Promise<boolean>;
  /** Returns the number of callbacks that are not acknowledged yet. */
  waiting(): number;
  /** Resolves when every callback so far was acknowledged or given up. */
  idle(): Promise<void>;
  stop(): Promise<void>;
};

/** Options of the callbacks. */
export type CallbackOptions = {
  readonly script: RbmScript;
  readonly ledger: LedgerWriter;
  readonly clientToken: string;
};

/** Creates the callbacks; without a registered URL, events are lost. */
export function createCallbacks({ script, ledger, clientToken }: CallbackOptions): Callbacks {
  const poster = createPoster(script);
  let url: string | null = null;

  function send(event: OutgoingEvent): Promise<boolean> {
    const entry = ledger.recordEvent(event);
    return new Promise((resolve) => {
      const end = (result: { acked: boolean; tries: number }): void => {
        ledger.count('callbacks', result.tries);
        ledger.recordResult(entry, result);
        resolve(result.acked);
      };
      const queued = url !== null && poster.push({ url, ...envelopeOf(event, clientToken) }, end);
      if (!queued) end({ acked: false, tries: 0 });
    });
  }

  function register(newUrl: string): Promise<boolean> {
    const secret = randomBytes(8).toString('hex');
    const headers = { 'x-goog-webhook-type': 'verification' };
    return new Promise((resolve) => {
      const pushed = poster.push({ url: newUrl, headers, body: JSON.stringify({ clientToken, secret }) }, (result) => {
        const proven = result.acked && result.body.toString() === secret;
        if (proven) url = newUrl;
        resolve(proven);
      });
      if (!pushed) resolve(false);
    });
  }

  return { send, register, waiting: poster.waiting, idle: poster.idle, stop: poster.stop };
}

const TYPES = { event: 'event', inbound: 'message', launch: 'agent_launch_event' } as const;

/** Wraps an event in its envelope and signs the wrapped bytes. */
function envelopeOf({ kind, what, agentId, event }: OutgoingEvent, clientToken: string): SealedCallback {
  const data = Buffer.from(JSON.stringify(event));
  const attributes = { type: TYPES[kind], business_id: agentId, product: 'RBM', event_type: what };
  const message = {
    data: data.toString('base64'),
    messageId: newId(),
    publishTime: new Date().toISOString(),
    attributes,
  };
  return {
    headers: { 'x-goog-signature': signatureOf(data, clientToken) },
    body: JSON.stringify({ message, subscription: 'projects/sandbox/subscriptions/rbm' }),
  };
}

type SealedCallback = { readonly headers: Readonly<Record<string, string>>; readonly body: string };
