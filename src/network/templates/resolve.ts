import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { isTemplateContent, type Resolver, type StoredContent, type TemplateContent } from './content.ts';
import { composeContent } from './compose.ts';
import { listTemplatesByKey } from './sql.ts';
import type { Sendable } from './template.ts';

const MAX_TEMPLATES = 10_000;
/** Time that a template which is paused or changed may still be sent in its old form. */
const CACHE_MS = 5000;

/** True if a template is approved and the account may use it. */
const maySend = ({ status, ownerId }: Sendable, accountId: number): boolean =>
  status === 'APPROVED' && (ownerId === null || ownerId === accountId);

const keyOf = ({ channel, template }: TemplateContent): string => `${channel}/${template}`;

/**
 * Creates the resolver of stored contents. A template resolves to null when it is gone, not approved, belongs to
 * another account, or needs a value that the message does not have.
 */
export function createResolver(pool: Pool): Resolver {
  /** Templates that do not exist are cached as well. */
  const known = new LRUCache<string, { readonly template: Sendable | null }>({ max: MAX_TEMPLATES, ttl: CACHE_MS });
  /** The templates of the batches that are being loaded: they must not be evicted before they are resolved. */
  let latest = new Map<string, Sendable | null>();

  async function load(wanted: readonly { readonly content: StoredContent }[]): Promise<void> {
    const contents = wanted.map(({ content }) => content).filter(isTemplateContent);
    if (contents.length === 0) return;
    const keys = new Map(contents.map((content) => [keyOf(content), content]));
    const missing = [...keys].filter(([key]) => !known.has(key));
    if (missing.length > 0) await read(missing);
    const found = [...keys.keys()].map((key) => [key, known.get(key)?.template ?? null] as const);
    latest = new Map([...latest, ...found].slice(-MAX_TEMPLATES));
  }

  async function read(missing: readonly (readonly [string, TemplateContent])[]): Promise<void> {
    const ids = missing.map(([, { channel, template }]) => ({ channel, id: template }));
    const rows = await listTemplatesByKey(pool, { keys: ids });
    const byKey = new Map(rows.map((row) => [`${row.channel}/${row.id}`, row]));
    for (const [key] of missing) known.set(key, { template: byKey.get(key) ?? null });
  }

  return {
    load,
    resolve(accountId, content) {
      if (!isTemplateContent(content)) return content;
      const template = latest.get(keyOf(content)) ?? null;
      if (template === null || !maySend(template, accountId)) return null;
      const values = template.variables.map((entry) => content.values[entry]);
      const { trafficType = template.trafficType } = content;
      return values.every((value) => value !== undefined)
        ? composeContent({ ...template, trafficType }, { values })
        : null;
    },
  };
}
