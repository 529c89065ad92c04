import type { NewMessage } from './sql.ts';

/** What most messages have in common, so that it need not be given. */
type WithDefault =
  | 'clientId'
  | 'simulation'
  | 'content'
  | 'udh'
  | 'binaryBody'
  | 'parts'
  | 'wantReceipt'
  | 'validUntil'
  | 'scheduledAt'
  | 'campaignId'
  | 'keepsReserve';

type Given = Omit<NewMessage, WithDefault> & Partial<Pick<NewMessage, WithDefault>>;

/**
 * Makes the row of a message. Fields that are left out have the value that most messages have: one part of text that is
 * sent at once, with a receipt, in no campaign. Every field is written out, because a spread shows in the CPU of a
 * message.
 */
export const newMessage = ({
  clientId = null,
  simulation = false,
  content = null,
  udh = null,
  binaryBody = null,
  parts = 1,
  wantReceipt = true,
  validUntil = null,
  scheduledAt = null,
  campaignId = null,
  keepsReserve = false,
  accountId,
  id,
  channel,
  source,
  connectionId,
  sender,
  destination,
  body,
  priceMicros,
  refundUndelivered,
  apiKeyId,
  userId,
}: Given): NewMessage => ({
  accountId,
  id,
  clientId,
  channel,
  source,
  simulation,
  connectionId,
  sender,
  destination,
  body,
  content,
  udh,
  binaryBody,
  parts,
  wantReceipt,
  validUntil,
  scheduledAt,
  priceMicros,
  refundUndelivered,
  apiKeyId,
  userId,
  campaignId,
  keepsReserve,
});
