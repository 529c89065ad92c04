import { listContacts, listSearchHits } from '../../engagement/contacts/listing/sql.ts';
import { findRecord, statusOf } from '../../messaging/tracking/status.ts';
import type { Db } from '../../platform/db/query.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { timeOfId } from '../../platform/lib/ids.ts';
import type { JumpOut } from './schema.ts';
import { listCampaignById, listNamedCampaigns } from './sql.ts';

const LIMIT = 5;
/** Text length below which the trigram index of contacts cannot be used. */
const MIN_CONTACT_TEXT = 3;
const NEWEST_CAMPAIGNS = 2000;
/** Ids of campaigns are integers below this many digits. */
const CAMPAIGN_ID = /^\d{1,15}$/;

type Of = Pick<Actor, 'accountId' | 'operations'>;

/**
 * Finds the possible meanings of a text: the message with this id, and contacts and campaigns whose names contain it,
 * as far as the caller's scopes cover them. It reads indexes up to small limits, so it costs the same in a large
 * account. `db` must be bound to the account: otherwise no contact is found.
 */
export async function findByText(db: Db, { accountId, operations }: Of, given: string): Promise<JumpOut> {
  const text = given.trim();
  return {
    messages: operations.has('tracking') ? await messagesOf(db, accountId, text) : [],
    contacts: operations.has('contacts') ? await contactsOf(db, accountId, text) : [],
    campaigns: operations.has('campaigns') ? await campaignsOf(db, accountId, text) : [],
  };
}

async function messagesOf(db: Db, accountId: number, id: string): Promise<JumpOut['messages']> {
  const record = id === '' ? undefined : await findRecord(db, { accountId }, id);
  if (record === undefined) return [];
  const { channel, destination } = record;
  const acceptedAt = timeOfId(record.id).toISOString();
  return [{ messageId: record.id, channel, destination, deliveryStatus: statusOf(record), acceptedAt }];
}

async function contactsOf(db: Db, accountId: number, text: string): Promise<JumpOut['contacts']> {
  const search = numberOf(text) ?? text;
  if (search.length < MIN_CONTACT_TEXT) return [];
  const hits = await listSearchHits(db, { accountId, search, limit: LIMIT });
  if (hits.length === 0) return [];
  const order = { sortBy: 'fullName', descending: false } as const;
  const rows = await listContacts(db, { filter: { accountId, hits }, order, limit: LIMIT, offset: 0 });
  return rows.map(({ id, fullName, phoneNumber }) => ({ id, name: fullName, phoneNumber }));
}

/** Returns the digits of a number as people write it, with spaces, dashes or 00: numbers are stored without. */
function numberOf(text: string): string | undefined {
  if (!/^[+\d][\d ().\-/]*$/.test(text)) return undefined;
  return text.replace(/[^+\d]/g, '').replace(/^00/, '+');
}

async function campaignsOf(db: Db, accountId: number, text: string): Promise<JumpOut['campaigns']> {
  if (text === '') return [];
  const byId = CAMPAIGN_ID.test(text) ? await listCampaignById(db, { accountId, id: Number(text) }) : [];
  const named = await listNamedCampaigns(db, { accountId, text, newest: NEWEST_CAMPAIGNS, limit: LIMIT });
  const others = named.filter(({ id }) => byId.every((found) => found.id !== id));
  return [...byId, ...others]
    .slice(0, LIMIT)
    .map(({ id, name, createdAt }) => ({ id, name, createdAt: createdAt.toISOString() }));
}
