import { type Static, Type } from 'typebox';
import { requireOperator } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { idempotentHandler } from '../../../platform/http/idempotency.ts';
import { offsetOf, pageFields, pageOf, PageOf, PageQuery } from '../../../platform/http/page.ts';
import { cancelMissed, releaseMissed } from '../../../messaging/schedules/decide.ts';
import { listMissed } from '../../../messaging/schedules/sql.ts';
import { listWorkers, type WorkerRow } from '../../workers/sql.ts';
import { operatorNameOf } from '../author.ts';
import { accountId, amount, connectionField, IdParams, OPERATOR_PATH } from '../fields.ts';
import { countDepths, findDepth, findWebhookBacklog, listBacklogs, listDepths } from './sql.ts';
import { instant, orNull } from '../../../platform/lib/schema.ts';

const tags = ['Operator: queues'];
const seconds = orNull(amount('Age of the oldest one; null: there is none.'));
const count = (description: string) => Type.Integer({ description });

const depth = {
  waiting: count('Messages that are due and wait for their carrier.'),
  scheduled: count('Messages whose time has not come.'),
  missed: count('Messages whose time passed by more than an hour: a person decides about them.'),
  inFlight: count('Messages that may be with the carrier.'),
  parked: count('Messages of campaigns that are paused.'),
  oldestSeconds: seconds,
};

const DepthOut = Type.Object({
  accountId: Type.Integer(),
  account: Type.String(),
  connection: orNull(Type.String({ description: 'Null: it was removed.' })),
  priority: Type.Integer({ description: 'Lower goes first.' }),
  ...depth,
});

const WorkerOut = Type.Object({
  id: Type.String(),
  host: Type.String(),
  pid: Type.Integer(),
  startedAt: instant('UTC'),
  seenAt: instant('When it last said so; it does every ten seconds.'),
  alive: Type.Boolean({ description: 'It holds its lock in the database.' }),
  tasks: Type.Array(
    Type.Object({
      name: Type.String(),
      ranAt: orNull(instant('When its last run ended; null: none has.')),
      error: orNull(Type.String({ description: 'Why that run failed.' })),
    }),
  ),
});

const QueuesOut = Type.Object({
  asOf: instant('UTC'),
  messages: Type.Object(depth),
  webhooks: Type.Object({
    fresh: count('Events that were never tried.'),
    retrying: count('Events that wait for another attempt.'),
    dead: count('Events that were given up, and can be replayed.'),
    oldestSeconds: seconds,
  }),
  pipelines: Type.Array(
    Type.Object({ name: Type.String(), waiting: count('Rows that are due.'), oldestSeconds: seconds }),
    { description: 'Receipts that were not read yet, receipts that fit nothing, campaigns, imports and the like.' },
  ),
  workers: Type.Array(WorkerOut),
});

const MissedOut = Type.Object({
  id: Type.Integer(),
  accountId: Type.Integer(),
  account: Type.String(),
  messages: Type.Integer(),
  dueAt: instant('UTC'),
});

const DepthQuery = Type.Object({
  ...pageFields,
  accountId: Type.Optional(accountId),
  connection: connectionField,
});

/** What waits, for whom and since when; and the schedules that were missed. */
export function operatorQueueRoutes(app: App, deps: PlatformDeps): void {
  const { pool, clock } = deps;
  const onRequest = requireOperator();

  app.get(`${OPERATOR_PATH}/queues`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorFindQueues',
      summary: 'All that waits, and the workers that see to it',
      response: { 200: QueuesOut },
    },
    handler: async () => {
      const [messages, webhooks] = [await findDepth(pool), await findWebhookBacklog(pool)];
      const [pipelines, workers] = [await listBacklogs(pool), await listWorkers(pool)];
      return { asOf: clock.now().toISOString(), messages, webhooks, pipelines, workers: workers.map(toWorker) };
    },
  });

  app.get(`${OPERATOR_PATH}/queues/messages`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListQueues',
      summary: 'Messages that wait, by account, connection and priority',
      description: 'Where most wait comes first.',
      querystring: DepthQuery,
      response: { 200: PageOf(DepthOut) },
    },
    handler: async ({ query }) => {
      const filter = { accountId: query.accountId ?? null, connection: query.connection ?? null };
      const rows = await listDepths(pool, { ...filter, limit: query.limit, offset: offsetOf(query) });
      return pageOf(query, rows, await countDepths(pool, filter));
    },
  });

  missedRoutes(app, deps);
}

function missedRoutes(app: App, deps: PlatformDeps): void {
  const { pool, clock } = deps;
  const onRequest = requireOperator();
  const MISSED = `${OPERATOR_PATH}/schedules/missed`;
  const Decided = Type.Object({ messages: count('How many it was about.') });

  app.get(MISSED, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListMissed',
      summary: 'Schedules that were missed by more than an hour',
      description: 'The program was down at their time. They wait until somebody releases or cancels them.',
      querystring: PageQuery,
      response: { 200: PageOf(MissedOut) },
    },
    handler: async ({ query }) => {
      const all = await listMissed(pool);
      const rows = all.slice(offsetOf(query), offsetOf(query) + query.limit);
      const data = rows.map(({ dueAt, ...row }) => ({ ...row, dueAt: dueAt.toISOString() }));
      return pageOf(query, data, all.length);
    },
  });

  // Decided twice it is 404: nothing is sent or given back a second time.
  app.post(`${MISSED}/:id/release`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorReleaseMissed',
      summary: 'Send a missed schedule now',
      params: IdParams,
      response: { 200: Decided },
    },
    handler: idempotentHandler(deps, async ({ actor, params }) => ({
      messages: await releaseMissed(pool, { id: params.id, by: operatorNameOf(actor) }),
    })),
  });

  app.post(`${MISSED}/:id/cancel`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorCancelMissed',
      summary: 'Never send a missed schedule: its credit returns',
      params: IdParams,
      response: { 200: Decided },
    },
    handler: idempotentHandler(deps, async ({ actor, params }) => ({
      messages: await cancelMissed(pool, { id: params.id, by: operatorNameOf(actor), now: clock.now() }),
    })),
  });
}

const toWorker = ({ owner, startedAt, seenAt, tasks, ...row }: WorkerRow): Static<typeof WorkerOut> => ({
  ...row,
  id: String(owner),
  startedAt: startedAt.toISOString(),
  seenAt: seenAt.toISOString(),
  tasks: [...tasks],
});
