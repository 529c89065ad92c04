import { type Static, Type } from 'typebox';
import { instantField } from '../../../platform/lib/instant.ts';
import { STATUS_NAMES } from '../../../messaging/states.ts';
import { StatusRecord } from '../../../messaging/tracking/schema.ts';
import { channelName, id, instant, orNull } from '../../../platform/lib/schema.ts';

const SOURCES = ['API', 'CAMPAIGN', 'INBOX'] as const;

export const SearchQuery = Type.Object({
  channel: Type.Optional(channelName()),
  status: Type.Optional(Type.Enum([...STATUS_NAMES], { type: 'string', description: 'As `deliveryStatus`.' })),
  destination: Type.Optional(
    Type.String({
      pattern: '^[+0-9 ().\\-/]{1,30}$',
      'x-message': 'must be digits of a number, at most 30 characters',
      description: 'Digits that stand together in the number.',
    }),
  ),
  sender: Type.Optional(Type.String({ maxLength: 128, description: 'Exactly.' })),
  campaignId: Type.Optional(id()),
  source: Type.Optional(Type.Enum([...SOURCES], { type: 'string', description: 'Who sent it.' })),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Our id of a message, whatever else is asked for; or your reference; or digits of the number.',
    }),
  ),
  from: Type.Optional(instantField('The first time of acceptance. Default: seven days before the last one.')),
  to: Type.Optional(instantField('The last one. Default: now.')),
  before: Type.Optional(Type.String({ format: 'uuid', description: '`next` of the answer before.' })),
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50, description: 'Messages at most.' }),
});
export type SearchQuery = Static<typeof SearchQuery>;

export const SearchOut = Type.Object({
  data: Type.Array(
    Type.Object({
      ...StatusRecord.properties,
      acceptedAt: instant('UTC'),
      readAt: orNull(instant('UTC; when the person is known to have read it.')),
      source: Type.Enum([...SOURCES], { type: 'string' }),
      simulation: Type.Boolean(),
      text: Type.String({ description: 'Empty where a template or a file was sent by a campaign.' }),
    }),
    { description: 'The newest first.' },
  ),
  next: orNull(Type.String({ description: 'Ask again with `before` for what follows; null: that is all.' })),
  searchedTo: instant('How far back this answer has looked.'),
});
export type SearchOut = Static<typeof SearchOut>;
