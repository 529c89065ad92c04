import { randomBytes } from 'node:crypto';
import { newId } from '../../platform/lib/ids.ts';
import { signatureOf } from '../../carriers/rcs/signature.ts';
import { createPoster } from '../http/poster.ts';
import type { EventEntry, LedgerWriter } from './ledger.ts';
import type { RbmScript } from './script.ts';

/** Something that the client is told. */
export type OutgoingEvent = {
  readonly kind: EventEntry['kind'];
  /** The message that it is about. */
  readonly id: string;
  readonly what: string;
  readonly agentId: string;
  /** What is signed and sent, as JSON. */
  readonly event: object;
};

export type Callbacks = {
  /** Resolves with whether the client has answered 200; false at once when there is no address, or no room to wait. */
  tell(telling: OutgoingEvent): Promise<boolean>;
  /**
   * Proves to the address that it is us, and sends the events there from then on; false, and nothing changes, when its
   * answer is not the secret (protocol sheet rcs, section 6).
   */
  register(url: string): Promise<boolean>;
  /** Callbacks that are not acknowledged yet. */
  waiting(): number;
  idle(): Promise<void>;
  stop(): Promise<void>;
};

export type CallbackOptions = {
  readonly script: RbmScript;
  readonly ledger: LedgerWriter;
  readonly clientToken: string;
};

export function createCallbacks({ script, ledger, clientToken }: CallbackOptions): Callbacks {
  const poster = createPoster(script);
  let url: string | null = null;

  function tell(telling: OutgoingEvent): Promise<boolean> {
    const entry = ledger.recordEvent(telling);
    return new Promise((resolve) => {
      const end = (result: { acked: boolean; tries: number }): void => {
        ledger.recordResult(entry, result);
        resolve(result.acked);
      };
      if (url === null || !poster.push({ url, ...envelopeOf(telling, clientToken) }, end))
        end({ acked: false, tries: 0 });
    });
  }

  function register(to: string): Promise<boolean> {
    const secret = randomBytes(8).toString('hex');
    const headers = { 'x-goog-webhook-type': 'verification' };
    return new Promise((resolve) => {
      const pushed = poster.push({ url: to, headers, body: JSON.stringify({ clientToken, secret }) }, (result) => {
        const proven = result.acked && result.body.toString() === secret;
        if (proven) url = to;
        resolve(proven);
      });
      if (!pushed) resolve(false);
    });
  }

  return { tell, register, waiting: poster.waiting, idle: poster.idle, stop: poster.stop };
}

const TYPES = { event: 'event', inbound: 'message', launch: 'agent_launch_event' } as const;

/** The envelope of an event, and the signature of what is in it. */
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
