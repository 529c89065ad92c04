import { type Static, Type } from 'typebox';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { existing, type FieldError, invalidFields } from '../core/errors.ts';
import { type App, offsetOf, PageOf, type PlatformDeps, pageFields, pageOf, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { bodyFaults } from '../core/http/more-faults.ts';
import { idList, readIds } from '../core/ids.ts';
import { id, instant, orNull } from '../core/schema.ts';
import {
  type AddResult,
  type Association,
  addToLists,
  MAX_ASSOCIATIONS,
  removeAssociation,
  removeFromLists,
  removeLists,
} from './list-members.ts';
import { changeList, countLists, createList, findList, LIST_ORDERS, type ListRow, listLists } from './lists.ts';

const MAX_LISTS = 1000;
/** Maximum contacts that a request adds to lists: a body of a megabyte holds about this many ids. */
export const MAX_CONTACTS = 100_000;

const name = Type.String({
  maxLength: 200,
  pattern: '\\S',
  'x-message': 'must have 1 to 200 characters that are not all blanks',
});
const description = orNull(Type.String({ maxLength: 1000, description: 'Null is the same as an empty text.' }));
const isTest = Type.Boolean({ description: 'True if the test sends of campaigns may use the list.' });

const ListIn = Type.Object({
  name,
  description: Type.Optional(description),
  isTest: Type.Optional(isTest),
});
const ListPatch = Type.Partial(ListIn);

const ListOut = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  description: Type.String(),
  isTest: Type.Boolean(),
  contactCount: Type.Integer(),
  createdAt: instant(),
  deletedAt: Type.Union([instant(), Type.Null()], { description: 'Deleted lists have no contacts.' }),
});

const ListId = Type.Object({ id: id() });

const includeDeleted = Type.Boolean({ default: false, description: 'True to include deleted lists.' });
const FindListQuery = Type.Object({ includeDeleted });

const listFilterFields = {
  search: Type.Optional(Type.String({ maxLength: 200, description: 'A part of the name, case-insensitive.' })),
  id: Type.Optional(idList('Only these lists.')),
  contactIds: Type.Optional(idList('Lists with at least one of these contacts.')),
  isTest: Type.Optional(Type.Boolean()),
  includeDeleted,
  sortBy: Type.Enum(Object.keys(LIST_ORDERS) as (keyof typeof LIST_ORDERS)[], { type: 'string', default: 'name' }),
  sortOrder: Type.Enum(['asc', 'desc'], { type: 'string', default: 'asc' }),
};

const ListIdsQuery = Type.Object({ ids: idList('The lists to delete.') });
const Deleted = Type.Object({
  deleted: Type.Integer(),
  notFound: Type.Array(Type.Integer(), { description: 'The requested ids that do not exist.' }),
});

const AssociationIn = Type.Object({
  listIds: Type.Array(id(), { minItems: 1, maxItems: MAX_LISTS }),
  contactIds: Type.Optional(
    Type.Array(id(), { maxItems: MAX_CONTACTS, description: 'Required unless `allContacts` is true.' }),
  ),
  allContacts: Type.Optional(
    Type.Boolean({ description: 'All contacts (of the account, or of the lists) except the excluded ones.' }),
  ),
  excludeIdsAllContacts: Type.Optional(
    Type.Array(id(), { maxItems: MAX_CONTACTS, description: 'Only with `allContacts`; otherwise ignored.' }),
  ),
});

const AssociationOut = Type.Object({
  ids: Type.Optional(
    Type.Array(Type.Integer(), { description: 'The requested associations, including those that existed before.' }),
  ),
  associations: Type.Optional(
    Type.Array(
      Type.Object({
        id: Type.Integer({ description: 'For `DELETE /contacts/list/contacts/{id}`.' }),
        contactId: Type.Integer(),
        listId: Type.Integer(),
        created: Type.Boolean({ description: 'True if it did not exist before.' }),
      }),
      { description: 'The same associations, in the same order.' },
    ),
  ),
  count: Type.Optional(
    Type.Integer({ description: 'Replaces `ids` and `associations` if there are more than 10,000.' }),
  ),
  created: Type.Integer(),
  existing: Type.Integer(),
});

const NO_CONTACTS: readonly FieldError[] = [{ field: 'contactIds', message: 'is required unless allContacts is true' }];

/** Returns the missing fields of a body, apart from those that the schema has rejected. */
const faultsOfAssociation = (
  { contactIds = [], allContacts = false }: Partial<Static<typeof AssociationIn>>,
  isRefused: (field: string) => boolean,
): readonly FieldError[] =>
  allContacts || contactIds.length > 0 || isRefused('contactIds') || isRefused('allContacts') ? [] : NO_CONTACTS;

