import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import type { TrafficType } from '../channels/carrier.ts';
import type { Actor } from '../core/actor.ts';
import type { RichChannel } from '../core/channels.ts';
import { boolean, rowsOf, text } from '../core/db/columns.ts';
import {
  as,
  columns,
  type Db,
  exec,
  many,
  maybeOne,
  one,
  type RowOf,
  type Sql,
  sql,
  textArray,
} from '../core/db/query.ts';
import { AppError, existing } from '../core/errors.ts';
import type { FactData } from '../webhooks/fact-types.ts';
import { publishFacts } from '../webhooks/outbox.ts';
import {
  isTemplateContent,
  type Resolver,
  type Sendable,
  type StoredContent,
  type TemplateContent,
  type SentComponents,
  isMarketing,
} from './content.ts';
import { composeForCampaign } from './components.ts';

/** Returns a template that the account may change. Errors: 404; 403 for a shared template. */
export async function findOwnTemplate(
  db: Db,
  { accountId }: Pick<Actor, 'accountId'>,
  channel: RichChannel,
  id: string,
): Promise<Template> {
  const template = await existing(findUsableTemplate(db, { accountId, channel, id }));
  if (template.ownerId === null)
    throw new AppError('forbidden', {
      message: 'This template is shared by all accounts: only the operator can change it',
    });
  return template;
}

/**
 * Lists the distinct variables of a template, for which a campaign's message needs values: each is a contact field with
 * its default behind a `|`, as between the braces of a campaign's text. Undefined when the account has no such
 * template.
 */
export async function listTemplateVariables(
  db: Db,
  { accountId, channel, templateId }: { accountId: number; channel: RichChannel; templateId: string },
): Promise<string[] | undefined> {
  const template = await findUsableTemplate(db, { accountId, channel, id: templateId });
  return template && [...new Set(template.variables)];
}

/** Returns true if WhatsApp takes a template of the account for marketing; false without a template. */
export async function hasMarketing(
  db: Db,
  { accountId, templateId }: { accountId: number; templateId: string | null },
): Promise<boolean> {
  if (templateId === null) return false;
  const template = await findUsableTemplate(db, { accountId, channel: 'WHATSAPP', id: templateId });
  return template !== undefined && isMarketing(template);
}

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
      const { trafficType = template.trafficType } = content;
      return composeForCampaign({ ...template, trafficType }, content.values)?.content ?? null;
    },
  };
}

const TEMPLATE = columns({
  channel: as<RichChannel>('channel'),
  id: as<string>('id'),
  ownerId: as<number | null>('owner_id'),
  /** WhatsApp: the connection to the business account that has it. */
  connectionId: as<number | null>('connection_id'),
  name: as<string>('name'),
  language: as<string>('language'),
  category: as<string>('category'),
  status: as<string>('status'),
  reason: as<string | null>('reason'),
  /** WhatsApp: GREEN, YELLOW, RED or UNKNOWN. RCS: null. */
  quality: as<string | null>('quality'),
  content: as<unknown>('content'),
  headerLink: as<string | null>('header_link'),
  trafficType: as<TrafficType | null>('traffic_type'),
  named: as<boolean>('named'),
  variables: as<readonly string[]>('variables'),
  campaignComponents: as<SentComponents | null>('campaign_components'),
  createdAt: as<Date>('created_at'),
  updatedAt: as<Date>('updated_at'),
});
/** A template with all of its stored fields; `Sendable` documents those needed to send it. */
export type Template = Sendable & RowOf<typeof TEMPLATE>;

type Key = { readonly channel: RichChannel; readonly id: string };

/** Lists templates of any account by their keys; templates that do not exist are missing. */
async function listTemplatesByKey(db: Db, { keys }: { keys: readonly Key[] }): Promise<Sendable[]> {
  return many(
    db,
    sql`SELECT ${TEMPLATE} FROM template WHERE (channel, id) IN (
          SELECT u.channel, u.id FROM ${rowsOf(keys, { channel: text((k) => k.channel), id: text((k) => k.id) })} AS u)`,
  );
}

/** Finds a template that the account may use: its own, or a shared one. */
export async function findUsableTemplate(
  db: Db,
  { accountId, channel, id }: Key & { accountId: number },
): Promise<Template | undefined> {
  return maybeOne(
    db,
    sql`SELECT ${TEMPLATE} FROM template
        WHERE channel = ${channel} AND id = ${id} AND (owner_id = ${accountId} OR owner_id IS NULL)`,
  );
}

