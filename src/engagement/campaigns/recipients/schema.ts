import { type Static, Type } from 'typebox';
import { nameOfStatus, STATUS_NAMES, type StatusName } from '../../../messaging/states.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import type { CampaignRow } from '../sql.ts';
import { CAMPAIGN } from '../states.ts';
import type { RecipientRow } from './sql.ts';
import { channelName, orNull } from '../../../platform/lib/schema.ts';

export type RecipientStatus = StatusName | 'PENDING' | 'SKIPPED';
const STATUSES: readonly RecipientStatus[] = ['PENDING', 'SKIPPED', ...STATUS_NAMES];

const Status = Type.Enum([...STATUSES], {
  type: 'string',
  description:
    'The status of the last message. PENDING: there is no message yet. SKIPPED: there will be none. DELETED: the message ' +
    'was withdrawn, or the campaign was cancelled before there was one.',
});

export const recipientFilterFields = { status: Type.Optional(Status) };

export const RecipientOut = Type.Object({
  phoneNumber: Type.String({
    description: 'E.164; as it was given if it is not valid; empty for a contact without a number.',
  }),
  country: Type.String({ description: 'ISO 3166-1 alpha-2; empty if the number belongs to no country.' }),
  contactId: orNull(Type.Integer()),
  name: orNull(
    Type.String({ description: 'The name of the contact. Null without the scope `contacts`, or if it is not known.' }),
  ),
  channel: Type.Union([channelName(), Type.Null()], {
    description: 'The channel of the last message.',
  }),
  status: Status,
  read: Type.Boolean(),
  messageIds: Type.Array(Type.String(), {
    description: 'The messages, in the order in which the channels were tried.',
  }),
  notTried: Type.Array(channelName(), {
    description: 'The channels that were abandoned because no carrier took the message within `fallback.maxWait`.',
  }),
  skipReason: orNull(
    Type.String({
      description:
        'invalid, unsupported, opted_out, text, no_route, no_price; later also reasons that came up since, and ' +
        'suspended: the account was suspended before there was a message.',
    }),
  ),
});

type Ended = Pick<CampaignRow, 'cancelledAt' | 'status'>;

/**
 * Returns true if recipients without a message got none because the account was suspended before the start: nothing
 * else ends a campaign while there are such recipients, except for a cancellation.
 */
export const isLeftOut = ({ cancelledAt, status }: Ended): boolean =>
  cancelledAt === null && (status === CAMPAIGN.FAILED || status === CAMPAIGN.COMPLETED);

const SUSPENDED = 'suspended';

/** Converts a recipient to its form in the API. In a cancelled campaign those without a message get none. */
export function toRecipientOut(
  { attempts, ...row }: RecipientRow,
  campaign: Ended,
  { operations }: Pick<Actor, 'operations'>,
): Static<typeof RecipientOut> {
  const last = attempts.at(-1);
  const skipReason = row.skipReason ?? (last === undefined && isLeftOut(campaign) ? SUSPENDED : null);
  const withoutMessage = skipReason !== null ? 'SKIPPED' : campaign.cancelledAt === null ? 'PENDING' : 'DELETED';
  return {
    ...row,
    name: operations.has('contacts') ? row.name : null,
    channel: last?.channel ?? null,
    status: last ? nameOfStatus(last.status) : withoutMessage,
    read: attempts.some(({ read }) => read),
    messageIds: attempts.map(({ id }) => id),
    notTried: attempts.flatMap(({ channel, notTried }) => (notTried ? [channel] : [])),
    skipReason,
  };
}
