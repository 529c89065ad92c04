import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Actor } from '../core/actor.ts';
import { mapInSlices } from '../core/background.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, existing, invalidFields } from '../core/errors.ts';
import { type App, offsetOf, PageOf, type PlatformDeps, pageFields, pageOf, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { bodyFaults } from '../core/http/more-faults.ts';
import { readIds } from '../core/ids.ts';
import { DEFAULT_NUMBER_RULES } from '../core/phone.ts';
import { channelName, instant } from '../core/schema.ts';
import { listOptOutsOf } from '../messages/consent.ts';
import { recordFields } from '../messages/consent-routes.ts';
import { changeContact, createContact, removeContacts } from './contacts.ts';
import { customFieldRoutes, listFields } from './fields.ts';
import { findBook, limitsOf } from './limits.ts';
import { listMembers } from './list-members.ts';
import { findList } from './lists.ts';
import { faultsOfContact, findContacts, readFilter } from './read.ts';
import * as schema from './schema.ts';
import { findContact } from './store.ts';

const PG = '/api/partner-gateway/v1';
const PATH = `${PG}/contacts`;
const tags = ['Contacts'];

const ListQuery = Type.Object({ ...pageFields, ...schema.contactFilterFields });
const ContactQuery = Type.Object({ ...pageFields, ...schema.contactFilterFields, ...schema.listIdsField });
const ContactsPage = PageOf(schema.ContactOut);

const FILTERS =
  'A filter by a custom field is `customField.<name>=<value>`. Contacts are deleted permanently, so there is no ' +
  '`includeDeleted`.';

const OptOutOut = Type.Object({
  channel: channelName(),
  purpose: recordFields.purpose,
  source: recordFields.source,
  createdAt: instant(),
});

/** Registers the routes of contacts, the contacts of a list, custom fields, and contact limits. */
export function contactRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireScope('contacts');
  const moreFaults = bodyFaults(schema.ContactPatch, async (input, { actor, method, params }, isRefused) => {
    const [db, { accountId }] = [tenant(pool, actor), actor];
    const id = Value.Check(schema.ContactId, params) ? params.id : 0;
    const current = method === 'POST' ? null : await findContact(db, { accountId, id });
    return current === undefined
      ? []
      : faultsOfContact(input, await loadReadContext(db, accountId), current, isRefused);
  });

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listContacts',
      summary: 'List contacts',
      description: FILTERS,
      querystring: ContactQuery,
      response: { 200: ContactsPage },
    },
    handler: ({ actor, query }) => answerPage(tenant(pool, actor), actor, query),
  });

  app.get(`${PATH}/list/:listId/contacts`, {
    onRequest,
    schema: {
      tags,
      operationId: 'listContactsOfList',
      summary: 'List the contacts of a list',
      description: FILTERS,
      params: schema.ListOfContacts,
      querystring: ListQuery,
      response: { 200: PageOf(schema.ContactOfListOut) },
    },
    handler: async ({ actor, params, query }) => {
      const db = tenant(pool, actor);
      const list = await existing(findList(db, { accountId: actor.accountId, id: params.listId }));
      const page = await answerPage(db, actor, { ...query, listIds: String(list.id) });
      return { ...page, data: await withAssociations(db, actor, list.id, page.data) };
    },
  });

  app.post(PATH, {
    onRequest,
    config: { moreFaults },
    schema: {
      tags,
      operationId: 'createContact',
      summary: 'Create a contact',
      description:
        'A number or an email address is required. If another contact has the number, the response is 409, and `details` ' +
        'names that contact. An email address may belong to several contacts.',
      body: withExamples(schema.ContactPatch, schema.CONTACT_EXAMPLE),
      response: { 201: schema.ContactOut },
    },
    handler: idempotentTx(deps, 201, async ({ actor, body }, tx) =>
      answerContact(tx, actor, await createContact(tx, actor, body)),
    ),
  });

  app.delete(PATH, {
    onRequest,
    config: { takesTurns: true },
    schema: {
      tags,
      operationId: 'deleteContacts',
      summary: 'Delete contacts',
      description: 'Deletes those of `ids`, or all except those of `notIds`, permanently. Opt-outs stay, by number.',
      querystring: schema.DeleteQuery,
      response: { 200: schema.Deleted },
    },
    handler: ({ actor, query }) => {
      const input = readDeleteQuery(query);
      return tenantTransaction(pool, actor, (tx) => removeContacts(tx, actor, input));
    },
  });

  app.get(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findContact',
      summary: 'Get a contact',
      params: schema.ContactId,
      response: { 200: schema.ContactOut },
    },
    handler: ({ actor, params }) => answerContact(tenant(pool, actor), actor, params.id),
  });

  app.put(`${PATH}/:id`, {
    onRequest,
    config: { moreFaults },
    schema: {
      tags,
      operationId: 'changeContact',
      summary: 'Change a contact',
      description: 'Omitted fields are unchanged; null removes a value.',
      params: schema.ContactId,
      body: withExamples(schema.ContactPatch, { firstName: 'Grace', customFields: { city: 'Hobart' } }),
      response: { 200: schema.ContactOut },
    },
    handler: ({ actor, params, body }) =>
      tenantTransaction(pool, actor, async (tx) => {
        await changeContact(tx, actor, params.id, body);
        return answerContact(tx, actor, params.id);
      }),
  });

  app.get(`${PATH}/:id/opt-outs`, {
    onRequest,
    schema: {
      tags,
      operationId: 'listOptOutsOfContact',
      summary: 'List the opt-outs of a contact',
      description:
        'The channels from which the number has opted out, or from their marketing, since when, and the source.',
      params: schema.ContactId,
      response: { 200: Type.Array(OptOutOut) },
    },
    handler: async ({ actor: { accountId }, params }) => {
      const db = tenant(pool, { accountId });
      const contact = await existing(findContact(db, { accountId, id: params.id }));
      const rows = await listOptOutsOf(db, { accountId, phoneNumber: contact.phoneNumber ?? '' });
      return rows.map(({ channel, purpose, source, createdAt }) => ({
        channel,
        purpose,
        source,
        createdAt: createdAt.toISOString(),
      }));
    },
  });

  customFieldRoutes(app, deps);

  app.get(`${PG}/subscription/contacts`, {
    onRequest,
    schema: {
      tags: ['Account'],
      operationId: 'findContactLimits',
      summary: 'Get the contact limits and the number of contacts',
      response: { 200: schema.LimitsOut },
    },
    handler: async ({ actor }) => {
      return limitsOf(await existing(findBook(tenant(pool, actor), actor)));
    },
  });
}

