import { type Static, Type } from 'typebox';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/http/actor.ts';
import { requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { once } from '../../platform/http/idempotency.ts';
import { offsetOf, pageFields, PageOf, pageOf } from '../../platform/http/page.ts';
import { changeWhatsappTemplate } from './change.ts';
import { createRcsTemplate, createWhatsappTemplate } from './create.ts';
import { createTurns } from './turns.ts';
import type { OnTemplatesChange } from './network.ts';
import { removeTemplate } from './remove.ts';
import * as schema from './schema.ts';
import { countUsableTemplates, findUsableTemplate, listUsableTemplates, type Template } from './sql.ts';
import type { TemplateChannel } from './template.ts';

const MS = '/api/message-server';
const TemplatesQuery = Type.Object({ ...pageFields, ...schema.filterFields });

export type TemplateRouteDeps = PlatformDeps & { readonly onTemplatesChange: OnTemplatesChange };

/** Contract 7: templates of WhatsApp, which the network approves, and of RCS, which are ours. */
export function templateRoutes(app: App, deps: TemplateRouteDeps): void {
  whatsappRoutes(app, deps);
  rcsRoutes(app, deps);
}

function whatsappRoutes(app: App, deps: TemplateRouteDeps): void {
  const { pool } = deps;
  const onRequest = requireScope('WHATSAPP');
  const PATH = `${MS}/whatsapp/templates`;
  const tags = ['WhatsApp'];
  /** While the network is asked a transaction is open. */
  const inTurn = createTurns(2);

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listWhatsappTemplates',
      summary: 'Templates, with their state at the network',
      description: 'Brought up to date every ten minutes, and at once by callbacks of the network.',
      querystring: TemplatesQuery,
      response: { 200: PageOf(schema.WhatsappTemplateOut) },
    },
    handler: ({ actor, query }) => answerPage(tenant(pool, actor), actor, 'WHATSAPP', query, schema.toWhatsappOut),
  });

  app.post(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'createWhatsappTemplate',
      summary: 'Send a template for approval',
      description: 'The network answers PENDING and decides later. What it refuses is 400 with its words.',
      body: schema.WhatsappTemplateIn,
      response: { 201: schema.WhatsappTemplateOut },
    },
    handler: once(deps, 201, ({ actor, body }, tx) =>
      inTurn(async () => schema.toWhatsappOut(await createWhatsappTemplate(deps, tx, actor, body))),
    ),
  });

  app.get(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findWhatsappTemplate',
      summary: 'One template',
      params: schema.TemplateId,
      response: { 200: schema.WhatsappTemplateOut },
    },
    handler: async ({ actor, params }) =>
      schema.toWhatsappOut(await find(tenant(pool, actor), actor, 'WHATSAPP', params.id)),
  });

  app.patch(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'changeWhatsappTemplate',
      summary: 'Change a template: what is left out stays',
      description: 'Components, category and time to live go to approval again; variables and headerLink are ours.',
      params: schema.TemplateId,
      body: schema.WhatsappTemplatePatch,
      response: { 200: schema.WhatsappTemplateOut },
    },
    handler: ({ actor, params, body }) =>
      tenantTransaction(pool, actor, (tx) =>
        inTurn(async () => {
          await changeWhatsappTemplate(deps, tx, actor, params.id, body);
          return schema.toWhatsappOut(await find(tx, actor, 'WHATSAPP', params.id));
        }),
      ),
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteWhatsappTemplate',
      summary: 'Delete a template, at the network too',
      params: schema.TemplateId,
      response: { 204: schema.Deleted },
    },
    handler: async ({ actor, params: { id } }, reply) => {
      const gone = { channel: 'WHATSAPP', id } as const;
      await tenantTransaction(pool, actor, (tx) => inTurn(() => removeTemplate(deps, tx, actor, gone)));
      return reply.code(204).send(null);
    },
  });
}

function rcsRoutes(app: App, deps: TemplateRouteDeps): void {
  const { pool } = deps;
  const onRequest = requireScope('RCS');
  const PATH = `${MS}/rcs/templates`;
  const tags = ['RCS'];

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listRcsTemplates',
      summary: 'Templates',
      querystring: TemplatesQuery,
      response: { 200: PageOf(schema.RcsTemplateOut) },
    },
    handler: ({ actor, query }) => answerPage(tenant(pool, actor), actor, 'RCS', query, schema.toRcsOut),
  });

  app.post(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'createRcsTemplate',
      summary: 'Make a template: a message with {{names}} in its texts',
      description: 'The network has no templates: it is APPROVED at once.',
      body: schema.RcsTemplateIn,
      response: { 201: schema.RcsTemplateOut },
    },
    handler: once(deps, 201, async ({ actor, body }, tx) => schema.toRcsOut(await createRcsTemplate(tx, actor, body))),
  });

  app.get(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findRcsTemplate',
      summary: 'One template',
      params: schema.TemplateId,
      response: { 200: schema.RcsTemplateOut },
    },
    handler: async ({ actor, params }) => schema.toRcsOut(await find(tenant(pool, actor), actor, 'RCS', params.id)),
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteRcsTemplate',
      summary: 'Delete a template',
      params: schema.TemplateId,
      response: { 204: schema.Deleted },
    },
    handler: async ({ actor, params: { id } }, reply) => {
      await tenantTransaction(pool, actor, (tx) => removeTemplate(deps, tx, actor, { channel: 'RCS', id }));
      return reply.code(204).send(null);
    },
  });
}

type Account = Pick<Actor, 'accountId'>;

async function find(db: Db, { accountId }: Account, channel: TemplateChannel, id: string): Promise<Template> {
  const template = await findUsableTemplate(db, { accountId, channel, id });
  if (!template) throw new AppError('not_found');
  return template;
}

async function answerPage<T>(
  db: Db,
  { accountId }: Account,
  channel: TemplateChannel,
  query: Static<typeof TemplatesQuery>,
  toOut: (template: Template) => T,
) {
  const filter = { accountId, channel, status: query.status ?? null, search: query.search ?? null };
  const [rows, total] = await Promise.all([
    listUsableTemplates(db, filter, { limit: query.limit, offset: offsetOf(query) }),
    countUsableTemplates(db, filter),
  ]);
  return pageOf(query, rows.map(toOut), total);
}
