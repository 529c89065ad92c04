import { type Static, Type } from 'typebox';
import { listContacts, listSearchHits } from '../contacts/store.ts';
import type { Actor } from '../core/actor.ts';
import { as, columns, containsPattern, type Db, many, type RowOf, sql } from '../core/db/query.ts';
import { tenantTransaction } from '../core/db/transaction.ts';
import type { App, PlatformDeps } from '../core/http/app.ts';
import { requireAnyScope } from '../core/http/auth.ts';
import { timeOfId } from '../core/ids.ts';
import { STATUS_NAMES } from '../core/message-state.ts';
import { channelName, instant, orNull } from '../core/schema.ts';
import { findRecord, statusOf } from '../messages/status.ts';

const TextQuery = Type.Object({
  q: Type.String({
    minLength: 1,
    maxLength: 255,
    description: 'An id of a message, yours or ours; or a part of a name, number or email address.',
  }),
});

const Message = Type.Object({
  messageId: Type.String(),
  channel: channelName(),
  destination: Type.String(),
  deliveryStatus: Type.Enum([...STATUS_NAMES], { type: 'string' }),
  acceptedAt: instant('UTC'),
});

const Contact = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  phoneNumber: orNull(Type.String()),
});

const Campaign = Type.Object({ id: Type.Integer(), name: Type.String(), createdAt: instant('UTC') });

const Found = Type.Object({
  messages: Type.Array(Message, { description: 'The message with this id; at most one.' }),
  contacts: Type.Array(Contact, { description: 'Up to five. None for a text below three characters.' }),
  campaigns: Type.Array(Campaign, {
    description: 'Up to five of the newest 2,000 campaigns, newest first; and the one with this id.',
  }),
});
type Found = Static<typeof Found>;

/** Registers the route behind the search of the whole console. */
export function findByTextRoutes(app: App, { pool }: PlatformDeps): void {
  app.get('/api/partner-gateway/v1/search', {
    onRequest: requireAnyScope(['tracking', 'contacts', 'campaigns'], 'read'),
    schema: {
      tags: ['Tracking'],
      operationId: 'findByText',
      summary: 'Find a message, contacts and campaigns by one text',
      description:
        'Meant to be called while a user types: it reads indexes up to small limits. Results that the scopes of the caller ' +
        'do not cover are omitted. To search thoroughly, use the lists of messages, contacts and campaigns.',
      querystring: TextQuery,
      response: { 200: Found },
    },
    handler: ({ actor, query }) => tenantTransaction(pool, actor, (tx) => findByText(tx, actor, query.q)),
  });
}

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
async function findByText(db: Db, { accountId, operations }: Of, given: string): Promise<Found> {
  const text = given.trim();
  return {
    messages: operations.has('tracking') ? await messagesOf(db, accountId, text) : [],
    contacts: operations.has('contacts') ? await contactsOf(db, accountId, text) : [],
    campaigns: operations.has('campaigns') ? await campaignsOf(db, accountId, text) : [],
  };
}

async function messagesOf(db: Db, accountId: number, id: string): Promise<Found['messages']> {
  const record = id === '' ? undefined : await findRecord(db, { accountId }, id);
  if (record === undefined) return [];
  const { channel, destination } = record;
  const acceptedAt = timeOfId(record.id).toISOString();
  return [{ messageId: record.id, channel, destination, deliveryStatus: statusOf(record), acceptedAt }];
}

async function contactsOf(db: Db, accountId: number, text: string): Promise<Found['contacts']> {
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

async function campaignsOf(db: Db, accountId: number, text: string): Promise<Found['campaigns']> {
  if (text === '') return [];
  const byId = CAMPAIGN_ID.test(text) ? await listCampaignById(db, { accountId, id: Number(text) }) : [];
  const named = await listNamedCampaigns(db, { accountId, text, newest: NEWEST_CAMPAIGNS, limit: LIMIT });
  const others = named.filter(({ id }) => byId.every((found) => found.id !== id));
  return [...byId, ...others]
    .slice(0, LIMIT)
    .map(({ id, name, createdAt }) => ({ id, name, createdAt: createdAt.toISOString() }));
}

const NAMED_CAMPAIGN = columns({
  id: as<number>('k.id'),
  name: as<string>('k.name'),
  createdAt: as<Date>('k.created_at'),
});
type NamedCampaign = RowOf<typeof NAMED_CAMPAIGN>;

type Named = { readonly accountId: number; readonly text: string; readonly newest: number; readonly limit: number };

/** Lists campaigns whose name contains a text, in any case, newest first. It looks through the `newest` ones only. */
export const listNamedCampaigns = (db: Db, { accountId, text, newest, limit }: Named): Promise<NamedCampaign[]> =>
  many(
    db,
    sql`SELECT ${NAMED_CAMPAIGN}
        FROM (SELECT id, name, created_at FROM campaign
              WHERE account_id = ${accountId} ORDER BY created_at DESC, id DESC LIMIT ${newest}) AS k
        WHERE fold_text(k.name) LIKE ${containsPattern(text)}
        ORDER BY k.created_at DESC, k.id DESC LIMIT ${limit}`,
  );

/** Lists the campaign with this id: none or one. */
const listCampaignById = (
  db: Db,
  { accountId, id }: { readonly accountId: number; readonly id: number },
): Promise<NamedCampaign[]> =>
  many(db, sql`SELECT ${NAMED_CAMPAIGN} FROM campaign k WHERE k.account_id = ${accountId} AND k.id = ${id}`);
