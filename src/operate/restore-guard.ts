import type { Command } from 'commander';
import type { Pool } from 'pg';
import { type Static, Type } from 'typebox';
import { GATEWAY_ACCOUNT_ID, operatorAuthor, operatorName, recordAudit } from '../accounts/audit.ts';
import { isoOrNull, OPERATOR_PATH, operatorNameOf } from '../accounts/operator-fields.ts';
import { discardCampaigns } from '../campaigns/lifecycle.ts';
import { type CommandContext, table } from '../core/cli.ts';
import type { Db } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { idempotentHandler } from '../core/http/idempotency.ts';
import { firstIdAt } from '../core/ids.ts';
import { instant, orNull } from '../core/schema.ts';
import { cancelMessages } from '../messages/cancellation.ts';
import { deleteFallbacksBefore } from '../messages/fallback-store.ts';
import * as db from '../messages/restore-guard.ts';
import {
  findGuardStatus,
  type GuardStatus,
  listUnsent,
  listUnsentCampaigns,
  type Unsent,
  type UnsentCampaign,
} from '../messages/restore-guard.ts';
import { notifyRoutingChange } from '../routing/connection-store.ts';

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

type Decision = {
  /** The operator who decides, stored with the state of the guard and in the history of each withdrawn message. */
  readonly by: string;
};

const nameOf = (by: string): string => `the operator ${by}`;

/**
 * Pauses all workers, which notice it immediately: nothing is sent until an operator decides. Errors: 409 when sending
 * is already paused.
 */
export function pauseSending(pool: Pool, { by, reason }: Decision & { readonly reason: string }): Promise<void> {
  return transaction(pool, async (tx) => {
    if (!(await db.moveToPaused(tx, { reason: `decision of ${nameOf(by)}: ${reason}` })))
      throw new AppError('conflict', { message: 'Sending is already paused' });
    await record(tx, by, 'sending.pause', { reason });
  });
}

/** Resumes sending, including queued messages. Errors: 409 when sending is not paused. */
export function confirmQueued(pool: Pool, { by }: Decision): Promise<void> {
  return transaction(pool, async (tx) => {
    if (!(await db.moveToConfirmed(tx, { by: nameOf(by) }))) throw notPaused();
    await record(tx, by, 'sending.resume', {});
  });
}

/** Records the decision in the audit log of the gateway, and makes every worker check the restore guard. */
async function record(tx: Db, by: string, action: string, detail: Readonly<Record<string, unknown>>): Promise<void> {
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), { action, subject: 'sending', detail });
  await notifyRoutingChange(tx);
}

const notPaused = (): AppError =>
  new AppError('conflict', { message: 'Sending is not paused: there is nothing to decide' });

/**
 * Withdraws all waiting messages that were accepted before the pause: they end DELETED, their credit is returned, and
 * no fallback to another channel follows. Their campaigns are cancelled, or paused if they are scheduled for later.
 * Then sending resumes with the messages accepted since. Each chunk of the queue takes its own transaction, so the call
 * can be repeated after an interruption. Returns the number of withdrawn messages. Errors: 409 when sending is not
 * paused.
 */
export async function discardQueued(pool: Pool, { by, now }: Decision & { readonly now: Date }): Promise<number> {
  const { state, since } = await db.findGuardStatus(pool);
  if (state !== 'paused') throw notPaused();
  const endId = firstIdAt(since);
  let discarded = 0;
  for (;;) {
    const keys = await db.listWaiting(pool, { endId });
    if (keys.length === 0) break;
    const withdrawn = await transaction(pool, (tx) => cancelMessages(tx, keys, { by: nameOf(by), now }));
    if (withdrawn.size === 0)
      throw new AppError('conflict', { message: 'The queue changed in the meantime: run it again' });
    discarded += withdrawn.size;
  }
  await deleteFallbacksBefore(pool, { endId });
  await discardCampaigns(pool, { before: since, by });
  await confirmQueued(pool, { by });
  return discarded;
}

/** `fence show`, `confirm` and `discard`: decide if a restored or copied database may send its queued messages. */
export function registerRestoreGuardCommands(program: Command, context: CommandContext): void {
  const guard = program.command('fence').description('protects against sending from a restored or copied database');

  guard
    .command('show')
    .description('show the pause of sending, its reason, and the queued messages')
    .action(async () =>
      context.report(
        await context.withDatabase(async (pool) => ({
          ...(await findGuardStatus(pool)),
          unsent: await listUnsent(pool),
          campaigns: await listUnsentCampaigns(pool),
        })),
        show,
      ),
    );

  guard
    .command('confirm')
    .description('resume sending, including all queued messages')
    .action(async () => {
      await context.withDatabase((pool) => confirmQueued(pool, { by: operatorName() }));
      context.report({ confirmed: true }, () => 'Confirmed: the workers now send the queued messages.');
    });

  guard
    .command('discard')
    .description(
      'withdraw the messages queued before the pause (DELETED, credit returned) and end their campaigns, then resume sending',
    )
    .action(async () => {
      const discarded = await context.withDatabase((pool) =>
        discardQueued(pool, { by: operatorName(), now: new Date() }),
      );
      context.report({ discarded }, () => `${discarded} messages were withdrawn; the workers now send later messages.`);
    });
}

type GuardView = GuardStatus & { readonly unsent: readonly Unsent[]; readonly campaigns: readonly UnsentCampaign[] };

const show = ({ state, reason, since, decidedBy, unsent, campaigns }: GuardView): string =>
  [
    state === 'paused' ? `Sending has been PAUSED since ${since.toISOString()}: ${reason}.` : 'Sending is not paused.',
    ...(decidedBy === null ? [] : [`Last decision by ${decidedBy}.`]),
    table(
      ['account', 'queued', 'scheduled', 'oldest'],
      unsent.map((row) => [row.account, row.messages, row.scheduled, row.oldest.toISOString()]),
    ),
    ...(campaigns.length === 0 ? [] : [showCampaigns(campaigns)]),
    ...(state === 'paused'
      ? ['`fence confirm` sends them; `fence discard` withdraws those from before the pause.']
      : []),
  ].join('\n');

const showCampaigns = (campaigns: readonly UnsentCampaign[]): string =>
  table(
    ['campaign', 'name', 'recipients', 'scheduled'],
    campaigns.map((row) => [row.id, row.name, row.recipients, row.scheduledAt?.toISOString() ?? 'now']),
  );
