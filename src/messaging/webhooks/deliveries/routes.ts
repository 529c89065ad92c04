import { Type } from 'typebox';
import { tenant } from '../../../platform/db/tenant.ts';
import { AppError } from '../../../platform/errors.ts';
import { requireScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { idempotentTx } from '../../../platform/http/idempotency.ts';
import { offsetOf, pageFields, pageOf, PageOf } from '../../../platform/http/page.ts';
import { isUuid } from '../../../platform/lib/ids.ts';
import { replayEvent, replayRange } from './replay.ts';
import { requestOf } from './request.ts';
import * as schema from './schema.ts';
import { countDeliveries, findDelivery, listDeliveries } from '../delivery-log/sql.ts';
import { withExamples } from '../../../platform/http/schema.ts';

const DELIVERY_STATUS = '/api/partner-gateway/v1/webhooks/delivery-status';
const DELIVERIES = `${DELIVERY_STATUS}/deliveries`;
const tags = ['Webhooks'];

/** Registers the routes of the log of webhook events, and of replays. All need the scope `webhooks`. */
export function deliveryRoutes(app: App, { pool, answers, clock, secretKey }: PlatformDeps): void {
  const onRequest = requireScope('webhooks');

  app.get(DELIVERIES, {
    onRequest,
    schema: {
      tags,
      operationId: 'listWebhookDeliveries',
      summary: 'List webhook events and their delivery, newest first',
      description:
        'A failed event is retried after 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 3 h, 6 h, 12 h and 24 h, each ±20 %, and not ' +
        'before the time in a Retry-After header (up to 24 h); after that it is DEAD. Later events of the same message ' +
        'wait for it; other messages do not. A webhook that keeps failing is tried at most once a minute, and events that ' +
        'have not been tried are not listed. A webhook that returns 410, or that has failed for five days without a ' +
        'single success, is disabled: waiting events become DEAD when they are due. After another registration waiting ' +
        'events go to the new webhook, in its form; after a deletion they are dropped.',
      querystring: Type.Object({ ...pageFields, ...schema.deliveryFields }),
      response: { 200: PageOf(schema.DeliveryOut) },
    },
    handler: async ({ actor, query }) => {
      const filter = schema.filterOf(actor.accountId, query);
      const db = tenant(pool, actor);
      const page = { limit: query.limit, offset: offsetOf(query) };
      const [rows, total] = await Promise.all([
        listDeliveries(db, { ...filter, ...page }),
        countDeliveries(db, filter),
      ]);
      return pageOf(query, rows.map(schema.toDeliveryOut), total);
    },
  });

  app.get(`${DELIVERIES}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findWebhookDelivery',
      summary: 'Get one event with its request and the response to each attempt',
      params: schema.DeliveryId,
      response: { 200: schema.DeliveryDetailOut },
    },
    handler: async ({ actor, params }) => {
      const db = tenant(pool, actor);
      const delivery = isUuid(params.id) ? await findDelivery(db, { ...actor, id: params.id }) : undefined;
      if (!delivery) throw new AppError('not_found');
      const request = await requestOf(db, actor, delivery, { secretKey, now: clock.now() });
      return schema.toDeliveryDetailOut(delivery, request);
    },
  });

  app.post(`${DELIVERIES}/:id/replay`, {
    onRequest,
    config: { stepUp: { exempt: 'sends to where events go already' } },
    schema: {
      tags,
      operationId: 'replayWebhookDelivery',
      summary: 'Send one event again',
      description: 'With the same `webhook-id` and content. 409 while it waits for an earlier event of its message.',
      params: schema.DeliveryId,
      response: { 202: schema.DeliveryOut },
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, params }, tx) =>
      schema.toDeliveryOut(await replayEvent(tx, actor, params.id)),
    ),
  });

  app.post(`${DELIVERY_STATUS}/replay`, {
    onRequest,
    config: { stepUp: { exempt: 'sends to where events go already' } },
    schema: {
      tags,
      operationId: 'replayWebhookDeliveries',
      summary: 'Send the events of a time range again',
      description: 'Oldest first, at most 100,000 per call: use narrower ranges for more.',
      body: withExamples(schema.ReplayIn, { since: '2026-11-01T00:00:00Z', status: 'DEAD' }),
      response: { 202: schema.ReplayOut },
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, body }, tx) => {
      const until = body.until === undefined ? clock.now() : new Date(body.until);
      const range = { since: new Date(body.since), until, state: body.status ?? 'DEAD' };
      return { replayed: await replayRange(tx, actor, range) };
    }),
  });
}
