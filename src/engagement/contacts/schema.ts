import { type Static, Type } from 'typebox';
import { CHANNELS } from '../../platform/lib/channel.ts';
import { idList } from '../../platform/lib/id-list.ts';
import { instantField } from '../../platform/lib/instant.ts';
import { toChannels } from '../../platform/lib/channel.ts';
import type { FieldRow } from './fields/sql.ts';
import { toNamed } from './fields/values.ts';
import { CONTACT_ORDERS } from './listing/sql.ts';
import type { ContactRow } from './sql.ts';
import { channelName, id, instant, orNull } from '../../platform/lib/schema.ts';

const optional = <T extends Type.TSchema>(schema: T) => Type.Optional(orNull(schema));

const Channel = channelName();
const Gender = Type.Enum(['MALE', 'FEMALE', 'OTHER'], { type: 'string' });
const MAX_FIELDS = 100;

/** Null takes a value away; what is left out stays as it is. */
export const ContactPatch = Type.Object({
  firstName: optional(Type.String({ maxLength: 100 })),
  lastName: optional(Type.String({ maxLength: 100 })),
  fullName: optional(
    Type.String({ maxLength: 200, description: 'Default: firstName and lastName, with a blank between them.' }),
  ),
  gender: optional(Gender),
  phoneNumber: optional(
    Type.String({ maxLength: 50, description: 'In any usual form; national forms where the account has a country.' }),
  ),
  email: optional(Type.String({ maxLength: 254, format: 'email' })),
  isTest: Type.Optional(Type.Boolean()),
  optedOut: Type.Optional(
    Type.Array(Channel, {
      maxItems: 10,
      description: 'The channels on which this number wants no messages: all of them.',
    }),
  ),
  customFields: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]), {
      maxProperties: MAX_FIELDS,
      description: 'By name. Each must be a custom field of the account, its value of that type.',
    }),
  ),
});

export const ContactOut = Type.Object({
  id: Type.Integer(),
  firstName: orNull(Type.String()),
  lastName: orNull(Type.String()),
  fullName: orNull(Type.String()),
  name: Type.String({ description: 'To show: the full name, else the number, else the e-mail address.' }),
  gender: orNull(Gender),
  phoneNumber: orNull(Type.String({ description: 'E.164' })),
  email: orNull(Type.String({ description: 'In lower case.' })),
  isValid: Type.Boolean({ description: 'Whether the number is in the numbering plan of its country.' }),
  isTest: Type.Boolean(),
  numberType: orNull(Type.String({ description: 'MOBILE, FIXED_LINE and so on; null when the plan does not tell.' })),
  country: orNull(Type.String({ description: 'Of the number: ISO 3166-1 alpha-2.' })),
  communicationSupported: Type.Array(Channel, {
    description:
      'From the type of the number (a mobile: all channels; a fixed line: WHATSAPP; VoIP: SMS, WHATSAPP; none where the ' +
      'number is not valid), corrected by what carriers report.',
  }),
  lastContactType: orNull(Channel),
  lastContactDate: orNull(instant()),
  lastCampaignType: orNull(Type.String()),
  optedOut: Type.Array(Channel, { description: 'Sends on these channels are refused.' }),
  customFields: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
  createdAt: instant(),
  updatedAt: instant(),
});

export const ContactId = Type.Object({ id: id() });
export const ListOfContacts = Type.Object({ listId: id() });

const channelList = (description: string) =>
  Type.String({
    pattern: '^(SMS|RCS|WHATSAPP)(,(SMS|RCS|WHATSAPP)){0,2}$',
    'x-message': 'must be channels (SMS, RCS, WHATSAPP) with commas between them',
    description,
  });

export const CUSTOM_FIELD_PREFIX = 'customField.';

/** The filters of a list of contacts. A filter by custom field is a field `customField.<name>` of the query. */
export const contactFilterFields = {
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'Part of name, number or e-mail address, in any case.' }),
  ),
  gender: Type.Optional(Gender),
  isValid: Type.Optional(Type.Boolean()),
  isTest: Type.Optional(Type.Boolean()),
  communicationSupported: Type.Optional(channelList('Contacts that can be reached on one of these channels.')),
  optedOut: Type.Optional(channelList('Contacts that want no messages on one of these channels.')),
  createdFrom: Type.Optional(instantField('Made at this time or later.')),
  createdTo: Type.Optional(instantField('Made before this time.')),
  phoneNumber: Type.Optional(Type.String({ maxLength: 50, description: 'The whole number, in any usual form.' })),
  email: Type.Optional(Type.String({ maxLength: 254, description: 'The whole address, in any case.' })),
  lastContactType: Type.Optional(Channel),
  lastCampaignType: Type.Optional(Type.String({ maxLength: 50, description: 'The sending mode of the campaign.' })),
  contactIds: Type.Optional(idList('These contacts only.')),
  notListIds: Type.Optional(idList('Contacts in none of these lists.')),
  sortBy: Type.Enum(Object.keys(CONTACT_ORDERS) as (keyof typeof CONTACT_ORDERS)[], {
    type: 'string',
    default: 'fullName',
  }),
  sortOrder: Type.Enum(['asc', 'desc'], { type: 'string', default: 'asc' }),
  sortPriorityListId: Type.Optional(id('Contacts of this list come first.')),
};
export const listIdsField = { listIds: Type.Optional(idList('Contacts in one of these lists.')) };

export const DeleteQuery = Type.Object({
  ids: Type.Optional(idList('The contacts to delete.')),
  notIds: Type.Optional(idList('In place of `ids`: all contacts but these are deleted.')),
});
export const Deleted = Type.Object({
  deleted: Type.Integer(),
  notFound: Type.Array(Type.Integer(), { description: 'Named and not there.' }),
});

export const LimitsOut = Type.Object({
  planLimit: orNull(Type.Integer({ description: 'Null: no limit.' })),
  extraLimit: Type.Integer(),
  totalLimit: orNull(Type.Integer({ description: 'Both together; null: no limit.' })),
  used: Type.Integer(),
  remaining: orNull(Type.Integer({ description: 'Null: no limit.' })),
});

/** A contact as the interface writes it. */
export const toContactOut = (row: ContactRow, fields: readonly FieldRow[]): Static<typeof ContactOut> => ({
  id: row.id,
  firstName: row.firstName,
  lastName: row.lastName,
  fullName: row.fullName || null,
  name: row.fullName || (row.phoneNumber ?? row.email ?? ''),
  gender: row.gender,
  phoneNumber: row.phoneNumber,
  email: row.email,
  isValid: row.isValid,
  isTest: row.isTest,
  numberType: row.numberType,
  country: row.country,
  communicationSupported: toChannels(row.channels),
  lastContactType: row.lastContactType,
  lastContactDate: row.lastContactDate?.toISOString() ?? null,
  lastCampaignType: row.lastCampaignType,
  optedOut: CHANNELS.filter((channel) => row.optedOut.includes(channel)),
  customFields: toNamed(fields, row.customFields),
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
});
