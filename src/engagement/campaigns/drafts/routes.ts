import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../../platform/db/tenant.ts';
import { AppError } from '../../../platform/errors.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireScope } from '../../../platform/http/auth.ts';
import { jsonText } from '../../../platform/http/large-messages.ts';
import { withExamples } from '../../../platform/http/schema.ts';
import { id } from '../../../platform/lib/schema.ts';
import { saveDraft, MAX_DRAFTS } from './save.ts';
import { DraftEntryOut, DraftId, DraftIn, DraftOut, toDraftEntryOut, toDraftText } from './schema.ts';
import { deleteDraft, findDraft, listDrafts } from './sql.ts';

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
      const draft = await findDraft(tenant(pool, actor), { accountId: actor.accountId, id: params.id });
      if (!draft) throw new AppError('not_found');
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
