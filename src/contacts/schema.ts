import { type Static, Type } from 'typebox';
import { CHANNELS, toChannels } from '../core/channels.ts';
import { idList } from '../core/ids.ts';
import { id, orNull } from '../core/schema.ts';
import { instantField } from '../core/time.ts';
import { propertyOf } from './contact-fields.ts';
import { type FieldRow, toNamed } from './fields.ts';
import { CONTACT_ORDERS, type ContactRow, displayName } from './store.ts';

/** The fields of a contact in a request. Null removes a value; omitted fields are unchanged. */
export const ContactPatch = Type.Object(propertyOf('in'));

export const CONTACT_EXAMPLE: Static<typeof ContactPatch> = {
  firstName: 'Grace',
  lastName: 'Example',
  phoneNumber: '+61491570158',
  email: 'grace@example.com',
  customFields: { city: 'Sydney' },
};

export const ContactOut = Type.Object(propertyOf('out'));

export const ContactOfListOut = Type.Object({
  ...ContactOut.properties,
  associationId: Type.Integer({
    description: 'The association with the list, for `DELETE /contacts/list/contacts/{id}`.',
  }),
});

export const ContactId = Type.Object({ id: id() });
export const ListOfContacts = Type.Object({ listId: id() });

export const CUSTOM_FIELD_PREFIX = 'customField.';

/**
 * The query parameters that filter a list of contacts. A filter by custom field is a parameter `customField.<name>`.
 */
export const contactFilterFields = {
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'A part of the name, number or email address, case-insensitive.' }),
  ),
  ...propertyOf('filter'),
  createdFrom: Type.Optional(instantField('Created at this time or later.')),
  createdTo: Type.Optional(instantField('Created before this time.')),
  contactIds: Type.Optional(idList('Only these contacts.')),
  notListIds: Type.Optional(idList('Contacts in none of these lists.')),
  sortBy: Type.Enum(Object.keys(CONTACT_ORDERS) as (keyof typeof CONTACT_ORDERS)[], {
    type: 'string',
    default: 'fullName',
  }),
  sortOrder: Type.Enum(['asc', 'desc'], { type: 'string', default: 'asc' }),
  sortPriorityListId: Type.Optional(id('Contacts of this list come first.')),
};
export const listIdsField = { listIds: Type.Optional(idList('Contacts in at least one of these lists.')) };

export const DeleteQuery = Type.Object({
  ids: Type.Optional(idList('The contacts to delete.')),
  notIds: Type.Optional(idList('Instead of `ids`: all contacts except these are deleted.')),
});
export const Deleted = Type.Object({
  deleted: Type.Integer(),
  notFound: Type.Array(Type.Integer(), { description: 'The given ids that do not exist.' }),
});

export const LimitsOut = Type.Object({
  planLimit: orNull(Type.Integer({ description: 'Null: no limit.' })),
  extraLimit: Type.Integer(),
  totalLimit: orNull(Type.Integer({ description: 'The sum of both; null: no limit.' })),
  used: Type.Integer(),
  remaining: orNull(Type.Integer({ description: 'Null: no limit.' })),
});

/** Overwrites what responses do not have, which takes less time than copying the rest of each row. */
const HIDDEN = { givenFullName: undefined, channels: undefined, allowedChannels: undefined };

/** Converts a contact to its form in the API. */
export const toContactOut = (row: ContactRow, fields: readonly FieldRow[]): Static<typeof ContactOut> => ({
  ...row,
  ...HIDDEN,
  fullName: row.fullName || null,
  name: displayName(row),
  communicationSupported: toChannels(row.channels & row.allowedChannels),
  lastContactDate: row.lastContactDate?.toISOString() ?? null,
  optedOut: CHANNELS.filter((channel) => row.optedOut.includes(channel)),
  customFields: toNamed(fields, row.customFields),
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
});
