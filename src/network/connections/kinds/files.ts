import type { InboundMedia } from '../../../carriers/events.ts';
import { parseBaseUrl } from '../../../carriers/http/base-url.ts';
import { createHttpClient, type HttpClient } from '../../../carriers/http/client.ts';
import type { RcsSettings } from '../../../carriers/rcs/settings.ts';
import { createGraphClient } from '../../../carriers/whatsapp/client.ts';
import { downloadMedia } from '../../../carriers/whatsapp/media.ts';
import type { WhatsappSecrets, WhatsappSettings } from '../../../carriers/whatsapp/settings.ts';
import { guardedLookup } from '../../../platform/outbound/connect.ts';
import { createGuard } from '../../../platform/outbound/guard.ts';

/** A file of a message that came in, or why it cannot be had; `retry`: not now. */
export type FetchedFile =
  | { readonly ok: true; readonly bytes: Buffer }
  | { readonly ok: false; readonly retry: boolean; readonly reason: string };

/** Never rejects. */
export type FileSource = {
  fetch(media: InboundMedia, maxBytes: number): Promise<FetchedFile>;
  close(): Promise<void>;
};

const CONNECT_MS = 10_000;
const FETCH_MS = 60_000;

const lost = (reason: string): FetchedFile => ({ ok: false, retry: false, reason });

/** By the id, with the token of the connection (protocol sheet whatsapp, section 3). */
export function whatsappFiles(settings: WhatsappSettings, secrets: WhatsappSecrets): FileSource {
  const client = createGraphClient(settings, secrets);
  return {
    async fetch({ id }, maxBytes) {
      if (id === null) return lost('the network names no file');
      const answer = await downloadMedia(client, { id, maxBytes });
      if (answer.ok) return { ok: true, bytes: answer.value.bytes };
      return { ok: false, retry: answer.fault.retry, reason: answer.fault.text };
    },
    close: () => client.close(),
  };
}

const guard = createGuard({ openBlocks: [], ports: [443] });

/**
 * By the address in the callback (protocol sheet rcs, section 4): of the network's own host, or by HTTPS at a public
 * address. The callback is signed, but what stands in it may come from the person's handset.
 */
export function rcsFiles({ baseUrl }: RcsSettings): FileSource {
  const options = { connections: 4, connectTimeoutMs: CONNECT_MS, timeoutMs: FETCH_MS };
  const [own, others] = [createHttpClient(options), createHttpClient({ ...options, lookup: guardedLookup(guard) })];
  return {
    async fetch({ url }, maxBytes) {
      const target = URL.parse(url ?? '');
      if (!target) return lost('the network tells no address');
      if (target.origin === parseBaseUrl('baseUrl', baseUrl).origin) return get(own, target, maxBytes);
      if (target.protocol !== 'https:' || target.port !== '') return lost('the address is not one that may be called');
      // The look-up is never asked about an address; a name is looked up again where it is dialled.
      const refused = await guard.addressesOf(target.hostname.replace(/^\[|\]$/g, '')).then(
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
  if (answer.kind === 'failed') return { ok: false, retry: !/longer than/.test(answer.reason), reason: answer.reason };
  if (answer.status === 200) return { ok: true, bytes: answer.body };
  return { ok: false, retry: answer.status >= 500 || answer.status === 429, reason: `answered with ${answer.status}` };
}
