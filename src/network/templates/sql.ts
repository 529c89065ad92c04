import { boolean, rowsOf, text } from '../../platform/db/columns.ts';
import { type Db, exec, many, maybeOne, one, type Sql, sql } from '../../platform/db/query.ts';
import type { Sendable, TemplateChannel } from './template.ts';

export type Template = Sendable & {
  /** WhatsApp: the connection to the business account that has it. */
  readonly connectionId: number | null;
  readonly category: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
};

const COLUMNS = sql`channel, id, owner_id AS "ownerId", connection_id AS "connectionId", name, language, category,
                    status, reason, content, header_link AS "headerLink", named, variables,
                    created_at AS "createdAt", updated_at AS "updatedAt"`;

type Key = { readonly channel: TemplateChannel; readonly id: string };

/** Templates of any account; those that there are not are left out. */
export async function listTemplatesByKey(db: Db, { keys }: { keys: readonly Key[] }): Promise<Sendable[]> {
  return many(
    db,
    sql`SELECT ${COLUMNS} FROM template WHERE (channel, id) IN (
          SELECT u.channel, u.id FROM ${rowsOf(keys, { channel: text((k) => k.channel), id: text((k) => k.id) })} AS u)`,
  );
}

/** One that the account may use: its own, or a common one. */
export async function findUsableTemplate(
  db: Db,
  { accountId, channel, id }: Key & { accountId: number },
): Promise<Template | undefined> {
  return maybeOne(
    db,
    sql`SELECT ${COLUMNS} FROM template
        WHERE channel = ${channel} AND id = ${id} AND (owner_id = ${accountId} OR owner_id IS NULL)`,
  );
}

/** WhatsApp: by the name that the network knows it by, among those of one business account. */
export async function findUsableTemplateByName(
  db: Db,
  t: { accountId: number; connectionId: number; name: string; language: string },
): Promise<Template | undefined> {
  return maybeOne(
    db,
    sql`SELECT ${COLUMNS} FROM template
        WHERE connection_id = ${t.connectionId} AND name = ${t.name} AND language = ${t.language}
          AND status <> 'DELETED' AND (owner_id = ${t.accountId} OR owner_id IS NULL)
        ORDER BY owner_id NULLS LAST LIMIT 1`,
  );
}

export type TemplateFilter = {
  readonly accountId: number;
  readonly channel: TemplateChannel;
  readonly status: string | null;
  readonly search: string | null;
};

const matches = ({ accountId, channel, status, search }: TemplateFilter) =>
  sql`channel = ${channel} AND (owner_id = ${accountId} OR owner_id IS NULL)
      AND (${status}::text IS NULL AND status <> 'DELETED' OR status = ${status})
      AND (${search}::text IS NULL OR strpos(lower(name), lower(${search})) > 0)`;