/** Reads the contacts that a body selects. Errors: 400 when it has neither contact ids nor `allContacts`. */
function readAssociation(body: Static<typeof AssociationIn>): Association {
  const { listIds, contactIds = [], allContacts = false, excludeIdsAllContacts = [] } = body;
  if (allContacts) return { listIds, contacts: { allBut: excludeIdsAllContacts } };
  if (contactIds.length === 0) throw invalidFields(NO_CONTACTS);
  return { listIds, contacts: { ids: contactIds } };
}

const toAssociationOut = ({ associations, created, existing }: AddResult): Static<typeof AssociationOut> => ({
  ...(associations === null
    ? { count: created + existing }
    : { ids: associations.map((association) => association.id), associations }),
  created,
  existing,
});

const toListOut = ({ createdAt, deletedAt, ...list }: ListRow): Static<typeof ListOut> => ({
  id: list.id,
  name: list.name,
  description: list.description,
  isTest: list.isTest,
  contactCount: list.contactCount,
  createdAt: createdAt.toISOString(),
  deletedAt: deletedAt?.toISOString() ?? null,
});

const PATH = '/api/partner-gateway/v1/contacts/list';
const MEMBERS = `${PATH}/contacts`;
const tags = ['Contacts'];

const ListQuery = Type.Object({ ...pageFields, ...listFilterFields });

const moreFaults = bodyFaults(AssociationIn, (body, _request, isRefused) => faultsOfAssociation(body, isRefused));

/**
 * Registers the routes for contact lists and their associations with contacts. The route that lists the
 * contacts of a list is in src/contacts/routes.ts.
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
      response: { 200: PageOf(ListOut) },
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
      return pageOf(query, rows.map(toListOut), total);
    },
  });

  app.post(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'createContactList',
      summary: 'Create a contact list',
      body: withExamples(ListIn, { name: 'Customers', description: 'Everybody who ordered this year' }),
      response: { 201: ListOut },
    },
    handler: idempotentTx({ pool, answers }, 201, async ({ actor, body }, tx) =>
      toListOut(await createList(tx, actor, body)),
    ),
  });

  app.delete(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteContactLists',
      summary: 'Delete contact lists',
      description: 'Their contacts stay.',
      querystring: ListIdsQuery,
      response: { 200: Deleted },
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
      params: ListId,
      querystring: FindListQuery,
      response: { 200: ListOut },
    },
    handler: async ({ actor, params, query }) => {
      return toListOut(
        await existing(findList(tenant(pool, actor), { ...query, ...params, accountId: actor.accountId })),
      );
    },
  });

  app.put(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'changeContactList',
      summary: 'Change a contact list',
      description: 'Omitted fields are unchanged.',
      params: ListId,
      body: withExamples(ListPatch, { name: 'Loyal customers' }),
      response: { 200: ListOut },
    },
    handler: async ({ actor, params, body }) =>
      toListOut(await tenantTransaction(pool, actor, (tx) => changeList(tx, actor, params.id, body))),
  });

  app.post(MEMBERS, {
    onRequest,
    config: { moreFaults, takesTurns: true },
    schema: {
      tags,
      operationId: 'addContactsToLists',
      summary: 'Add contacts to lists',
      description:
        'Existing associations stay. A 400 names unknown lists or contacts, and then nothing is done. Several lists, ' +
        `multiplied by the contacts, may be at most ${MAX_ASSOCIATIONS.toLocaleString('en-US')}.`,
      body: withExamples(AssociationIn, { listIds: [1], contactIds: [1, 2] }),
      response: { 201: AssociationOut },
    },
    handler: idempotentTx({ pool, answers }, 201, async ({ actor, body }, tx) =>
      toAssociationOut(await addToLists(tx, actor, readAssociation(body))),
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
      body: withExamples(AssociationIn, { listIds: [2], allContacts: true, excludeIdsAllContacts: [1] }),
      response: { 200: Deleted },
    },
    handler: ({ actor, body }) => {
      const input = readAssociation(body);
      return tenantTransaction(pool, actor, (tx) => removeFromLists(tx, actor, input));
    },
  });

  app.delete(`${MEMBERS}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteContactAssociation',
      summary: 'Delete an association of a contact with a list',
      params: ListId,
      response: { 200: Deleted },
    },
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => removeAssociation(tx, actor, params)),
  });
}
