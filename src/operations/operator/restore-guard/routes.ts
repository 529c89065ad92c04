import { type Static, Type } from 'typebox';
import type { Db } from '../../../platform/db/query.ts';
import { confirmQueued, discardQueued, pauseSending } from '../../restore-guard/decide.ts';
import { findGuardStatus, listUnsent, listUnsentCampaigns } from '../../../messaging/restore-guard/sql.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { idempotentHandler } from '../../../platform/http/idempotency.ts';
import { operatorNameOf } from '../author.ts';
import { isoOrNull, OPERATOR_PATH } from '../fields.ts';
import { instant, orNull } from '../../../platform/lib/schema.ts';

const tags = ['Operator: sending'];
const FENCE = `${OPERATOR_PATH}/fence`;

const fence = {
  paused: Type.Boolean({ description: 'Nothing is sent, and no timer ends anything. Requests are taken and queue.' }),
  state: Type.Enum(['new', 'open', 'paused', 'confirmed'], { type: 'string' }),
  reason: orNull(Type.String({ description: 'Why sending is paused, or was last.' })),
  since: instant('UTC'),
  decidedBy: orNull(Type.String()),
  queued: Type.Array(
    Type.Object({
      accountId: Type.Integer(),
      account: Type.String(),
      messages: Type.Integer(),
      scheduled: Type.Integer({ description: 'Of them, those whose time has not come.' }),
      oldest: instant('When the oldest was accepted.'),
    }),
    { description: 'What would be sent.' },
  ),
  campaigns: Type.Array(
    Type.Object({
      accountId: Type.Integer(),
      id: Type.Integer(),
      name: Type.String(),
      recipients: Type.Integer({ description: 'For whom no message was made yet.' }),
      scheduledAt: orNull(instant('UTC')),
    }),
  ),
};
const FenceOut = Type.Object(fence);
const Resumed = Type.Object({
  ...fence,
  discarded: orNull(Type.Integer({ description: 'Messages that were withdrawn; null: none were to be.' })),
});
const PauseIn = Type.Object({ reason: Type.String({ minLength: 1, maxLength: 200 }) });
const ResumeIn = Type.Union([
  Type.Object({
    discard: Type.Optional(
      Type.Boolean({
        description: 'Withdraw what was queued before the pause (DELETED, credit back) and end its campaigns.',
      }),
    ),
  }),
  Type.Null(),
]);

/** Whether anything is sent at all: after a restore a person says so, and in an emergency may stop it. */
export function operatorRestoreGuardRoutes(app: App, deps: PlatformDeps): void {
  const { pool, clock } = deps;
  const onRequest = requireOperator();

  app.get(FENCE, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorFindFence',
      summary: 'Whether sending is paused, why, and what is queued',
      response: { 200: FenceOut },
    },
    handler: () => show(pool),
  });

  app.post(`${FENCE}/pause`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorPauseSending',
      summary: 'Send nothing until somebody resumes it',
      description: 'All workers hear of it at once. What a carrier has already goes its way. 409 when it is paused.',
      body: PauseIn,
      response: { 200: FenceOut },
    },
    handler: idempotentHandler(deps, async ({ actor, body }) => {
      await pauseSending(pool, { by: operatorNameOf(actor), reason: body.reason });
      return show(pool);
    }),
  });

  app.post(`${FENCE}/resume`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorResumeSending',
      summary: 'Send again, with or without what is queued',
      description: '409 when sending is not paused.',
      body: ResumeIn,
      response: { 200: Resumed },
    },
    handler: idempotentHandler(deps, async ({ actor, body }) => {
      const by = operatorNameOf(actor);
      const discarded = body?.discard === true ? await discardQueued(pool, { by, now: clock.now() }) : null;
      if (discarded === null) await confirmQueued(pool, { by });
      return { ...(await show(pool)), discarded };
    }),
  });
}

async function show(db: Db): Promise<Static<typeof FenceOut>> {
  const [row, unsent, campaigns] = [await findGuardStatus(db), await listUnsent(db), await listUnsentCampaigns(db)];
  return {
    ...row,
    paused: row.state === 'paused',
    since: row.since.toISOString(),
    queued: unsent.map(({ oldest, ...queued }) => ({ ...queued, oldest: oldest.toISOString() })),
    campaigns: campaigns.map(({ scheduledAt, ...campaign }) => ({ ...campaign, scheduledAt: isoOrNull(scheduledAt) })),
  };
}