async function loadReadContext(db: Db, accountId: number) {
  const [book, fields] = await Promise.all([findBook(db, { accountId }), listFields(db, { accountId })]);
  return { rules: book ?? DEFAULT_NUMBER_RULES, fields };
}

type Query = Static<typeof ContactQuery>;

async function answerPage(db: Db, { accountId }: Pick<Actor, 'accountId'>, query: Query) {
  const reading = await loadReadContext(db, accountId);
  const filter = readFilter(accountId, query, reading);
  const order = { sortBy: query.sortBy, descending: query.sortOrder === 'desc' };
  const page = { limit: query.limit, offset: offsetOf(query), priorityListId: query.sortPriorityListId };
  const { rows, total } = await findContacts(db, { filter, order, ...page });
  // With 100 custom fields, a page of 1,000 contacts has 100 MB.
  const data = await mapInSlices(rows, (row) => schema.toContactOut(row, reading.fields));
  return pageOf(query, data, total);
}

/** Adds to contacts of a list their associations with it. Contacts that have just been removed from it are omitted. */
async function withAssociations<C extends { readonly id: number }>(
  db: Db,
  { accountId }: Pick<Actor, 'accountId'>,
  listId: number,
  contacts: readonly C[],
) {
  const ids = contacts.map(({ id }) => id);
  const members = await listMembers(db, { accountId, listIds: [listId], contacts: { ids }, limit: ids.length });
  const idOf = new Map(members.map((member) => [member.contactId, member.id]));
  return contacts.flatMap((contact) => {
    const associationId = idOf.get(contact.id);
    return associationId === undefined ? [] : [{ ...contact, associationId }];
  });
}

async function answerContact(db: Db, { accountId }: Pick<Actor, 'accountId'>, id: number) {
  const [contact, fields] = await Promise.all([findContact(db, { accountId, id }), listFields(db, { accountId })]);
  if (!contact) throw new AppError('not_found');
  return schema.toContactOut(contact, fields);
}

function readDeleteQuery({ ids, notIds }: Static<typeof schema.DeleteQuery>) {
  if (ids !== undefined && notIds === undefined) return { ids: readIds(ids) };
  if (notIds !== undefined && ids === undefined) return { notIds: readIds(notIds) };
  throw invalidFields(
    ['ids', 'notIds'].map((field) => ({ field, message: 'exactly one of ids and notIds is required' })),
  );
}
