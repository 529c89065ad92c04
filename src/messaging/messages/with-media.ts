import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import type { Clock } from '../../platform/lib/clock.ts';
import type { Resolver, StoredContent } from '../../network/templates/content.ts';
import type { MediaLinks } from '../../media/links.ts';
import { mediaReference, resolveReferences } from '../../media/reference.ts';
import { toOwnFile } from '../../media/copies/own-file.ts';
import { listMedia, type MediaRow } from '../../media/sql.ts';
import type { Storage } from '../../platform/storage/storage.ts';

type Deps = {
  readonly pool: Pool;
  readonly storage: Storage;
  readonly links: MediaLinks;
  readonly clock: Clock;
};

/** A file of an account, and the link to it. */
type File = { readonly media: MediaRow; readonly url: string };

type Request = { readonly accountId: number; readonly content: StoredContent };

const MAX_FILES = 10_000;
/** A deleted file may still be sent for this long. */
const CACHE_MS = 5000;

const filesOf = (content: StoredContent): readonly number[] => ('files' in content && content.files) || [];
const keyOf = (accountId: number, id: number): string => `${accountId}/${id}`;

/**
 * Wraps a resolver so that contents get the links of the files that they name as each message goes to its carrier: a
 * link is valid for a day, and a message may wait longer. A content whose file no longer exists resolves to null.
 */
export function withMedia({ pool, storage, links, clock }: Deps, inner: Resolver): Resolver {
  /** Null: there is no such file. */
  const known = new LRUCache<string, { readonly file: File | null }>({ max: MAX_FILES, ttl: CACHE_MS });
  /** The files of the batch that is being loaded: they must not expire before it is resolved. */
  let latest = new Map<string, File | null>();

  async function read(accountId: number, ids: readonly number[]): Promise<void> {
    const missing = ids.filter((id) => !known.has(keyOf(accountId, id)));
    if (missing.length === 0) return;
    for (const id of missing) known.set(keyOf(accountId, id), { file: null });
    for (const media of await listMedia(pool, { accountId, ids: missing }))
      known.set(keyOf(accountId, media.id), { file: { media, url: links(media, clock.now()).url } });
  }

  async function load(requests: readonly Request[]): Promise<void> {
    await inner.load(requests);
    const named = requests.flatMap(({ accountId, content }) => filesOf(content).map((id) => ({ accountId, id })));
    for (const [accountId, files] of Map.groupBy(named, (file) => file.accountId))
      await read(accountId, [...new Set(files.map(({ id }) => id))]);
    const found = named.map(({ accountId, id }) => keyOf(accountId, id));
    latest = new Map(
      [...latest, ...found.map((key) => [key, known.get(key)?.file ?? null] as const)].slice(-MAX_FILES),
    );
  }

  return {
    load,
    resolve(accountId, content) {
      const files = filesOf(content);
      if (files.length === 0 || 'template' in content) return inner.resolve(accountId, content);
      const urls = new Map<string, string>();
      for (const id of files) {
        const file = latest.get(keyOf(accountId, id)) ?? null;
        if (file === null) return null;
        urls.set(mediaReference(id), file.url);
      }
      const { files: _, ...whole } = content;
      return inner.resolve(accountId, resolveReferences(whole, urls));
    },
    fileOf(accountId, content) {
      const [id, ...more] = filesOf(content);
      const file = id === undefined || more.length > 0 ? undefined : latest.get(keyOf(accountId, id));
      return file ? toOwnFile({ pool, storage }, file.media) : undefined;
    },
  };
}
