import { makeThumbnail } from '../../media/inspect-file.ts';
import type { Log } from '../../platform/lib/log.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import type { Caller } from './networks/network.ts';

export type PictureDeps = { readonly outbound: Pick<Outbound, 'fetchPicture'>; readonly log: Log };

const MAX_BYTES = 1024 * 1024;

/**
 * Copies the picture of a profile, because the URLs of networks expire. The URL that a network names is not trusted: it
 * is fetched like the URL of a webhook, with at most 1 MiB, decoded in a separate process, and encoded again as a JPEG
 * of at most 320 by 320. Resolves with null if there is none; a picture that cannot be copied does not keep the profile
 * from being connected.
 */
export async function copyPicture(
  { outbound, log }: PictureDeps,
  { web, simulated }: Pick<Caller, 'web' | 'simulated'>,
  { accountId, url }: { readonly accountId: number; readonly url: string | null },
): Promise<Buffer | null> {
  if (url === null) return null;
  try {
    const response =
      simulated === null
        ? await outbound.fetchPicture(url, { method: 'GET', headers: { accept: 'image/jpeg, image/png' } })
        : await web.fetch(web.at(url), {});
    if (!response.ok) throw new Error(`status ${response.status}`);
    const octets = Buffer.from(await response.arrayBuffer());
    if (octets.length > MAX_BYTES) throw new Error('too long');
    return await makeThumbnail(octets, accountId);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.warn({ accountId, reason }, 'the picture of a social profile was not copied');
    return null;
  }
}
