import { type Db, exec, many, maybeOne, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

type Of = { readonly accountId: number };
type One = Of & { readonly id: string };

const ENTRY = {
  id: as<string>('d.id'),
  version: as<number>('d.version'),
  campaignId: as<number | null>('d.campaign_id'),
  name: as<string>('d.name'),
  updatedAt: as<Date>('d.updated_at'),
  updatedBy: as<string | null>('u.username'),
};
const DRAFT_ENTRY = columns(ENTRY);
const DRAFT = columns({
  ...ENTRY,
  /** JSON as text: it may have 4 MiB, and is only passed on. */
  content: as<string>('d.content::text'),
});

/** A draft of the editor in a list, without its content. */
export type DraftEntry = RowOf<typeof DRAFT_ENTRY>;
export type DraftRow = RowOf<typeof DRAFT>;

const SOURCE = sql`FROM campaign_draft d LEFT JOIN app_user u ON u.id = d.user_id AND u.account_id = d.account_id`;

/** Lists the drafts of an account, or of one campaign, the last changed first. */
export const listDrafts = (
  db: Db,
  { accountId, campaignId, limit }: Of & { campaignId: number | null; limit: number },
): Promise<DraftEntry[]> =>
  many(
    db,
    sql`SELECT ${DRAFT_ENTRY} ${SOURCE}
        WHERE d.account_id = ${accountId} AND (${campaignId}::bigint IS NULL OR d.campaign_id = ${campaignId})
        ORDER BY d.updated_at DESC, d.id LIMIT ${limit}`,
  );

/** Counts the drafts of an account, and the bytes that the database stores for them. */
export const countDrafts = (db: Db, { accountId }: Of): Promise<{ total: number; bytes: number }> =>
  one(
    db,
    sql`SELECT count(*) AS total, coalesce(sum(pg_column_size(content)), 0)::int8 AS bytes
        FROM campaign_draft WHERE account_id = ${accountId}`,
  );

export const findDraft = (db: Db, { accountId, id }: One): Promise<DraftRow | undefined> =>
  maybeOne(db, sql`SELECT ${DRAFT} ${SOURCE} WHERE d.account_id = ${accountId} AND d.id = ${id}::uuid`);

type Written = {
  readonly campaignId: number | null;
  readonly name: string;
  readonly content: object;
  /** User who saved the draft; null: an API key. */
  readonly userId: number | null;
};

/** Inserts a draft as version 1. Returns 0 when there is one with this id, or another of the same campaign. */
export const insertDraft = (db: Db, { accountId, id, campaignId, name, content, userId }: One & Written) =>
  exec(
    db,
    sql`INSERT INTO campaign_draft (account_id, id, campaign_id, name, content, version, user_id)
        VALUES (${accountId}, ${id}::uuid, ${campaignId}, ${name}, ${JSON.stringify(content)}::jsonb, 1, ${userId})
        ON CONFLICT DO NOTHING`,
  );

/** Replaces a draft that still has the version `version`. Returns 0 when it has another one or was deleted. */
export const updateDraft = (
  db: Db,
  { accountId, id, version, name, content, userId }: One & Omit<Written, 'campaignId'> & { version: number },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE campaign_draft SET version = version + 1, name = ${name}, content = ${JSON.stringify(content)}::jsonb,
          user_id = ${userId}, updated_at = now()
        WHERE account_id = ${accountId} AND id = ${id}::uuid AND version = ${version}`,
  );

/** Returns true if a draft has this version and exactly this content: a repeated request finds its own write. */
export const isDraftWritten = async (
  db: Db,
  { accountId, id, version, name, content }: One & Pick<Written, 'name' | 'content'> & { version: number },
): Promise<boolean> =>
  (
    await one<{ same: boolean }>(
      db,
      sql`SELECT EXISTS (SELECT FROM campaign_draft WHERE account_id = ${accountId} AND id = ${id}::uuid
            AND version = ${version} AND name = ${name} AND content = ${JSON.stringify(content)}::jsonb) AS same`,
    )
  ).same;

/**
 * Locks a campaign against deletion until the transaction ends. Returns 0 when there is none: its draft would never be
 * deleted.
 */
export const claimCampaignForShare = (
  db: Db,
  { accountId, campaignId }: Of & { campaignId: number },
): Promise<number> =>
  exec(db, sql`SELECT FROM campaign WHERE account_id = ${accountId} AND id = ${campaignId} FOR KEY SHARE`);

/** Deletes the changes to a campaign that is deleted itself. */
export const deleteDraftOf = (db: Db, { accountId, campaignId }: Of & { campaignId: number }): Promise<number> =>
  exec(db, sql`DELETE FROM campaign_draft WHERE account_id = ${accountId} AND campaign_id = ${campaignId}`);

/** Deletes a draft. Returns 0 when there is no such draft. */
export const deleteDraft = (db: Db, { accountId, id }: One): Promise<number> =>
  exec(db, sql`DELETE FROM campaign_draft WHERE account_id = ${accountId} AND id = ${id}::uuid`);
