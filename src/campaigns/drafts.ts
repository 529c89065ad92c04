import { type Static, Type } from 'typebox';
import type { Actor } from '../core/actor.ts';
import { as, columns, type Db, exec, many, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, existing, invalidFields } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { jsonText } from '../core/http/body.ts';
import { id, instant, orNull } from '../core/schema.ts';

const DraftId = Type.Object({ id: Type.String({ format: 'uuid' }) });

const name = Type.String({ maxLength: 200, description: 'The name that lists show; may be empty.' });
const content = Type.Record(Type.String({ maxLength: 50 }), Type.Unknown(), {
  maxProperties: 100,
  description: 'The content of the editor, in its own format: it is stored without checks.',
});
const campaignId = Type.Optional(
  orNull(id('The campaign that it changes; null or omitted: a campaign that does not exist yet.')),
);

const DraftIn = Type.Object({
  version: Type.Integer({
    minimum: 0,
    maximum: 2_147_483_646,
    description: 'The version that it changes; 0: it is new.',
  }),
  campaignId,
  name,
  content,
});
type DraftIn = Static<typeof DraftIn>;

const entry = {
  id: Type.String({ format: 'uuid' }),
  version: Type.Integer(),
  campaignId: orNull(Type.Integer()),
  name,
  updatedAt: instant(),
  updatedBy: orNull(Type.String({ description: 'The name of the user who saved it last.' })),
};
const DraftEntryOut = Type.Object(entry);
const DraftOut = Type.Object({ ...entry, content });

const toDraftEntryOut = ({ updatedAt, ...row }: DraftEntry): Static<typeof DraftEntryOut> => ({
  ...row,
  updatedAt: updatedAt.toISOString(),
});

/** Writes a draft as JSON without parsing its content. */
const toDraftText = ({ content: form, ...row }: DraftRow): string =>
  `${JSON.stringify(toDraftEntryOut(row)).slice(0, -1)},"content":${form}}`;

const PATH = '/api/partner-gateway/v1/campaign-drafts';
const ONE = `${PATH}/:id`;
/** Enough for 100,000 numbers. */
const LIMIT_BYTES = 4 * 1024 * 1024;

/**
 * Registers the routes for drafts of the campaign editor, before a campaign is created from them: saved while a user
 * types, incomplete, and without any effect. The rules for campaigns do not apply to them.
 */
export function draftRoutes(app: App, { pool }: PlatformDeps): void {
  const onRequest = requireScope('campaigns');
  const tags = ['Campaigns'];

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listCampaignDrafts',
      summary: 'List campaign drafts',
      description:
        'Campaigns that are being written and do not exist yet, and changes to campaigns that are not applied. Most ' +
        'recently changed first.',
      querystring: Type.Object({ campaignId: Type.Optional(id('Only the draft of this campaign.')) }),
      response: { 200: Type.Array(DraftEntryOut) },
    },
    handler: async ({ actor, query }) => {
      const { campaignId = null } = query;
      const rows = await listDrafts(tenant(pool, actor), { accountId: actor.accountId, campaignId, limit: MAX_DRAFTS });
      return rows.map(toDraftEntryOut);
    },
  });

  app.get(ONE, {
    onRequest,
    config: { takesTurns: 'large' },
    schema: {
      tags,
      operationId: 'findCampaignDraft',
      summary: 'Get a draft of the editor',
      params: DraftId,
      response: { 200: DraftOut },
    },
    handler: async ({ actor, params }, reply) => {
      const draft = await existing(findDraft(tenant(pool, actor), { accountId: actor.accountId, id: params.id }));
      return jsonText(reply, toDraftText(draft));
    },
  });

  app.put(ONE, {
    onRequest,
    bodyLimit: LIMIT_BYTES,
    config: { takesTurns: 'large' },
    schema: {
      tags,
      operationId: 'saveCampaignDraft',
      summary: 'Save a draft of the editor',
      description:
        'Incomplete drafts are allowed. The editor makes the id: a UUID. A 409 means that another user has changed ' +
        'the draft since `version`. A repeated request gets the same response as the first.',
      params: DraftId,
      body: withExamples(DraftIn, { version: 0, name: 'Summer sale', content: { smsBody: 'Hello {{firstName' } }),
      response: { 200: DraftOut },
    },
    handler: async ({ actor, params, body }, reply) => {
      const draft = await tenantTransaction(pool, actor, (tx) => saveDraft(tx, actor, { ...body, ...params }));
      return jsonText(reply, toDraftText(draft));
    },
  });

  app.delete(ONE, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteCampaignDraft',
      summary: 'Delete a draft of the editor',
      params: DraftId,
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: async ({ actor, params }, reply) => {
      const { accountId } = actor;
      if ((await deleteDraft(tenant(pool, actor), { accountId, id: params.id })) === 0) throw new AppError('not_found');
      return reply.code(204).send(null);
    },
  });
}

