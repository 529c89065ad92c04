export type Channel = 'SMS' | 'RCS' | 'WHATSAPP';

/** The status of a message has changed. */
export type DeliveryEvent = {
  readonly eventType: 'DELIVERY';
  readonly messageId: string;
  readonly customerMessageId?: string;
  /** E.164. */
  readonly destination: string;
  /** 1 accepted, 2 rejected, 3 delivered, 4 expired, 5 deleted, 6 undeliverable, 9 error, 10 disabled, 11 unsupported, 12 conversation closed, 0 unknown. */
  readonly statusCode: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 9 | 10 | 11 | 12;
  readonly description: string;
  readonly channel: Channel;
  /** ISO 8601, UTC. */
  readonly timestamp: string;
};

/** A message was read (RCS and WhatsApp). */
export type ReadEvent = {
  readonly eventType: 'READ';
  readonly messageId: string;
  readonly destination: string;
  readonly channel: 'RCS' | 'WHATSAPP';
  readonly timestamp: string;
};

/** Somebody wrote. The text is a stranger's: escape it where you show it. */
export type InboundEvent = {
  readonly eventType: 'INBOUND';
  readonly source: string;
  readonly destination: string;
  readonly text: string;
  readonly channel: Channel;
  /** For example `TEXT`. */
  readonly messageType: string;
  readonly timestamp: string;
};

/** What a webhook that was registered at `/api/webhooks/delivery-status` gets, the second form of payload. */
export type StatusEvent = {
  readonly eventType?: never;
  readonly messageId: string;
  readonly customerMessageId?: string;
  readonly phoneNumber: string;
  readonly status: 'SENT' | 'DELIVERED' | 'ERROR' | 'EXPIRED';
  readonly timestamp: string;
  readonly channel: 'sms' | 'rcs' | 'whatsapp';
  /** Why, when the status is ERROR. */
  readonly error: string | null;
};

/** Told apart by `eventType`; a StatusEvent has none. */
export type WebhookEvent = DeliveryEvent | ReadEvent | InboundEvent | StatusEvent;

/** A callback that did not come from your Heliograph, or came too late. Answer it with 400 or 401. */
export class WebhookError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WebhookError';
  }
}

/** Those of `Headers`, or of Node's `request.headers`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export type VerifyOptions = {
  /** How far the sender's clock and yours may be apart, and how late a callback may be (default 300). */
  readonly toleranceSeconds?: number;
};

/**
 * The event of a callback, after its signature was checked (Standard Webhooks 1.0, symmetric). Rejects with a WebhookError.
 * Events come at least once: tell repeated ones by the header `webhook-id`.
 *
 * @param rawBody exactly as received: parsed and written anew it has another signature
 * @param secrets `whsec_…` as shown at registration; both of them while you change from one to another
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
  // After the signature: who cannot sign learns nothing of our clock.
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

/** Whether one of the signatures is that of one of the secrets. WebCrypto compares in constant time. */
async function isSigned(
  content: Uint8Array<ArrayBuffer>,
  signatures: string,
  secrets: readonly string[],
): Promise<boolean> {
  const given = signatures
    .split(' ')
    .flatMap((signature) => (signature.startsWith('v1,') ? octetsOf(signature.slice(3)) : []));
  for (const secret of secrets) {
    const [octets] = octetsOf(secret.replace(/^whsec_/, ''));
    if (!octets) throw new TypeError('A secret of a webhook is written in base64, after whsec_');
    const key = await crypto.subtle.importKey('raw', octets, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    for (const signature of given) if (await crypto.subtle.verify('HMAC', key, signature, content)) return true;
  }
  return false;
}

/** The octets of base64, alone in a list; none when it is no base64, or empty. */
function octetsOf(base64: string): Uint8Array<ArrayBuffer>[] {
  try {
    const octets = Uint8Array.from(atob(base64), (character) => character.codePointAt(0) ?? 0);
    return octets.length === 0 ? [] : [octets];
  } catch {
    return [];
  }
}
