import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import type { Clock } from '../../platform/lib/clock.ts';
import type { Resolver, StoredContent } from '../../network/templates/content.ts';
import type { MediaLinks } from '../../media/links.ts';
import { referenceTo, withLinks } from '../../media/reference.ts';
import { listMedia } from '../../media/sql.ts';

type Wanted = { readonly accountId: number; readonly content: StoredContent };

const MOST_FILES = 10_000;
/** A file that is deleted is sent for so long at most. */
const KEPT_MS = 5000;

const filesOf = (content: StoredContent): readonly number[] => ('files' in content && content.files) || [];
const keyOf = (accountId: number, id: number): string => `${accountId}/${id}`;

/**
 * Puts the links of an account's files where its contents name them, as each message goes to its carrier: a link lives
 * for a day, and a message may wait longer. A content whose file is gone resolves to null.
 */
export function withMedia(
  { pool, links, clock }: { readonly pool: Pool; readonly links: MediaLinks; readonly clock: Clock },
  inner: Resolver,
): Resolver {
  /** Null: there is none. */
  const known = new LRUCache<string, { readonly url: string | null }>({ max: MOST_FILES, ttl: KEPT_MS });
  /** Those of the batch that is being loaded: they must not go while it is resolved. */
  let latest = new Map<string, string | null>();

  async function read(accountId: number, ids: readonly number[]): Promise<void> {
    const missing = ids.filter((id) => !known.has(keyOf(accountId, id)));
    if (missing.length === 0) return;
    for (const id of missing) known.set(keyOf(accountId, id), { url: null });
    for (const media of await listMedia(pool, { accountId, ids: missing }))
      known.set(keyOf(accountId, media.id), { url: links(media, clock.now()).url });
  }

  async function load(wanted: readonly Wanted[]): Promise<void> {
    await inner.load(wanted);
    const named = wanted.flatMap(({ accountId, content }) => filesOf(content).map((id) => ({ accountId, id })));
    for (const [accountId, files] of Map.groupBy(named, (file) => file.accountId))
      await read(accountId, [...new Set(files.map(({ id }) => id))]);
    const found = named.map(({ accountId, id }) => keyOf(accountId, id));
    latest = new Map(
      [...latest, ...found.map((key) => [key, known.get(key)?.url ?? null] as const)].slice(-MOST_FILES),
    );
  }

  return {
    load,
    resolve(accountId, content) {
      const files = filesOf(content);
      if (files.length === 0 || 'template' in content) return inner.resolve(accountId, content);
      const urls = new Map<string, string>();
      for (const id of files) {
        const url = latest.get(keyOf(accountId, id)) ?? null;
        if (url === null) return null;
        urls.set(referenceTo(id), url);
      }
      const { files: _, ...whole } = content;
      return inner.resolve(accountId, withLinks(whole, urls));
    },
  };
}
