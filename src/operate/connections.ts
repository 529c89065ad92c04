import { Done, OPERATOR_PATH, operatorNameOf } from '../accounts/operator-fields.ts';
import { wakeCampaignsUsing } from '../campaigns/lifecycle.ts';
import type { Db } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { type App, offsetOf, PageOf, PageQuery, type PlatformDeps, pageOf, withExamples } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { idempotentGlobal, idempotentHandler } from '../core/http/idempotency.ts';
import { connectionNamed, unknownConnection } from '../routing/connection-store.ts';
import {
  addConnection,
  carrierContext,
  changeConnection,
  completeSetup,
  removeConnection,
  validateSetup,
  withGeneratedTokens,
} from '../routing/connections.ts';
import { kindRoutes } from '../routing/kind-admin.ts';
import { probeConnection, probeStored } from '../routing/supervise.ts';
import { syncNamed } from '../templates/sync.ts';
import * as schema from './connection-store.ts';
import { type ConnectionRow, countConnections, listConnectionPage, listMinutes } from './connection-store.ts';

const tags = ['Operator: connections'];
const CONNECTIONS = `${OPERATOR_PATH}/connections`;

/**
 * Registers the routes for the links to carriers: their state and their settings. Running programs follow every change
 * immediately.
 */
export function operatorConnectionRoutes(app: App, deps: PlatformDeps): void {
  kindRoutes(app);
  readingRoutes(app, deps);
  changingRoutes(app, deps);
  tryingRoutes(app, deps);
}

async function rowOf(db: Db, { name }: { readonly name: string }): Promise<ConnectionRow> {
  const [row] = await listConnectionPage(db, { name, limit: 1, offset: 0 });
  if (!row) throw unknownConnection(name);
  return row;
}

function readingRoutes(app: App, { pool, config: { publicUrl } }: PlatformDeps): void {
  const onRequest = requireOperator();

  app.get(CONNECTIONS, {
    onRequest,
    config: {
      command: {
        as: 'connection list',
        columns: ['name', 'kind', 'status', 'bindsUp', 'bindsWanted', 'queued', 'fault', 'lastError'],
      },
    },
    schema: {
      tags,
      operationId: 'operatorListConnections',
      summary: 'List connections with aggregated state',
      querystring: PageQuery,
      response: { 200: PageOf(schema.ConnectionOut) },
    },
    handler: async ({ query }) => {
      const rows = await listConnectionPage(pool, { name: null, limit: query.limit, offset: offsetOf(query) });
      const data = rows.map((row) => schema.listed(row, publicUrl));
      return pageOf(query, data, await countConnections(pool));
    },
  });

  app.get(`${CONNECTIONS}/:name`, {
    onRequest,
    config: { command: 'connection show' },
    schema: {
      tags,
      operationId: 'operatorFindConnection',
      summary: 'One connection',
      params: schema.ConnectionName,
      response: { 200: schema.ConnectionOut },
    },
    handler: async ({ params }) => schema.listed(await rowOf(pool, params), publicUrl),
  });

  app.get(`${CONNECTIONS}/:name/minutes`, {
    onRequest,
    config: { command: 'connection minutes' },
    schema: {
      tags,
      operationId: 'operatorListConnectionMinutes',
      summary: 'List the responses of a carrier by minute',
      description: 'The last 60 minutes, empty ones too. Workers add to them every ten seconds.',
      params: schema.ConnectionName,
      response: { 200: schema.MinutesOut },
    },
    handler: async ({ params }) => {
      const { id: connectionId } = await connectionNamed(pool, params.name);
      return { data: (await listMinutes(pool, { connectionId })).map(schema.toMinute) };
    },
  });
}

