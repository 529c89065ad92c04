import { type Static, Type } from 'typebox';
import { findGuardStatus, listUnsent, listUnsentCampaigns } from '../../../messaging/restore-guard/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { idempotentHandler } from '../../../platform/http/idempotency.ts';
import { instant, orNull } from '../../../platform/lib/schema.ts';
import { confirmQueued, discardQueued, pauseSending } from '../../restore-guard/decide.ts';
import { operatorNameOf } from '../author.ts';
import { isoOrNull, OPERATOR_PATH } from '../fields.ts';
import { withExamples } from '../../../platform/http/schema.ts';

const tags = ['Operator: sending'];
const PATH = `${OPERATOR_PATH}/fence`;

const status = {
  paused: Type.Boolean({
    description:
      'While sending is paused, nothing is sent and no timer ends a message. Requests are accepted and queued.',
  }),
  state: Type.Enum(['new', 'open', 'paused', 'confirmed'], { type: 'string' }),
  reason: orNull(Type.String({ description: 'Reason of the current or the last pause.' })),
  since: instant('UTC'),
  decidedBy: orNull(Type.String()),
  queued: Type.Array(
    Type.Object({
      accountId: Type.Integer(),
      account: Type.String(),
      messages: Type.Integer(),
      scheduled: Type.Integer({ description: 'Number of the messages that are scheduled for later.' }),
      oldest: instant('Acceptance time of the oldest message.'),
    }),
    { description: 'The messages that would be sent.' },
  ),
  campaigns: Type.Array(
    Type.Object({
      accountId: Type.Integer(),
      id: Type.Integer(),
      name: Type.String(),
      recipients: Type.Integer({ description: 'Recipients without a message so far.' }),
      scheduledAt: orNull(instant('UTC')),
    }),
  ),
};
const StatusOut = Type.Object(status);
const ResumedOut = Type.Object({
  ...status,
  discarded: orNull(Type.Integer({ description: 'The number of withdrawn messages; null without `discard`.' })),
});
const PauseIn = Type.Object({ reason: Type.String({ minLength: 1, maxLength: 200 }) });
const ResumeIn = Type.Union([
  Type.Object({
    discard: Type.Optional(
      Type.Boolean({
        description:
          'Withdraw the messages queued before the pause (DELETED, credit returned) and end their campaigns.',
      }),
    ),
  }),
  Type.Null(),
]);

/**
 * Registers the routes that pause and resume sending: after a restore an operator decides if it resumes, and in an
 * emergency an operator can pause it.
 */
export function operatorRestoreGuardRoutes(app: App, deps: PlatformDeps): void {
  const { pool, clock } = deps;
  const onRequest = requireOperator();

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorFindFence',
      summary: 'Get the restore guard: pause, reason and queued messages',
      response: { 200: StatusOut },
    },
    handler: () => describeStatus(pool),
  });

  app.post(`${PATH}/pause`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorPauseSending',
      summary: 'Pause sending until an operator resumes it',
      description:
        'All workers stop immediately. Messages that a carrier already has are not affected. Responds with 409 ' +
        'when sending is already paused.',
      body: withExamples(PauseIn, { reason: 'The carrier is being replaced' }),
      response: { 200: StatusOut },
    },
    handler: idempotentHandler(deps, async ({ actor, body }) => {
      await pauseSending(pool, { by: operatorNameOf(actor), reason: body.reason });
      return describeStatus(pool);
    }),
  });

  app.post(`${PATH}/resume`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorResumeSending',
      summary: 'Resume sending, with or without the queued messages',
      description: 'Responds with 409 when sending is not paused.',
      body: withExamples(ResumeIn, { discard: false }),
      response: { 200: ResumedOut },
    },
    handler: idempotentHandler(deps, async ({ actor, body }) => {
      const by = operatorNameOf(actor);
      const discarded = body?.discard === true ? await discardQueued(pool, { by, now: clock.now() }) : null;
      if (discarded === null) await confirmQueued(pool, { by });
      return { ...(await describeStatus(pool)), discarded };
    }),
  });
}

async function describeStatus(db: Db): Promise<Static<typeof StatusOut>> {
  const [row, unsent, campaigns] = [await findGuardStatus(db), await listUnsent(db), await listUnsentCampaigns(db)];
  return {
    ...row,
    paused: row.state === 'paused',
    since: row.since.toISOString(),
    queued: unsent.map(({ oldest, ...queued }) => ({ ...queued, oldest: oldest.toISOString() })),
    campaigns: campaigns.map(({ scheduledAt, ...campaign }) => ({ ...campaign, scheduledAt: isoOrNull(scheduledAt) })),
  };
}
