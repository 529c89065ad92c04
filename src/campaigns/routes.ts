import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { refuseOutsidePlan } from '../accounts/accounts.ts';
import type { Actor } from '../core/actor.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { existing } from '../core/errors.ts';
import { type App, offsetOf, PageOf, type PlatformDeps, pageFields, pageOf, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { readFaults } from '../core/http/more-faults.ts';
import type { Accept } from '../messages/accept.ts';
import type { OptOutLinks } from '../messages/opt-out-links.ts';
import { chainOf } from './audience.ts';
import { toCampaignOut, toEntryOut, toPriceOut } from './campaign.ts';
import {
  applyChange,
  calculateAudience,
  checkChange,
  checkNew,
  createCampaign,
  createPaceMeter,
  updateCampaign,
} from './create.ts';
import { draftRoutes } from './drafts.ts';
import { cancelCampaign, confirmCampaign, pauseCampaign, removeCampaign, resumeCampaign } from './lifecycle.ts';
import { policyRoutes } from './policy.ts';
import { previewRoutes } from './preview.ts';
import {
  AgainIn,
  findRecipients,
  RecipientOut,
  recipientFilterFields,
  repeatCampaign,
  toRecipientOut,
} from './recipients.ts';
import { reviewRoutes } from './review.ts';
import * as schema from './schema.ts';
import {
  type CampaignRow,
  campaignFilterFields,
  countCampaigns,
  findCampaign,
  listCampaigns,
  readFilter,
} from './store.ts';
import { testRoutes } from './test-send.ts';

const PATH = '/api/partner-gateway/v1/campaigns';
const ONE = `${PATH}/:id`;
/** Maximum size of the body of a campaign: enough for 100,000 numbers. */
export const LIMIT_BYTES = 4 * 1024 * 1024;

const ListQuery = Type.Object({ ...pageFields, ...campaignFilterFields });
const RecipientsQuery = Type.Object({ ...pageFields, ...recipientFilterFields });

const one = (operationId: string, summary: string, description?: string) => ({
  tags: ['Campaigns'],
  operationId,
  summary,
  ...(description !== undefined && { description }),
  params: schema.CampaignId,
});

export type CampaignRouteDeps = PlatformDeps & { readonly accept: Accept; readonly tables: OptOutLinks };

/**
 * Registers the routes of campaigns from draft to end, their recipients, and the account's policy for them.
 */
export function campaignRoutes(app: App, deps: CampaignRouteDeps): void {
  editingRoutes(app, deps);
  pricingRoutes(app, deps);
  lifecycleRoutes(app, deps);
  recipientRoutes(app, deps);
  policyRoutes(app, deps);
  previewRoutes(app, deps);
  reviewRoutes(app, deps);
  testRoutes(app, deps);
  draftRoutes(app, deps);
}

const mayUse = requireScope('campaigns');
const CONFIRM_AGAIN = 'the campaign is no longer confirmed: calculate its cost and confirm it again';

function editingRoutes(app: App, deps: PlatformDeps): void {
  const { pool, clock } = deps;
  const findPace = createPaceMeter();

  app.get(PATH, {
    onRequest: mayUse,
    schema: {
      tags: ['Campaigns'],
      operationId: 'listCampaigns',
      summary: 'List campaigns',
      querystring: ListQuery,
      response: { 200: PageOf(schema.CampaignOut) },
    },
    handler: async ({ actor, query }) => {
      const filter = readFilter(actor.accountId, query);
      const page = { limit: query.limit, offset: offsetOf(query), descending: query.direction === 'DESC' };
      const db = tenant(pool, actor);
      const [rows, total] = await Promise.all([listCampaigns(db, { filter, ...page }), countCampaigns(db, { filter })]);
      const now = clock.now();
      return pageOf(
        query,
        rows.map((row) => toEntryOut(row, actor, findPace(actor, row, now))),
        total,
      );
    },
  });

  app.post(PATH, {
    onRequest: mayUse,
    bodyLimit: LIMIT_BYTES,
    schema: {
      tags: ['Campaigns'],
      operationId: 'createCampaign',
      summary: 'Create a campaign',
      description:
        'It is a draft, or ready to send. The fields of the channels in `sendingMode` are required, even for a draft; ' +
        'recipients can be added later.',
      body: withExamples(schema.CampaignIn, schema.CAMPAIGN_EXAMPLE),
      response: { 201: schema.CampaignOut },
    },
    config: {
      moreFaults: readFaults(schema.CampaignIn, (body, { actor }) =>
        checkNew(tenant(pool, actor), actor, body, { now: clock.now() }),
      ),
    },
    handler: idempotentTx(deps, 201, async ({ actor, body }, tx) => {
      refuseOutsidePlan(actor, chainOf(body.sendingMode));
      const { id } = await createCampaign(tx, actor, body, { now: clock.now() });
      return toCampaignOut(await findOrThrow(tx, actor, id), actor);
    }),
  });

  app.get(ONE, {
    onRequest: mayUse,
    schema: { ...one('findCampaign', 'Get a campaign'), response: { 200: schema.CampaignOut } },
    handler: async ({ actor, params }) => {
      const campaign = await findOrThrow(tenant(pool, actor), actor, params.id);
      return toCampaignOut(campaign, actor, findPace(actor, campaign, clock.now()));
    },
  });

  app.put(ONE, {
    onRequest: mayUse,
    bodyLimit: LIMIT_BYTES,
    schema: {
      ...one(
        'updateCampaign',
        'Change a campaign that has not started',
        'Omitted fields are unchanged. A confirmed campaign that waits for its time stays confirmed if only its name, ' +
          'description, rate, fallback, quiet hours that it had, or date at the same prices change. Any other change revokes the confirmation: ' +
          '`confirmedAt` is null, the credit is returned, and it must be confirmed again, as `warnings` states.',
      ),
      body: withExamples(schema.CampaignPatch, {
        smsBody: 'Hello {{firstName|there}}, our sale ends tomorrow',
        readyToSend: true,
      }),
      response: { 200: schema.CampaignOut },
    },
    config: {
      moreFaults: readFaults(schema.CampaignPatch, async (patch, { actor, params }) => {
        if (!Value.Check(schema.CampaignId, params)) return;
        await checkChange(tenant(pool, actor), actor, { id: params.id, patch, now: clock.now() });
      }),
    },
    handler: (request) => {
      const { actor, params, body } = request;
      return tenantTransaction(pool, actor, async (tx) => {
        if (body.sendingMode) refuseOutsidePlan(actor, chainOf(body.sendingMode));
        const takesBack = await updateCampaign(tx, actor, { id: params.id, patch: body, now: clock.now() });
        if (takesBack) request.warnings = [CONFIRM_AGAIN];
        return toCampaignOut(await findOrThrow(tx, actor, params.id), actor);
      });
    },
  });

  app.delete(ONE, {
    onRequest: mayUse,
    schema: {
      ...one('deleteCampaign', 'Delete a campaign that has not started', 'The credit of a scheduled one is returned.'),
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: async ({ actor, params }, reply) => {
      await tenantTransaction(pool, actor, (tx) => removeCampaign(tx, actor, params));
      return reply.code(204).send(null);
    },
  });
}

async function findOrThrow(db: Db, { accountId }: Pick<Actor, 'accountId'>, id: number): Promise<CampaignRow> {
  return existing(findCampaign(db, { accountId, id }));
}

function pricingRoutes(app: App, deps: CampaignRouteDeps): void {
  app.post(`${ONE}/calculateGoal`, {
    onRequest: mayUse,
    config: { takesTurns: true },
    schema: {
      ...one(
        'calculateCampaignGoal',
        'Count the recipients and calculate the cost',
        'Call it after every change of the recipients, the mode or the content, and after every change of a list.',
      ),
      response: { 200: schema.CampaignOut },
    },
    handler: idempotentTx(deps, 200, async ({ actor, params }, tx) => {
      await calculateAudience(tx, actor, { ...params, ...deps.tables });
      return toCampaignOut(await findOrThrow(tx, actor, params.id), actor);
    }),
  });

  app.get(`${ONE}/price`, {
    onRequest: [mayUse, requireScope('money')],
    schema: { ...one('findCampaignPrice', 'Get the maximum price of a campaign'), response: { 200: schema.PriceOut } },
    handler: async ({ actor, params }) => toPriceOut(await findOrThrow(tenant(deps.pool, actor), actor, params.id)),
  });
}

function lifecycleRoutes(app: App, deps: CampaignRouteDeps): void {
  const { pool, clock } = deps;

  app.put(`${ONE}/confirm`, {
    onRequest: mayUse,
    config: { idempotent: true, takesTurns: true },
    schema: {
      ...one(
        'confirmCampaign',
        'Confirm a campaign',
        'It is sent immediately or at its scheduled time, and its price is frozen. This cannot be undone once it ' +
          'has started; before its time, a scheduled campaign can be deleted or changed. A 400 names every ' +
          'precondition that is not met.',
      ),
      response: { 202: schema.CampaignOut },
    },
    handler: idempotentTx(deps, 202, async ({ actor, params }, tx) => {
      await confirmCampaign(tx, actor, { ...params, now: clock.now() });
      return toCampaignOut(await findOrThrow(tx, actor, params.id), actor);
    }),
  });

  app.put(`${ONE}/apply`, {
    onRequest: mayUse,
    bodyLimit: LIMIT_BYTES,
    config: { idempotent: true, takesTurns: true },
    schema: {
      ...one(
        'applyToCampaign',
        'Change a scheduled campaign and keep it scheduled',
        'The change, the new price and the confirmation are one step: if any of them is rejected, the campaign ' +
          'is unchanged and is sent as it was. A campaign that has started is not changed: 400.',
      ),
      body: withExamples(schema.ApplyIn, { smsBody: 'Our sale begins tomorrow', maxPrice: 12.5 }),
      response: { 200: schema.CampaignOut },
    },
    handler: idempotentTx(deps, 200, async ({ actor, params, body }, tx) => {
      if (body.sendingMode) refuseOutsidePlan(actor, chainOf(body.sendingMode));
      await applyChange(tx, actor, { ...params, ...deps.tables, change: body, now: clock.now() });
      return toCampaignOut(await findOrThrow(tx, actor, params.id), actor);
    }),
  });

  const moves = [
    ['pause', pauseCampaign, 'Pause a campaign that is being sent', undefined],
    ['resume', resumeCampaign, 'Resume a paused campaign', undefined],
    [
      'cancel',
      cancelCampaign,
      'Cancel a campaign that is being sent',
      'Messages that no carrier has yet are not sent, and their credit is returned.',
    ],
  ] as const;
  for (const [name, move, summary, description] of moves)
    app.put(`${ONE}/${name}`, {
      onRequest: mayUse,
      schema: { ...one(`${name}Campaign`, summary, description), response: { 200: schema.CampaignOut } },
      handler: ({ actor, params }) =>
        tenantTransaction(pool, actor, async (tx) => {
          await move(tx, actor, params);
          return toCampaignOut(await findOrThrow(tx, actor, params.id), actor);
        }),
    });
}

function recipientRoutes(app: App, deps: CampaignRouteDeps): void {
  const { pool, clock } = deps;

  app.get(`${ONE}/recipients`, {
    onRequest: mayUse,
    config: { takesTurns: true },
    schema: {
      ...one(
        'listCampaignRecipients',
        'List the recipients of a campaign',
        'Each with the status of its messages. Before the confirmation these are the recipients that calculateGoal counted, ' +
          'PENDING or SKIPPED, with those that are not valid; there are none until calculateGoal is called again after a change.',
      ),
      querystring: RecipientsQuery,
      response: { 200: PageOf(RecipientOut) },
    },
    handler: async ({ actor, params, query }) => {
      const db = tenant(pool, actor);
      const campaign = await findOrThrow(db, actor, params.id);
      const page = { limit: query.limit, offset: offsetOf(query) };
      const which = { accountId: actor.accountId, campaign, status: query.status, now: clock.now() };
      const { rows, total } = await findRecipients(db, { ...which, ...page, ...deps.tables });
      return pageOf(
        query,
        rows.map((row) => toRecipientOut(row, campaign, actor)),
        total,
      );
    },
  });

  app.post(`${ONE}/again`, {
    onRequest: mayUse,
    config: { takesTurns: true },
    schema: {
      ...one(
        'repeatCampaign',
        'Make a draft for the recipients that a campaign did not reach',
        'The draft has the settings of the campaign, without a date, and as its destinations the recipients whose last message ' +
          'ended undelivered: at most 100,000. Nothing is sent.',
      ),
      body: withExamples(AgainIn, { name: 'Summer sale, again' }),
      response: { 201: schema.CampaignOut },
    },
    handler: idempotentTx(deps, 201, async ({ actor, params, body }, tx) => {
      const { id } = await repeatCampaign(tx, actor, { ...body, ...params, now: clock.now() });
      return toCampaignOut(await findOrThrow(tx, actor, id), actor);
    }),
  });
}
