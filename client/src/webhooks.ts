import type { components, webhooks } from './schema.d.ts';

type Schemas = components['schemas'];

/** The status of a message has changed. */
export type DeliveryEvent = Readonly<Schemas['DeliveryEvent']>;
/** A message was read (RCS and WhatsApp). */
export type ReadEvent = Readonly<Schemas['ReadEvent']>;
/** An inbound message. The text is untrusted: escape it wherever you show it. */
export type InboundEvent = Readonly<Schemas['InboundEvent']>;
/** The events of a webhook that was registered at `/api/webhooks/delivery-status`, which have another form. */
export type StatusEvent = Readonly<Schemas['StatusEvent']> & { readonly eventType?: never };
export type Channel = DeliveryEvent['channel'];

type Body = webhooks[keyof webhooks]['post']['requestBody']['content']['application/json'];

/** The envelopes of endpoints that were added at `…/webhooks/endpoints`; they differ in `type`. */
export type EndpointEvent = Readonly<Extract<Body, { type: string }>> & { readonly eventType?: never };

/** An event. Those of a webhook differ in `eventType`; a StatusEvent and an EndpointEvent have none. */
export type WebhookEvent =
  | Readonly<Exclude<Body, Schemas['StatusEvent'] | { type: string }>>
  | StatusEvent
  | EndpointEvent;

/** A callback that is not from your Heliograph, or is too old. Respond with 400 or 401. */
export class WebhookError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WebhookError';
  }
}

/** The headers of a callback: a `Headers` object, or Node's `request.headers`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export type VerifyOptions = {
  /** Maximum difference between the time stamp of a callback and your clock, in seconds (default 300). */
  readonly toleranceSeconds?: number;
};

/**
 * Verifies the signature of a callback (Standard Webhooks 1.0, symmetric) and returns its event. Rejects with a
 * WebhookError. Events are delivered at least once: repeated ones have the same `webhook-id` header.
 *
 * @param rawBody the body exactly as received: parsing and serializing it would change its signature
 * @param secrets `whsec_…` as shown at registration; both while you are rotating them
 */
export async function verifyWebhook(
  headers: WebhookHeaders,
  rawBody: string | Uint8Array,
  secrets: string | readonly string[],
  { toleranceSeconds = 300 }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(headers, name),
  );
  if (!id || !timestamp || !signatures) throw new WebhookError('The callback is not signed');
  const body = typeof rawBody === 'string' ? rawBody : new TextDecoder().decode(rawBody);
  const content = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  if (!(await isSigned(content, signatures, [secrets].flat()))) throw new WebhookError('The signature is not valid');
  // Checked after the signature: clients without the secret learn nothing about our clock.
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= toleranceSeconds))
    throw new WebhookError('The callback is too old, or a clock is wrong');
  const event: WebhookEvent = JSON.parse(body);
  return event;
}

function headerOf(headers: WebhookHeaders, name: string): string | null {
  if (headers instanceof Headers) return headers.get(name);
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof value === 'string' ? value : null;
}

/** Returns true if one of the signatures was made with one of the secrets. WebCrypto compares in constant time. */
async function isSigned(
  content: Uint8Array<ArrayBuffer>,
  signatures: string,
  secrets: readonly string[],
): Promise<boolean> {
  const candidates = signatures
    .split(' ')
    .flatMap((signature) => (signature.startsWith('v1,') ? decodeBase64(signature.slice(3)) : []));
  for (const secret of secrets) {
    const [bytes] = decodeBase64(secret.replace(/^whsec_/, ''));
    if (!bytes) throw new TypeError('A webhook secret is written in base64, after whsec_');
    const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    for (const signature of candidates) if (await crypto.subtle.verify('HMAC', key, signature, content)) return true;
  }
  return false;
}

/** Decodes base64; returns a list with the bytes, or an empty list for invalid or empty input. */
function decodeBase64(base64: string): Uint8Array<ArrayBuffer>[] {
  try {
    const octets = Uint8Array.from(atob(base64), (character) => character.codePointAt(0) ?? 0);
    return octets.length === 0 ? [] : [octets];
  } catch {
    return [];
  }
}
