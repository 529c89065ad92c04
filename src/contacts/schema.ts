import { type Static, Type } from 'typebox';
import { CHANNELS, toChannels } from '../core/channels.ts';
import { idList } from '../core/ids.ts';
import { channelName, id, instant, orNull } from '../core/schema.ts';
import { instantField } from '../core/time.ts';
import { type FieldRow, toNamed } from './fields.ts';
import { CONTACT_ORDERS, type ContactRow, displayName } from './store.ts';

const optional = <T extends Type.TSchema>(schema: T) => Type.Optional(orNull(schema));

const Channel = channelName();
const Gender = Type.Enum(['MALE', 'FEMALE', 'OTHER'], { type: 'string' });
const MAX_FIELDS = 100;

/** The fields of a contact in a request. Null removes a value; omitted fields are unchanged. */
export const ContactPatch = Type.Object({
  firstName: optional(Type.String({ maxLength: 100 })),
  lastName: optional(Type.String({ maxLength: 100 })),
  fullName: optional(
    Type.String({ maxLength: 200, description: 'Default: firstName and lastName, separated by a blank.' }),
  ),
  gender: optional(Gender),
  phoneNumber: optional(
    Type.String({
      maxLength: 50,
      description: 'In any usual form; national numbers if the account has a default country.',
    }),
  ),
  email: optional(Type.String({ maxLength: 254, format: 'email' })),
  name: optional(
    Type.String({
      maxLength: 200,
      description: 'The same as `fullName`, which takes precedence where both are given.',
    }),
  ),
  isValid: Type.Optional(
    Type.Boolean({
      description: 'False: campaigns skip the contact. True only for a number that is valid in its country.',
    }),
  ),
  isTest: Type.Optional(Type.Boolean()),
  communicationSupported: Type.Optional(
    Type.Array(Channel, {
      maxItems: 10,
      description:
        'The only channels on which campaigns may write to the contact. It restricts the channels that reach the number, ' +
        'and cannot add to them.',
    }),
  ),
  optedOut: Type.Optional(
    Type.Array(Channel, {
      maxItems: 10,
      description: 'All channels from which this number has opted out.',
    }),
  ),
  customFields: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]), {
      maxProperties: MAX_FIELDS,
      description: 'Values by name. Each must be a custom field of the account, and the value must have its type.',
    }),
  ),
});

export const CONTACT_EXAMPLE: Static<typeof ContactPatch> = {
  firstName: 'Grace',
  lastName: 'Example',
  phoneNumber: '+61491570158',
  email: 'grace@example.com',
  customFields: { city: 'Sydney' },
};

export const ContactOut = Type.Object({
  id: Type.Integer(),
  firstName: orNull(Type.String()),
  lastName: orNull(Type.String()),
  fullName: orNull(Type.String()),
  name: Type.String({ description: 'For display: the full name, or else the number, or else the email address.' }),
  gender: orNull(Gender),
  phoneNumber: orNull(Type.String({ description: 'E.164' })),
  email: orNull(Type.String({ description: 'In lower case.' })),
  isValid: Type.Boolean({
    description: 'True if the number is valid in the numbering plan of its country, and was not set to false.',
  }),
  isTest: Type.Boolean(),
  numberType: orNull(
    Type.String({ description: 'MOBILE, FIXED_LINE and so on; null if the numbering plan does not define it.' }),
  ),
  country: orNull(Type.String({ description: 'The country of the number: ISO 3166-1 alpha-2.' })),
  communicationSupported: Type.Array(Channel, {
    description:
      'The channels that reach the number: from its type (mobile: all channels; fixed line: WHATSAPP; VoIP: SMS, WHATSAPP; ' +
      'not valid: none), corrected by what carriers report, and restricted to those that were set.',
  }),
  lastContactType: orNull(Channel),
  lastContactDate: orNull(instant()),
  lastCampaignType: orNull(Type.String()),
  optedOut: Type.Array(Channel, {
    description: 'The channels from which the number has opted out: messages on them are rejected.',
  }),
  customFields: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
  createdAt: instant(),
  updatedAt: instant(),
});

/** A contact among those of a list. */
export const ContactOfListOut = Type.Object({
  ...ContactOut.properties,
  associationId: Type.Integer({
    description: 'The association with the list, for `DELETE /contacts/list/contacts/{id}`.',
  }),
});

export const ContactId = Type.Object({ id: id() });
export const ListOfContacts = Type.Object({ listId: id() });

const channelList = (description: string) =>
  Type.String({
    pattern: '^(SMS|RCS|WHATSAPP)(,(SMS|RCS|WHATSAPP)){0,2}$',
    'x-message': 'must be channels (SMS, RCS, WHATSAPP) separated by commas',
    description,
  });

export const CUSTOM_FIELD_PREFIX = 'customField.';

/**
 * The query parameters that filter a list of contacts. A filter by custom field is a parameter `customField.<name>`.
 */
export const contactFilterFields = {
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'A part of the name, number or email address, case-insensitive.' }),
  ),
  gender: Type.Optional(Gender),
  isValid: Type.Optional(Type.Boolean()),
  isTest: Type.Optional(Type.Boolean()),
  communicationSupported: Type.Optional(channelList('Contacts that can be reached on at least one of these channels.')),
  optedOut: Type.Optional(channelList('Contacts that have opted out of at least one of these channels.')),
  createdFrom: Type.Optional(instantField('Created at this time or later.')),
  createdTo: Type.Optional(instantField('Created before this time.')),
  phoneNumber: Type.Optional(Type.String({ maxLength: 50, description: 'The whole number, in any usual form.' })),
  email: Type.Optional(Type.String({ maxLength: 254, description: 'The whole address, case-insensitive.' })),
  lastContactType: Type.Optional(Channel),
  lastCampaignType: Type.Optional(Type.String({ maxLength: 50, description: 'The sending mode of the campaign.' })),
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

/** Converts a contact to its form in the API. */
export const toContactOut = (row: ContactRow, fields: readonly FieldRow[]): Static<typeof ContactOut> => ({
  id: row.id,
  firstName: row.firstName,
  lastName: row.lastName,
  fullName: row.fullName || null,
  name: displayName(row),
  gender: row.gender,
  phoneNumber: row.phoneNumber,
  email: row.email,
  isValid: row.isValid,
  isTest: row.isTest,
  numberType: row.numberType,
  country: row.country,
  communicationSupported: toChannels(row.channels & row.allowedChannels),
  lastContactType: row.lastContactType,
  lastContactDate: row.lastContactDate?.toISOString() ?? null,
  lastCampaignType: row.lastCampaignType,
  optedOut: CHANNELS.filter((channel) => row.optedOut.includes(channel)),
  customFields: toNamed(fields, row.customFields),
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
});
