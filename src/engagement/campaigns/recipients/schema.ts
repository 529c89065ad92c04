import { type Static, Type } from 'typebox';
import { nameOfStatus, STATUS_NAMES, type StatusName } from '../../../messaging/states.ts';
import type { RecipientRow } from './sql.ts';
import { channelName, orNull } from '../../../platform/lib/schema.ts';

export type RecipientStatus = StatusName | 'PENDING' | 'SKIPPED';
const STATUSES: readonly RecipientStatus[] = ['PENDING', 'SKIPPED', ...STATUS_NAMES];

const Status = Type.Enum([...STATUSES], {
  type: 'string',
  description: 'The status of the last message. PENDING: there is no message yet. SKIPPED: there will be none.',
});

export const recipientFilterFields = { status: Type.Optional(Status) };

export const RecipientOut = Type.Object({
  phoneNumber: Type.String(),
  country: Type.String({ description: 'ISO 3166-1 alpha-2; empty if the number belongs to no country.' }),
  contactId: orNull(Type.Integer()),
  channel: Type.Union([channelName(), Type.Null()], {
    description: 'The channel of the last message.',
  }),
  status: Status,
  read: Type.Boolean(),
  messageIds: Type.Array(Type.String(), {
    description: 'The messages, in the order in which the channels were tried.',
  }),
  skipReason: orNull(Type.String()),
});

export function toRecipientOut({ attempts, skipReason, ...row }: RecipientRow): Static<typeof RecipientOut> {
  const last = attempts.at(-1);
  return {
    ...row,
    channel: last?.channel ?? null,
    status: last ? nameOfStatus(last.status) : skipReason === null ? 'PENDING' : 'SKIPPED',
    read: attempts.some(({ read }) => read),
    messageIds: attempts.map(({ id }) => id),
    skipReason,
  };
}
