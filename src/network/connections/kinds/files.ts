import type { InboundMedia } from '../../../carriers/events.ts';
import { parseBaseUrl } from '../../../carriers/http/base-url.ts';
import { createHttpClient, type HttpClient } from '../../../carriers/http/client.ts';
import type { RcsSettings } from '../../../carriers/rcs/settings.ts';
import { createGraphClient } from '../../../carriers/whatsapp/client.ts';
import { downloadMedia } from '../../../carriers/whatsapp/media.ts';
import type { WhatsappSecrets, WhatsappSettings } from '../../../carriers/whatsapp/settings.ts';
import { guardedLookup } from '../../../platform/outbound/connect.ts';
import { createGuard } from '../../../platform/outbound/guard.ts';

/**
 * A file of an inbound message, or the reason why it could not be fetched; `retry` is true when a later attempt may
 * succeed.
 */
export type FetchedFile =
  | { readonly ok: true; readonly bytes: Buffer }
  | { readonly ok: false; readonly retry: boolean; readonly reason: string };

/** Source of the files of inbound messages. */
export type FileSource = {
  /** Fetches a file of up to `maxBytes`; never rejects. */
  fetch(media: InboundMedia, maxBytes: number): Promise<FetchedFile>;
  close(): Promise<void>;
};

const CONNECT_MS = 10_000;
const FETCH_MS = 60_000;

const lost = (reason: string): FetchedFile => ({ ok: false, retry: false, reason });

/** Fetches files by their id, with the access token of the connection (Cloud API, media). */
export function whatsappFiles(settings: WhatsappSettings, secrets: WhatsappSecrets): FileSource {
  const client = createGraphClient(settings, secrets);
  return {
    async fetch({ id }, maxBytes) {
      if (id === null) return lost('the callback contains no file id');
      const answer = await downloadMedia(client, { id, maxBytes });
      if (answer.ok) return { ok: true, bytes: answer.value.bytes };
      return { ok: false, retry: answer.fault.retry, reason: answer.fault.text };
    },
    close: () => client.close(),
  };
}

const guard = createGuard({ allowedBlocks: [], ports: [443] });

/**
 * Fetches files by the URL in the callback (RBM API, agentMessages): from the network's own host, or over HTTPS from a
 * public address. The callback is signed, but the URL in it may come from the person's handset.
 */
export function rcsFiles({ baseUrl }: RcsSettings): FileSource {
  const options = { connections: 4, connectTimeoutMs: CONNECT_MS, timeoutMs: FETCH_MS };
  const [own, others] = [createHttpClient(options), createHttpClient({ ...options, lookup: guardedLookup(guard) })];
  return {
    async fetch({ url }, maxBytes) {
      const target = URL.parse(url ?? '');
      if (!target) return lost('the callback contains no valid URL');
      if (target.origin === parseBaseUrl('baseUrl', baseUrl).origin) return get(own, target, maxBytes);
      if (target.protocol !== 'https:' || target.port !== '') return lost('the URL is not allowed');
      // The guarded lookup of the client is not called for IP addresses, only for names: check both here.
      const refused = await guard.resolveAllowed(target.hostname.replace(/^\[|\]$/g, '')).then(
        () => null,
        (error: Error) => error.message,
      );
      return refused === null ? get(others, target, maxBytes) : { ok: false, retry: true, reason: refused };
    },
    async close() {
      await Promise.all([own.close(), others.close()]);
    },
  };
}

async function get(client: HttpClient, { origin, pathname, search }: URL, maxBytes: number): Promise<FetchedFile> {
  const answer = await client.request({ method: 'GET', origin, path: `${pathname}${search}`, headers: {}, maxBytes });
  if (answer.kind === 'failed') return { ok: false, retry: answer.tooLarge !== true, reason: answer.reason };
  if (answer.status === 200) return { ok: true, bytes: answer.body };
  return { ok: false, retry: answer.status >= 500 || answer.status === 429, reason: `answered with ${answer.status}` };
}