/** Maximum drafts of an account: abandoned ones would otherwise accumulate unnoticed. */
export const MAX_DRAFTS = 500;
/** Size of all drafts of an account, as the database stores them: compressed. */
export const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Stores the content of an editor, complete or not, in the caller's transaction; it has no effect. A draft is changed
 * only from the version that the editor has seen, so that two windows never overwrite each other; a repeated request
 * gets the same response as the first. Errors: 404 for an unknown draft or campaign; 409 when another user has changed
 * the draft, or the campaign has another draft; 400 beyond 500 drafts or 32 MiB of them.
 */
async function saveDraft(tx: Db, actor: Actor, input: DraftIn & { readonly id: string }): Promise<DraftRow> {
  const { accountId } = actor;
  const { id, version, campaignId = null, name, content } = input;
  const userId = actor.keyId === null ? actor.userId : null;
  const written = { accountId, id, name, content, userId };
  const count =
    version === 0 ? await insertNew(tx, { ...written, campaignId }) : await updateDraft(tx, { ...written, version });
  if (count === 0 && !(await isDraftWritten(tx, { ...written, version: version + 1 })))
    throw await refusalOf(tx, input, accountId);
  const draft = await existing(findDraft(tx, { accountId, id }));
  await refuseTooMany(tx, accountId);
  return draft;
}

async function refuseTooMany(tx: Db, accountId: number): Promise<void> {
  const { total, bytes } = await countDrafts(tx, { accountId });
  if (total > MAX_DRAFTS)
    throw invalidFields([{ field: 'version', message: `there are already ${MAX_DRAFTS} drafts: delete some first` }]);
  if (bytes > MAX_BYTES)
    throw invalidFields([{ field: 'content', message: 'is too large with the other drafts: delete some first' }]);
}

async function insertNew(tx: Db, draft: Parameters<typeof insertDraft>[1]): Promise<number> {
  const { accountId, campaignId } = draft;
  if (campaignId !== null && (await claimCampaignForShare(tx, { accountId, campaignId })) === 0)
    throw new AppError('not_found');
  return insertDraft(tx, draft);
}

async function refusalOf(tx: Db, { id, version }: DraftIn & { id: string }, accountId: number): Promise<AppError> {
  const current = await findDraft(tx, { accountId, id });
  if (!current && version > 0) return new AppError('not_found');
  const message = current
    ? `The draft has been changed in the meantime: it has version ${current.version}`
    : 'The campaign has another draft';
  return new AppError('conflict', { message });
}

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
type DraftEntry = RowOf<typeof DRAFT_ENTRY>;
type DraftRow = RowOf<typeof DRAFT>;

const SOURCE = sql`FROM campaign_draft d LEFT JOIN app_user u ON u.id = d.user_id AND u.account_id = d.account_id`;

/** Lists the drafts of an account, or of one campaign, the last changed first. */
const listDrafts = (
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
const countDrafts = (db: Db, { accountId }: Of): Promise<{ total: number; bytes: number }> =>
  one(
    db,
    sql`SELECT count(*) AS total, coalesce(sum(pg_column_size(content)), 0)::int8 AS bytes
        FROM campaign_draft WHERE account_id = ${accountId}`,
  );

const findDraft = (db: Db, { accountId, id }: One): Promise<DraftRow | undefined> =>
  maybeOne(db, sql`SELECT ${DRAFT} ${SOURCE} WHERE d.account_id = ${accountId} AND d.id = ${id}::uuid`);

type Written = {
  readonly campaignId: number | null;
  readonly name: string;
  readonly content: object;
  /** User who saved the draft; null: an API key. */
  readonly userId: number | null;
};

/** Inserts a draft as version 1. Returns 0 when there is one with this id, or another of the same campaign. */
const insertDraft = (db: Db, { accountId, id, campaignId, name, content, userId }: One & Written) =>
  exec(
    db,
    sql`INSERT INTO campaign_draft (account_id, id, campaign_id, name, content, version, user_id)
        VALUES (${accountId}, ${id}::uuid, ${campaignId}, ${name}, ${JSON.stringify(content)}::jsonb, 1, ${userId})
        ON CONFLICT DO NOTHING`,
  );

/** Replaces a draft that still has the version `version`. Returns 0 when it has another one or was deleted. */
const updateDraft = (
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
const isDraftWritten = async (
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
const claimCampaignForShare = (db: Db, { accountId, campaignId }: Of & { campaignId: number }): Promise<number> =>
  exec(db, sql`SELECT FROM campaign WHERE account_id = ${accountId} AND id = ${campaignId} FOR KEY SHARE`);

/** Deletes the changes to a campaign that is deleted itself. */
export const deleteDraftOf = (db: Db, { accountId, campaignId }: Of & { campaignId: number }): Promise<number> =>
  exec(db, sql`DELETE FROM campaign_draft WHERE account_id = ${accountId} AND campaign_id = ${campaignId}`);

/** Deletes a draft. Returns 0 when there is no such draft. */
const deleteDraft = (db: Db, { accountId, id }: One): Promise<number> =>
  exec(db, sql`DELETE FROM campaign_draft WHERE account_id = ${accountId} AND id = ${id}::uuid`);
