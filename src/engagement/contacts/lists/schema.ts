import { type Static, Type } from 'typebox';
import { idList } from '../../../platform/lib/id-list.ts';
import type { AddResult, Association } from './members/associate.ts';
import { type FieldError, invalidFields } from '../../../platform/errors.ts';
import { LIST_ORDERS, type ListRow } from './sql.ts';
import { id, instant, orNull } from '../../../platform/lib/schema.ts';

const MAX_LISTS = 1000;
/** A body of a megabyte holds about this many ids. */
const MAX_CONTACTS = 100_000;

const name = Type.String({
  maxLength: 200,
  pattern: '\\S',
  'x-message': 'must have 1 to 200 characters that are not all blanks',
});
const description = orNull(Type.String({ maxLength: 1000, description: 'Null is the same as an empty text.' }));
const isTest = Type.Boolean({ description: 'True if the test sends of campaigns may use the list.' });

export const ListIn = Type.Object({
  name,
  description: Type.Optional(description),
  isTest: Type.Optional(isTest),
});
export const ListPatch = Type.Partial(ListIn);

export const ListOut = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  description: Type.String(),
  isTest: Type.Boolean(),
  contactCount: Type.Integer(),
  createdAt: instant(),
  deletedAt: Type.Union([instant(), Type.Null()], { description: 'Deleted lists have no contacts.' }),
});

export const ListId = Type.Object({ id: id() });

const includeDeleted = Type.Boolean({ default: false, description: 'True to include deleted lists.' });
export const FindListQuery = Type.Object({ includeDeleted });

export const listFilterFields = {
  search: Type.Optional(Type.String({ maxLength: 200, description: 'A part of the name, case-insensitive.' })),
  id: Type.Optional(idList('Only these lists.')),
  contactIds: Type.Optional(idList('Lists with at least one of these contacts.')),
  isTest: Type.Optional(Type.Boolean()),
  includeDeleted,
  sortBy: Type.Enum(Object.keys(LIST_ORDERS) as (keyof typeof LIST_ORDERS)[], { type: 'string', default: 'name' }),
  sortOrder: Type.Enum(['asc', 'desc'], { type: 'string', default: 'asc' }),
};

export const ListIdsQuery = Type.Object({ ids: idList('The lists to delete.') });
export const Deleted = Type.Object({
  deleted: Type.Integer(),
  notFound: Type.Array(Type.Integer(), { description: 'The requested ids that do not exist.' }),
});

export const AssociationIn = Type.Object({
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

export const AssociationOut = Type.Object({
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
export const faultsOfAssociation = (
  { contactIds = [], allContacts = false }: Partial<Static<typeof AssociationIn>>,
  isRefused: (field: string) => boolean,
): readonly FieldError[] =>
  allContacts || contactIds.length > 0 || isRefused('contactIds') || isRefused('allContacts') ? [] : NO_CONTACTS;

/** Reads the contacts that a body selects. Errors: 400 when it has neither contact ids nor `allContacts`. */
export function readAssociation(body: Static<typeof AssociationIn>): Association {
  const { listIds, contactIds = [], allContacts = false, excludeIdsAllContacts = [] } = body;
  if (allContacts) return { listIds, contacts: { allBut: excludeIdsAllContacts } };
  if (contactIds.length === 0) throw invalidFields(NO_CONTACTS);
  return { listIds, contacts: { ids: contactIds } };
}

export const toAssociationOut = ({ associations, created, existing }: AddResult): Static<typeof AssociationOut> => ({
  ...(associations === null
    ? { count: created + existing }
    : { ids: associations.map((association) => association.id), associations }),
  created,
  existing,
});

export const toListOut = ({ createdAt, deletedAt, ...list }: ListRow): Static<typeof ListOut> => ({
  id: list.id,
  name: list.name,
  description: list.description,
  isTest: list.isTest,
  contactCount: list.contactCount,
  createdAt: createdAt.toISOString(),
  deletedAt: deletedAt?.toISOString() ?? null,
});