/** A page of what the account may use, by name and language. Deleted ones only when their status is asked for. */
export async function listUsableTemplates(
  db: Db,
  filter: TemplateFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<Template[]> {
  return many(
    db,
    sql`SELECT ${COLUMNS} FROM template WHERE ${matches(filter)}
        ORDER BY name, language, id LIMIT ${limit} OFFSET ${offset}`,
  );
}

export async function countUsableTemplates(db: Db, filter: TemplateFilter): Promise<number> {
  const row = await one<{ count: number }>(db, sql`SELECT count(*) AS count FROM template WHERE ${matches(filter)}`);
  return row.count;
}

export async function countOwnTemplates(
  db: Db,
  { accountId, channel }: { accountId: number; channel: TemplateChannel },
): Promise<number> {
  const row = await one<{ count: number }>(
    db,
    sql`SELECT count(*) AS count FROM template WHERE channel = ${channel} AND owner_id = ${accountId}`,
  );
  return row.count;
}

/** Keeps `claimSync` waiting until the transaction ends, that a template made at the network is ours by then. */
export async function claimMaking(db: Db, { connectionId }: { connectionId: number }): Promise<void> {
  await exec(db, sql`SELECT pg_advisory_xact_lock_shared(724910, (${connectionId}::bigint % 2147483647)::int)`);
}

/** Waits for those who are making templates of this connection, and keeps others out until the transaction ends. */
export async function claimSync(db: Db, { connectionId }: { connectionId: number }): Promise<void> {
  await exec(db, sql`SELECT pg_advisory_xact_lock(724910, (${connectionId}::bigint % 2147483647)::int)`);
}

/** The database's clock. */
export async function findNow(db: Db): Promise<Date> {
  return (await one<{ now: Date }>(db, sql`SELECT clock_timestamp() AS now`)).now;
}

export type NewTemplate = Omit<Template, 'createdAt' | 'updatedAt' | 'reason'>;

/** Nothing happens, and false is answered, when one of this id is there. */
export async function insertTemplate(db: Db, t: NewTemplate): Promise<boolean> {
  const rows = await exec(
    db,
    sql`INSERT INTO template (channel, id, owner_id, connection_id, name, language, category, status, content,
                              header_link, named, variables, created_at, updated_at)
        VALUES (${t.channel}, ${t.id}, ${t.ownerId}, ${t.connectionId}, ${t.name}, ${t.language}, ${t.category},
                ${t.status}, ${JSON.stringify(t.content)}::jsonb, ${t.headerLink}, ${t.named}, ${[...t.variables]},
                clock_timestamp(), clock_timestamp())
        ON CONFLICT (channel, id) DO NOTHING`,
  );
  return rows === 1;
}

/** What the account itself decides: the rest is the network's. Undefined: as it was. */
export async function moveTemplate(
  db: Db,
  t: Key & {
    accountId: number;
    variables?: readonly string[] | undefined;
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
          header_link = CASE WHEN ${t.headerLink !== undefined} THEN ${t.headerLink ?? null} ELSE header_link END,
          content = coalesce(${t.content === undefined ? null : JSON.stringify(t.content)}::jsonb, content),
          category = coalesce(${t.category ?? null}, category), status = coalesce(${t.status ?? null}, status)
        WHERE channel = ${t.channel} AND id = ${t.id} AND owner_id = ${t.accountId}`,
  );
  return rows === 1;
}

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

/** One of the network's, as it is now. */
export type Seen = {
  readonly id: string;
  readonly name: string;
  readonly language: string;
  readonly category: string;
  readonly status: string;
  readonly reason: string | null;
  readonly content: unknown;
  readonly named: boolean;
  /** Those of a template that is new here. */
  readonly variables: readonly string[];
};

/**
 * Brings what is known of a business account's templates into line with a list of all of them: new ones are the
 * connection's owner's, those that are gone read DELETED. Answers the ids of those that have changed.
 */
export async function insertSeenTemplates(
  db: Db,
  { connectionId, ownerId, seen }: { connectionId: number; ownerId: number | null; seen: readonly Seen[] },
): Promise<string[]> {
  return idsOf(
    db,
    sql`INSERT INTO template AS t (channel, id, owner_id, connection_id, name, language, category, status, reason,
                                   content, named, variables)
        SELECT 'WHATSAPP', u.id, ${ownerId}, ${connectionId}, u.name, u.language, u.category, u.status, u.reason,
               u.content::jsonb, u.named, ARRAY(SELECT jsonb_array_elements_text(u.variables::jsonb))
        FROM ${rowsOf(seen, {
          id: text((s) => s.id),
          name: text((s) => s.name),
          language: text((s) => s.language),
          category: text((s) => s.category),
          status: text((s) => s.status),
          reason: text((s) => s.reason),
          content: text((s) => JSON.stringify(s.content)),
          named: boolean((s) => s.named),
          variables: text((s) => JSON.stringify(s.variables)),
        })} AS u
        ON CONFLICT (channel, id) DO UPDATE SET name = excluded.name, language = excluded.language,
          category = excluded.category, status = excluded.status, reason = excluded.reason, content = excluded.content,
          named = excluded.named, updated_at = now()
          WHERE t.connection_id = excluded.connection_id
            AND (t.name, t.language, t.category, t.status, t.reason, t.content)
              IS DISTINCT FROM (excluded.name, excluded.language, excluded.category, excluded.status, excluded.reason,
                                excluded.content)
        RETURNING id`,
  );
}

async function idsOf(db: Db, statement: Sql): Promise<string[]> {
  return (await many<{ id: string }>(db, statement)).map(({ id }) => id);
}

/** Those that the network no longer has, of those made before it was asked. Answers their ids. */
export async function moveTemplatesGone(
  db: Db,
  { connectionId, present, before }: { connectionId: number; present: readonly string[]; before: Date },
): Promise<string[]> {
  return idsOf(
    db,
    sql`UPDATE template SET status = 'DELETED', updated_at = now()
        WHERE connection_id = ${connectionId} AND status <> 'DELETED' AND created_at < ${before}
          AND id <> ALL (${[...present]}::text[])
        RETURNING id`,
  );
}

/** What a callback said of templates; those that are not known here are left out. Answers the ids of the others. */
export async function moveTemplateStatuses(
  db: Db,
  {
    connectionId,
    changes,
  }: { connectionId: number; changes: readonly { id: string; status: string; reason: string | null }[] },
): Promise<string[]> {
  return idsOf(
    db,
    sql`UPDATE template t SET status = u.status, reason = u.reason, updated_at = now()
        FROM ${rowsOf(changes, {
          id: text((c) => c.id),
          status: text((c) => c.status),
          reason: text((c) => c.reason),
        })} AS u
        WHERE t.channel = 'WHATSAPP' AND t.id = u.id AND t.connection_id = ${connectionId}
        RETURNING t.id`,
  );
}

/** Gives the templates of a business account to its new owner; those that single accounts made on a common one stay. */
export async function moveTemplatesOwner(
  db: Db,
  { connectionId, from, to }: { connectionId: number; from: number | null; to: number | null },
): Promise<number> {
  return exec(
    db,
    sql`UPDATE template SET owner_id = ${to} WHERE connection_id = ${connectionId}
          AND owner_id IS NOT DISTINCT FROM ${from}::bigint`,
  );
}

/** Takes templates away that every account may use. */
export async function deleteCommonTemplates(db: Db, { ids }: { ids: readonly string[] }): Promise<number> {
  return exec(db, sql`DELETE FROM template WHERE owner_id IS NULL AND id = ANY (${[...ids]}::text[])`);
}

/** What the sandbox is to know again after a restart: the templates of its business account. */
export async function listTemplatesOfConnection(
  db: Db,
  { connectionId }: { connectionId: number },
): Promise<Template[]> {
  return many(
    db,
    sql`SELECT ${COLUMNS} FROM template WHERE connection_id = ${connectionId} AND status <> 'DELETED' ORDER BY id`,
  );
}
