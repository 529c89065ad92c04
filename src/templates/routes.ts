import { type Static, Type } from 'typebox';
import type { Actor } from '../core/actor.ts';
import type { RichChannel } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, existing } from '../core/errors.ts';
import { type App, offsetOf, PageOf, type PlatformDeps, pageFields, pageOf, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { changeWhatsappTemplate, createRcsTemplate, createWhatsappTemplate, removeTemplate } from './change.ts';
import * as schema from './schema.ts';
import { countUsableTemplates, findUsableTemplate, listUsableTemplates, type Template } from './store.ts';
import type { OnTemplatesChange } from './sync.ts';

const MS = '/api/message-server';
const TemplatesQuery = Type.Object({ ...pageFields, ...schema.filterFields });

export type TemplateRouteDeps = PlatformDeps & { readonly onTemplatesChange: OnTemplatesChange };

/**
 * Registers the routes for templates of WhatsApp, which the network approves, and of RCS, which only this gateway has.
 */
export function templateRoutes(app: App, deps: TemplateRouteDeps): void {
  whatsappRoutes(app, deps);
  rcsRoutes(app, deps);
}

/** Runs up to `max` pieces of work at a time; rejects further ones immediately with 503, without letting them wait. */
function createConcurrencyLimit(max: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  return async (work) => {
    if (running >= max) throw new AppError('unavailable', { retryAfterSeconds: 1 });
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
    }
  };
}

function whatsappRoutes(app: App, deps: TemplateRouteDeps): void {
  const { pool } = deps;
  const onRequest = requireScope('WHATSAPP');
  const PATH = `${MS}/whatsapp/templates`;
  const tags = ['WhatsApp'];
  // A transaction is open while the network is asked.
  const limited = createConcurrencyLimit(2);

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listWhatsappTemplates',
      summary: 'List the templates and their state at the network',
      description: 'Synced every ten minutes, and immediately by callbacks of the network.',
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
      summary: 'Submit a template for approval',
      description:
        'The network returns PENDING and decides later. If it rejects the template, the response is 400 with its own text.',
      body: withExamples(schema.WhatsappTemplateIn, schema.WHATSAPP_TEMPLATE_EXAMPLE),
      response: { 201: schema.WhatsappTemplateOut },
    },
    handler: idempotentTx(deps, 201, ({ actor, body }, tx) =>
      limited(async () => schema.toWhatsappOut(await createWhatsappTemplate(deps, tx, actor, body))),
    ),
  });

  app.get(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findWhatsappTemplate',
      summary: 'Find a template',
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
      summary: 'Change a template',
      description:
        'Omitted fields keep their value. Components, category and time to live are submitted for approval again, which ' +
        'WhatsApp allows for templates that are APPROVED, REJECTED or PAUSED (else 400 with its text); variables and ' +
        'headerLink are not known to it and can always be changed.',
      params: schema.TemplateId,
      body: withExamples(schema.WhatsappTemplatePatch, {
        category: 'UTILITY',
        variables: ['firstName|there', 'order'],
      }),
      response: { 200: schema.WhatsappTemplateOut },
    },
    handler: ({ actor, params, body }) =>
      tenantTransaction(pool, actor, (tx) =>
        limited(async () => {
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
      summary: 'Delete a template, including at the network',
      params: schema.TemplateId,
      response: { 204: schema.Deleted },
    },
    handler: async ({ actor, params: { id } }) => {
      const template = { channel: 'WHATSAPP', id } as const;
      await tenantTransaction(pool, actor, (tx) => limited(() => removeTemplate(deps, tx, actor, template)));
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
      summary: 'List the templates',
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
      summary: 'Create a template: a message with {{names}} in its texts',
      description: 'The network has no templates, so it is APPROVED immediately.',
      body: withExamples(schema.RcsTemplateIn, schema.RCS_TEMPLATE_EXAMPLE),
      response: { 201: schema.RcsTemplateOut },
    },
    handler: idempotentTx(deps, 201, async ({ actor, body }, tx) =>
      schema.toRcsOut(await createRcsTemplate(tx, actor, body)),
    ),
  });

  app.get(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findRcsTemplate',
      summary: 'Find a template',
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
    handler: ({ actor, params: { id } }) =>
      tenantTransaction(pool, actor, (tx) => removeTemplate(deps, tx, actor, { channel: 'RCS', id })),
  });
}

type Account = Pick<Actor, 'accountId'>;

async function find(db: Db, { accountId }: Account, channel: RichChannel, id: string): Promise<Template> {
  return existing(findUsableTemplate(db, { accountId, channel, id }));
}

async function answerPage<T>(
  db: Db,
  { accountId }: Account,
  channel: RichChannel,
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