/** Finds a WhatsApp template of one business account that the account may use, by the name that the network knows. */
export async function findUsableTemplateByName(
  db: Db,
  t: { accountId: number; connectionId: number; name: string; language: string },
): Promise<Template | undefined> {
  return maybeOne(
    db,
    sql`SELECT ${TEMPLATE} FROM template
        WHERE connection_id = ${t.connectionId} AND name = ${t.name} AND language = ${t.language}
          AND status <> 'DELETED' AND (owner_id = ${t.accountId} OR owner_id IS NULL)
        ORDER BY owner_id NULLS LAST LIMIT 1`,
  );
}

export type TemplateFilter = {
  readonly accountId: number;
  readonly channel: RichChannel;
  /** Null: all but DELETED. */
  readonly status: string | null;
  readonly search: string | null;
};

const matches = ({ accountId, channel, status, search }: TemplateFilter) =>
  sql`channel = ${channel} AND (owner_id = ${accountId} OR owner_id IS NULL)
      AND (${status}::text IS NULL AND status <> 'DELETED' OR status = ${status})
      AND (${search}::text IS NULL OR strpos(lower(name), lower(${search})) > 0)`;

/** Lists a page of the templates that the account may use, by name and language. */
export async function listUsableTemplates(
  db: Db,
  filter: TemplateFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<Template[]> {
  return many(
    db,
    sql`SELECT ${TEMPLATE} FROM template WHERE ${matches(filter)}
        ORDER BY name, language, id LIMIT ${limit} OFFSET ${offset}`,
  );
}

export async function countUsableTemplates(db: Db, filter: TemplateFilter): Promise<number> {
  const row = await one<{ count: number }>(db, sql`SELECT count(*) AS count FROM template WHERE ${matches(filter)}`);
  return row.count;
}

export async function countOwnTemplates(
  db: Db,
  { accountId, channel }: { accountId: number; channel: RichChannel },
): Promise<number> {
  const row = await one<{ count: number }>(
    db,
    sql`SELECT count(*) AS count FROM template WHERE channel = ${channel} AND owner_id = ${accountId}`,
  );
  return row.count;
}

/**
 * Makes `claimTemplateSync` wait until this transaction ends: by then, a template made at the network is stored here
 * too.
 */
export async function claimTemplateChange(db: Db, { connectionId }: { connectionId: number }): Promise<void> {
  await exec(db, sql`SELECT pg_advisory_xact_lock_shared(724910, (${connectionId}::bigint % 2147483647)::int)`);
}

/** Waits for transactions that change templates of this connection, and locks others out until this one ends. */
export async function claimTemplateSync(db: Db, { connectionId }: { connectionId: number }): Promise<void> {
  await exec(db, sql`SELECT pg_advisory_xact_lock(724910, (${connectionId}::bigint % 2147483647)::int)`);
}

export async function findDatabaseTime(db: Db): Promise<Date> {
  return (await one<{ now: Date }>(db, sql`SELECT clock_timestamp() AS now`)).now;
}

export type NewTemplate = Omit<
  Template,
  'createdAt' | 'updatedAt' | 'reason' | 'quality' | 'trafficType' | 'campaignComponents'
> & {
  readonly trafficType?: TrafficType | null;
  readonly campaignComponents?: SentComponents | null;
};

/** Inserts a template; returns false, and changes nothing, when one with this id exists. */
export async function insertTemplate(db: Db, t: NewTemplate): Promise<boolean> {
  const rows = await exec(
    db,
    sql`INSERT INTO template (channel, id, owner_id, connection_id, name, language, category, status, content,
                              header_link, traffic_type, named, variables, campaign_components, quality, created_at, updated_at)
        VALUES (${t.channel}, ${t.id}, ${t.ownerId}, ${t.connectionId}, ${t.name}, ${t.language}, ${t.category},
                ${t.status}, ${JSON.stringify(t.content)}::jsonb, ${t.headerLink}, ${t.trafficType ?? null}, ${t.named},
                ${[...t.variables]}, ${t.campaignComponents ? JSON.stringify(t.campaignComponents) : null}::json,
                CASE WHEN ${t.channel} = 'WHATSAPP' THEN 'UNKNOWN' END,
                clock_timestamp(), clock_timestamp())
        ON CONFLICT (channel, id) DO NOTHING`,
  );
  return rows === 1;
}

/**
 * Updates the fields of a template that the account itself decides; undefined leaves a value unchanged. Returns false
 * when the account has no such template.
 */
export async function updateTemplate(
  db: Db,
  t: Key & {
    accountId: number;
    variables?: readonly string[] | undefined;
    campaignComponents?: SentComponents | null | undefined;
    headerLink?: string | null | undefined;
    content?: unknown;
    category?: string | undefined;
    status?: string | undefined;
  },
): Promise<boolean> {
  const rows = await exec(
    db,
    sql`UPDATE template SET updated_at = now(),
          variables = CASE WHEN ${t.variables !== undefined} THEN ${[...(t.variables ?? [])]}::text[] ELSE variables END,
          campaign_components = CASE WHEN ${t.campaignComponents !== undefined}
            THEN ${t.campaignComponents ? JSON.stringify(t.campaignComponents) : null}::json ELSE campaign_components END,
          header_link = CASE WHEN ${t.headerLink !== undefined} THEN ${t.headerLink ?? null} ELSE header_link END,
          content = coalesce(${t.content === undefined ? null : JSON.stringify(t.content)}::jsonb, content),
          category = coalesce(${t.category ?? null}, category), status = coalesce(${t.status ?? null}, status)
        WHERE channel = ${t.channel} AND id = ${t.id} AND owner_id = ${t.accountId}`,
  );
  return rows === 1;
}

/** Deletes a template of the account; returns false when there is none. */
export async function deleteTemplate(
  db: Db,
  { accountId, channel, id }: Key & { accountId: number },
): Promise<boolean> {
  const rows = await exec(
    db,
    sql`DELETE FROM template WHERE channel = ${channel} AND id = ${id} AND owner_id = ${accountId}`,
  );
  return rows === 1;
}

/** A template as the network has it now. */
export type SyncedTemplate = {
  readonly id: string;
  readonly name: string;
  readonly language: string;
  readonly category: string;
  readonly status: string;
  readonly reason: string | null;
  readonly quality: string;
  readonly content: unknown;
  readonly named: boolean;
  /** Used only for a template that is new here: later, the account decides. */
  readonly variables: readonly string[];
};

/**
 * Inserts or updates the templates of a business account from the network's list. New ones belong to `ownerId`. Returns
 * the ids of those that were inserted or have changed.
 */
export async function insertSyncedTemplates(
  db: Db,
  { connectionId, ownerId, seen }: { connectionId: number; ownerId: number | null; seen: readonly SyncedTemplate[] },
): Promise<string[]> {
  const written = await many<{ id: string; ownerId: number | null; oldCategory: string | null } & Named>(
    db,
    sql`WITH before AS MATERIALIZED (
          SELECT id, category FROM template
          WHERE channel = 'WHATSAPP' AND id = ANY (${textArray(seen.map(({ id }) => id))}::text[])),
        written AS (
        INSERT INTO template AS t (channel, id, owner_id, connection_id, name, language, category, status, reason,
                                   content, named, variables, quality)
        SELECT 'WHATSAPP', u.id, ${ownerId}, ${connectionId}, u.name, u.language, u.category, u.status, u.reason,
               u.content::jsonb, u.named, ARRAY(SELECT jsonb_array_elements_text(u.variables::jsonb)), u.quality
        FROM ${rowsOf(seen, {
          id: text((s) => s.id),
          name: text((s) => s.name),
          language: text((s) => s.language),
          category: text((s) => s.category),
          status: text((s) => s.status),
          reason: text((s) => s.reason),
          quality: text((s) => s.quality),
          content: text((s) => JSON.stringify(s.content)),
          named: boolean((s) => s.named),
          variables: text((s) => JSON.stringify(s.variables)),
        })} AS u
        ON CONFLICT (channel, id) DO UPDATE SET name = excluded.name, language = excluded.language,
          category = excluded.category, status = excluded.status, reason = excluded.reason, content = excluded.content,
          named = excluded.named, quality = excluded.quality, updated_at = now()
          WHERE t.connection_id = excluded.connection_id
            AND (t.name, t.language, t.category, t.status, t.reason, t.quality, t.content)
              IS DISTINCT FROM (excluded.name, excluded.language, excluded.category, excluded.status, excluded.reason,
                                excluded.quality, excluded.content)
        RETURNING id, owner_id, name, language, category)
        SELECT w.id, w.owner_id AS "ownerId", w.name, w.language, w.category, b.category AS "oldCategory"
        FROM written w LEFT JOIN before b ON b.id = w.id`,
  );
  await publishFacts(
    db,
    written.flatMap(({ id: templateId, ownerId: accountId, oldCategory, ...named }) =>
      accountId === null || oldCategory === null || oldCategory === named.category
        ? []
        : [{ accountId, type: 'template.category', about: templateId, data: { templateId, oldCategory, ...named } }],
    ),
  );
  return written.map(({ id }) => id);
}

type Named = { readonly name: string; readonly language: string; readonly category: string };

async function listIds(db: Db, statement: Sql): Promise<string[]> {
  return (await many<{ id: string }>(db, statement)).map(({ id }) => id);
}

/**
 * Marks templates as DELETED that the network no longer has and that were made `before` it was asked. Returns their
 * ids.
 */
export async function moveTemplatesToDeleted(
  db: Db,
  { connectionId, present, before }: { connectionId: number; present: readonly string[]; before: Date },
): Promise<string[]> {
  return listIds(
    db,
    sql`UPDATE template SET status = 'DELETED', updated_at = now()
        WHERE connection_id = ${connectionId} AND status <> 'DELETED' AND created_at < ${before}
          AND id <> ALL (${[...present]}::text[])
        RETURNING id`,
  );
}

/**
 * Stores the statuses and qualities in a callback; unknown templates are ignored. Returns the ids of the known ones.
 */
export async function moveTemplateStatuses(
  db: Db,
  {
    connectionId,
    changes,
  }: {
    connectionId: number;
    changes: readonly { id: string; status: string | null; reason: string | null; quality: string | null }[];
  },
): Promise<string[]> {
  const moved = await many<ChangedTemplate>(
    db,
    sql`UPDATE template t SET status = coalesce(u.status, t.status),
          reason = CASE WHEN u.status IS NULL THEN t.reason ELSE u.reason END,
          quality = coalesce(u.quality, t.quality), updated_at = now()
        FROM ${rowsOf(changes, {
          id: text((c) => c.id),
          status: text((c) => c.status),
          reason: text((c) => c.reason),
          quality: text((c) => c.quality),
        })} AS u
        JOIN template b ON b.channel = 'WHATSAPP' AND b.id = u.id
        WHERE t.channel = 'WHATSAPP' AND t.id = u.id AND t.connection_id = ${connectionId}
        RETURNING t.owner_id AS "accountId", t.id AS "templateId", t.name, t.language, t.status, b.status AS "oldStatus",
          t.quality, t.reason`,
  );
  await publishFacts(
    db,
    moved.flatMap(({ accountId, ...data }) =>
      accountId === null ? [] : [{ accountId, type: 'template.status' as const, about: data.templateId, data }],
    ),
  );
  return moved.map(({ templateId }) => templateId);
}

type ChangedTemplate = FactData<'template.status'> & { readonly accountId: number | null };

/** Moves the templates of a business account to its new owner; templates of other accounts on a shared one stay. */
export async function updateTemplatesOwner(
  db: Db,
  { connectionId, from, to }: { connectionId: number; from: number | null; to: number | null },
): Promise<number> {
  return exec(
    db,
    sql`UPDATE template SET owner_id = ${to} WHERE connection_id = ${connectionId}
          AND owner_id IS NOT DISTINCT FROM ${from}::bigint`,
  );
}

/** Deletes shared templates by their ids; returns their number. */
export async function deleteCommonTemplates(db: Db, { ids }: { ids: readonly string[] }): Promise<number> {
  return exec(db, sql`DELETE FROM template WHERE owner_id IS NULL AND id = ANY (${[...ids]}::text[])`);
}

/** Lists the templates of one connection that are not deleted: the sandbox has to restore its own after a restart. */
export async function listTemplatesOfConnection(
  db: Db,
  { connectionId }: { connectionId: number },
): Promise<Template[]> {
  return many(
    db,
    sql`SELECT ${TEMPLATE} FROM template WHERE connection_id = ${connectionId} AND status <> 'DELETED' ORDER BY id`,
  );
}
