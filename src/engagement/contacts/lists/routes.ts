import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../../platform/db/tenant.ts';
import { AppError } from '../../../platform/errors.ts';
import { requireScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { idempotentTx } from '../../../platform/http/idempotency.ts';
import { bodyFaults } from '../../../platform/http/validation/more-faults.ts';
import { offsetOf, pageFields, pageOf, PageOf } from '../../../platform/http/page.ts';
import { readIds } from '../../../platform/lib/id-list.ts';
import { addToLists, removeAssociation, removeFromLists } from './members/associate.ts';
import { removeLists } from './remove.ts';
import { changeList, createList } from './save.ts';
import * as schema from './schema.ts';
import { countLists, findList, listLists } from './sql.ts';
import { withExamples } from '../../../platform/http/schema.ts';

const PATH = '/api/partner-gateway/v1/contacts/list';
const MEMBERS = `${PATH}/contacts`;
const tags = ['Contacts'];

const ListQuery = Type.Object({ ...pageFields, ...schema.listFilterFields });

const moreFaults = bodyFaults(schema.AssociationIn, (body, _request, isRefused) =>
  schema.faultsOfAssociation(body, isRefused),
);

/**
 * Registers the routes for contact lists and their associations with contacts. The route that lists the
 * contacts of a list is in src/engagement/contacts/routes.ts.
 */
export function listRoutes(app: App, { pool, answers }: PlatformDeps): void {
  const onRequest = requireScope('contacts');

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listContactLists',
      summary: 'List contact lists',
      querystring: ListQuery,
      response: { 200: PageOf(schema.ListOut) },
    },
    handler: async ({ actor, query }) => {
      const { id, contactIds, sortBy, sortOrder, ...rest } = query;
      const named = { ids: readIds(id), contactIds: readIds(contactIds) };
      const filter = { ...rest, ...named, accountId: actor.accountId };
      const order = { sortBy, descending: sortOrder === 'desc' };
      const db = tenant(pool, actor);
      const [rows, total] = await Promise.all([
        listLists(db, { filter, order, limit: query.limit, offset: offsetOf(query) }),
        countLists(db, { filter }),
      ]);
      return pageOf(query, rows.map(schema.toListOut), total);
    },
  });

  app.post(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'createContactList',
      summary: 'Create a contact list',
      body: withExamples(schema.ListIn, { name: 'Customers', description: 'Everybody who ordered this year' }),
      response: { 201: schema.ListOut },
    },
    handler: idempotentTx({ pool, answers }, 201, async ({ actor, body }, tx) =>
      schema.toListOut(await createList(tx, actor, body)),
    ),
  });

  app.delete(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteContactLists',
      summary: 'Delete contact lists',
      description: 'Their contacts stay.',
      querystring: schema.ListIdsQuery,
      response: { 200: schema.Deleted },
    },
    handler: ({ actor, query }) =>
      tenantTransaction(pool, actor, (tx) => removeLists(tx, actor, { ids: readIds(query.ids) })),
  });

  app.get(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findContactList',
      summary: 'Get a contact list',
      params: schema.ListId,
      querystring: schema.FindListQuery,
      response: { 200: schema.ListOut },
    },
    handler: async ({ actor, params, query }) => {
      const list = await findList(tenant(pool, actor), { ...query, ...params, accountId: actor.accountId });
      if (!list) throw new AppError('not_found');
      return schema.toListOut(list);
    },
  });

  app.put(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'changeContactList',
      summary: 'Change a contact list',
      description: 'Omitted fields are unchanged.',
      params: schema.ListId,
      body: withExamples(schema.ListPatch, { name: 'Loyal customers' }),
      response: { 200: schema.ListOut },
    },
    handler: async ({ actor, params, body }) =>
      schema.toListOut(await tenantTransaction(pool, actor, (tx) => changeList(tx, actor, params.id, body))),
  });

  app.post(MEMBERS, {
    onRequest,
    config: { moreFaults, takesTurns: true },
    schema: {
      tags,
      operationId: 'addContactsToLists',
      summary: 'Add contacts to lists',
      description: 'Existing associations stay. A 400 names unknown lists or contacts, and then nothing is done.',
      body: withExamples(schema.AssociationIn, { listIds: [1], contactIds: [1, 2] }),
      response: { 201: schema.AssociationOut },
    },
    handler: idempotentTx({ pool, answers }, 201, async ({ actor, body }, tx) =>
      schema.toAssociationOut(await addToLists(tx, actor, schema.readAssociation(body))),
    ),
  });

  app.delete(MEMBERS, {
    onRequest,
    config: { moreFaults, takesTurns: true },
    schema: {
      tags,
      operationId: 'removeContactsFromLists',
      summary: 'Remove contacts from lists',
      description:
        'Contacts and lists stay. `deleted` counts associations; `notFound` has the contacts that were in none of the ' +
        'lists. A 400 names unknown lists, and then nothing is done.',
      body: withExamples(schema.AssociationIn, { listIds: [2], allContacts: true, excludeIdsAllContacts: [1] }),
      response: { 200: schema.Deleted },
    },
    handler: ({ actor, body }) => {
      const input = schema.readAssociation(body);
      return tenantTransaction(pool, actor, (tx) => removeFromLists(tx, actor, input));
    },
  });

  app.delete(`${MEMBERS}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteContactAssociation',
      summary: 'Delete an association of a contact with a list',
      params: schema.ListId,
      response: { 200: schema.Deleted },
    },
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => removeAssociation(tx, actor, params)),
  });
}