function changingRoutes(app: App, deps: PlatformDeps): void {
  const { pool, secretKey, config } = deps;
  const onRequest = requireOperator();
  const show = async (db: Db, params: { readonly name: string }) =>
    schema.listed(await rowOf(db, params), config.publicUrl);

  app.post(CONNECTIONS, {
    onRequest,
    config: { command: { none: '`connection add` has options for each kind' }, secretAnswer: true },
    schema: {
      tags,
      operationId: 'operatorAddConnection',
      summary: 'Add a connection to a carrier',
      description:
        'Workers connect immediately. On SMS it then needs a route, elsewhere a sender; on WhatsApp, also `POST ' +
        '…/setup`.',
      body: withExamples(schema.ConnectionIn, schema.CONNECTION_EXAMPLE),
      response: { 201: schema.ConnectionMade },
    },
    handler: idempotentGlobal(deps, 201, async ({ actor, body }, tx) => {
      const { tokens } = await addConnection(tx, secretKey, { ...body, by: operatorNameOf(actor) });
      return { ...(await show(tx, body)), tokens };
    }),
  });

  app.put(`${CONNECTIONS}/:name`, {
    onRequest,
    config: {
      command: [
        { as: 'connection pause', body: { status: 'paused' } },
        { as: 'connection resume', body: { status: 'active' } },
      ],
    },
    schema: {
      tags,
      operationId: 'operatorChangeConnection',
      summary: 'Pause, resume or change a connection',
      description: 'Omitted fields are unchanged. With other settings workers connect again.',
      params: schema.ConnectionName,
      body: withExamples(schema.ConnectionPatch, { status: 'paused', settings: { tps: 50 } }),
      response: { 200: schema.ConnectionOut },
    },
    handler: ({ actor, params, body }) =>
      transaction(pool, async (tx) => {
        await changeConnection(tx, secretKey, { ...body, ...params, by: operatorNameOf(actor) });
        return show(tx, params);
      }),
  });

  app.delete(`${CONNECTIONS}/:name`, {
    onRequest,
    config: { command: 'connection remove' },
    schema: {
      tags,
      operationId: 'operatorDeleteConnection',
      summary: 'Remove a connection',
      description: '409 while routes lead to it, messages wait for it, or numbers and senders are of it.',
      params: schema.ConnectionName,
      response: { 204: Done },
    },
    handler: ({ actor, params }) =>
      transaction(pool, (tx) => removeConnection(tx, { ...params, by: operatorNameOf(actor) })),
  });
}

const TRYING =
  'Connects once, from the machine that handles the request: resolves the name, opens a connection, signs in as ' +
  'the program would. No message is sent. Over HTTP, also shows the request for a message, and a response. Takes ' +
  'up to 30 seconds.';

function tryingRoutes(app: App, deps: PlatformDeps): void {
  const { pool, secretKey, config } = deps;
  const onRequest = requireOperator();

  app.post(`${CONNECTIONS}/test`, {
    onRequest,
    config: { command: { none: '`connection test` tests what is stored' } },
    schema: {
      tags,
      operationId: 'operatorTestSettings',
      summary: 'Test settings without storing them',
      description: TRYING,
      body: withExamples(schema.LinksIn, schema.LINKS_EXAMPLE),
      response: { 200: schema.TriedOut },
    },
    handler: idempotentHandler(deps, ({ body: { kind, settings, secret: given } }) => {
      const { secret } = withGeneratedTokens({ kind, secret: given });
      const context = carrierContext(config, { kind, name: null });
      return probeConnection({ kind, ...validateSetup(kind, { settings, secret }) }, context);
    }),
  });

  app.post(`${CONNECTIONS}/:name/test`, {
    onRequest,
    config: {
      command: { none: '`connection test` shows a request and its response as they are' },
      stepUp: { exempt: 'connects as the workers do, and changes nothing' },
    },
    schema: {
      tags,
      operationId: 'operatorTestConnection',
      summary: 'Test a connection',
      description: `${TRYING} On WhatsApp, then asks Meta whether the app is subscribed and the numbers are registered.`,
      params: schema.ConnectionName,
      response: { 200: schema.TriedOut },
    },
    handler: idempotentHandler(deps, async ({ params }) => {
      const connection = await connectionNamed(pool, params.name);
      return probeStored(connection, secretKey, carrierContext(config, connection));
    }),
  });

  app.post(`${CONNECTIONS}/:name/setup`, {
    onRequest,
    config: { command: 'connection setup' },
    schema: {
      tags,
      operationId: 'operatorSetUpConnection',
      summary: 'Set up the connection at the carrier',
      description:
        'WhatsApp: subscribes the app to the business account, without which Meta posts nothing, and registers the numbers ' +
        'when a PIN is given. Call it after a connection was added; it may be repeated. 404 for other kinds.',
      params: schema.ConnectionName,
      body: withExamples(schema.SetupIn, { pin: '123456' }),
      response: { 200: schema.SetupOut },
    },
    handler: idempotentHandler(deps, async ({ actor, params, body: { pin = null } }) => {
      const steps = await completeSetup({ pool, secretKey, config }, { ...params, pin, by: operatorNameOf(actor) });
      return { ok: steps.every(({ ok }) => ok), steps };
    }),
  });

  app.post(`${CONNECTIONS}/:name/templates/sync`, {
    onRequest,
    config: { command: 'template sync', stepUp: { exempt: 'reads early what is read every ten minutes' } },
    schema: {
      tags,
      operationId: 'operatorSyncTemplates',
      summary: 'Sync templates and numbers from WhatsApp',
      description: 'A running program does so every ten minutes.',
      params: schema.ConnectionName,
      response: { 200: schema.SyncOut },
    },
    handler: idempotentHandler(deps, async ({ params }) => {
      const synced = await syncNamed({ pool, secretKey, onTemplatesChange: wakeCampaignsUsing }, params.name);
      return synced.ok ? { ...synced, detail: null } : { ok: false, templates: null, detail: synced.why };
    }),
  });
}
