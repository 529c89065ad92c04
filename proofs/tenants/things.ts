import { randomBytes, randomInt, randomUUID, randomUUIDv7 } from 'node:crypto';
import type { Pool } from 'pg';
import { BULK, type Client, SEND } from '../../test/support/client.ts';
import { agentOf, connectionOf, numberOf } from './networks.ts';

/** The id of a thing, as requests hold it. */
export type Thing = string | number;

/** One of the accounts, with one thing of each kind. */
export type Party = {
  readonly accountId: number;
  /** A word in every text of this account, and in no text of another one. */
  readonly token: string;
  readonly client: Pick<Client, 'request'>;
  readonly pool: Pool;
  readonly things: ReadonlyMap<string, Thing>;
};

/** Makes a thing of a party, and an id of the same form that does not exist. */
type Maker = { make(party: Party): Promise<Thing>; unknown(): Thing };

const PG = '/api/partner-gateway/v1';
const MS = '/api/message-server';
/** Above the ids that the sequences of tables reach. */
const UNKNOWN_ID = 9_000_000_000;
const unknownNumber = (): number => UNKNOWN_ID + randomInt(900_000_000);
const unknownName = (): string => `unknown-${randomBytes(8).toString('hex')}`;

/** Sends a request that must succeed, and returns a field of its response. */
async function create({ client }: Party, path: string, body: unknown, field: string, headers = {}): Promise<Thing> {
  const { status, body: answer } = await client.request('POST', path, { body, headers });
  const value: unknown = typeof answer === 'object' && answer !== null ? Reflect.get(answer, field) : undefined;
  if (status >= 300 || (typeof value !== 'string' && typeof value !== 'number'))
    throw new Error(`POST ${path} returned ${status}: ${JSON.stringify(answer)}`);
  return value;
}

/** Sends a table of contacts to a route of contacts. */
function sendTable(p: Party, route: 'upload' | 'uploads', field: string): Promise<Thing> {
  const headers = { 'content-type': 'multipart/form-data; boundary=end' };
  const part = 'Content-Disposition: form-data; name="file"; filename="contacts.csv"';
  const rows = `phoneNumber,fullName\nnonsense,${randomName(p)}\n`;
  return create(p, `${PG}/contacts/${route}`, `--end\r\n${part}\r\n\r\n${rows}\r\n--end--\r\n`, field, headers);
}

const randomName = ({ token }: Pick<Party, 'token'>): string => `${token}-${randomBytes(6).toString('hex')}`;

/** A scheduled message, which waits and can be cancelled. */
const scheduled = (party: Party) => ({
  destination: '+393331234567',
  sender: party.token.toUpperCase(),
  body: `A text of ${party.token}`,
  scheduledDate: new Date(Date.now() + 3_600_000).toISOString(),
});

/** A new contact with its own phone number: a number belongs to only one contact of an account. */
export const contactOf = (party: Pick<Party, 'token'>) => ({
  phoneNumber: `+39333${String(randomInt(10_000_000)).padStart(7, '0')}`,
  fullName: randomName(party),
});

/** The name of a new custom field. */
export const fieldOf = ({ token }: Pick<Party, 'token'>): string => `${token}_${randomBytes(6).toString('hex')}`;

/** A scheduled campaign, so that it waits after it is confirmed. */
export const campaignOf = (party: Pick<Party, 'token'>) => ({
  name: randomName(party),
  sendingMode: 'SMS',
  smsSender: party.token.toUpperCase(),
  smsBody: `Hi from ${party.token}`,
  destinations: ['+393331234567'],
  readyToSend: true,
  scheduledDate: '2099-01-31T09:00:00Z',
});

/** An endpoint on which nothing listens. */
export const endpointOf = ({ token }: Party) => ({
  url: `https://127.0.0.1:8443/${token}/${randomUUID()}`,
  eventTypes: ['webhook.disabled'],
  name: token,
});
export const serviceOf = ({ token }: Party) => ({ name: `${token} ${randomUUID()}`, brand: token });
/** The secret of hooks of a party: Base64, because one product requires that. */
export const secretOf = ({ token }: Party): string => Buffer.from(`hooks of ${token}`).toString('base64');
/** A mobile number that no other request uses. */
export const numberAtRandom = (): string => `+39333${String(randomBytes(4).readUInt32BE() % 1e7).padStart(7, '0')}`;
export const webhookOf = ({ token }: Party) => ({ callbackUrl: `https://127.0.0.1:8443/${token}` });

const NETWORK_BY_TOKEN = new Map([
  ['quokka', 'google'],
  ['numbat', 'tiktok'],
  ['wombat', 'instagram'],
]);

const clientId: Maker = {
  async make(p) {
    const messageId = randomName(p);
    await create(p, SEND, { ...scheduled(p), messageId }, 'messageId');
    return messageId;
  },
  unknown: unknownName,
};

/** A message without an outcome, on a channel that needs no connection for reading it. */
const messageOn = (channel: 'RCS' | 'WHATSAPP'): Maker => ({
  async make({ pool, accountId, token }) {
    const id = randomUUIDv7();
    await pool.query(
      `INSERT INTO message (account_id, id, channel, source, simulation, sender, destination, body, parts, want_receipt)
       VALUES ($1, $2, $3, 'API', true, $4, '+393331234567', $4, 1, true)`,
      [accountId, id, channel, token],
    );
    return id;
  },
  unknown: () => randomUUIDv7(),
});

/** A template of the party, as its network knows it. */
const whatsappTemplate = (status: 'APPROVED' | 'DELETED', content: readonly object[]): Maker => {
  const newTemplateId = (): string => String(randomInt(5_000_000_000, 9_000_000_000));
  return {
    async make(p) {
      const id = newTemplateId();
      await p.pool.query(
        `INSERT INTO template (channel, id, owner_id, connection_id, name, language, status, content)
         VALUES ('WHATSAPP', $1, $2, $3, $4, 'en', $5, $6)`,
        [id, p.accountId, await connectionOf(p), randomName(p), status, JSON.stringify(content)],
      );
      return id;
    },
    unknown: newTemplateId,
  };
};

/** A GIF of one pixel that is valid UTF-8. */
export const PICTURE = 'GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;';

/** Uploads a small picture; returns its id. */
function uploadPicture(party: Party): Promise<Thing> {
  const headers = { 'content-type': 'multipart/form-data; boundary=end' };
  const file = `Content-Disposition: form-data; name="file"; filename="${randomName(party)}.gif"`;
  return create(party, `${PG}/media`, `--end\r\n${file}\r\n\r\n${PICTURE}\r\n--end--\r\n`, 'id', headers);
}

/** Makers for every kind of thing that an id can name. */
export const MAKERS = {
  key: { make: (p) => create(p, `${PG}/authentication`, { name: randomName(p) }, 'id'), unknown: unknownNumber },
  keyValue: {
    make: (p) => create(p, `${PG}/authentication`, { name: randomName(p) }, 'apiKey'),
    unknown: () => `pg_live_${randomBytes(32).toString('base64url')}`,
  },
  keywordRule: {
    make: (p) => create(p, `${PG}/keyword-rules`, { keyword: randomName(p), answer: randomName(p) }, 'id'),
    unknown: unknownNumber,
  },
  erasure: {
    make: (p) => create(p, `${PG}/privacy/erasures`, { to: numberAtRandom(), dryRun: true }, 'erasureId'),
    unknown: () => randomUUIDv7(),
  },
  optIn: {
    make: (p) => create(p, `${PG}/opt-ins`, { to: numberAtRandom(), mode: 'keyword', text: randomName(p) }, 'optInId'),
    unknown: () => randomUUIDv7(),
  },
  suspectedOptOut: {
    async make({ pool, accountId, token }) {
      const id = randomUUIDv7();
      await pool.query(
        `INSERT INTO suspected_opt_out (account_id, id, phone_number, channel, sender, is_alias)
         VALUES ($1, $2, $3, 'SMS', $4, false)`,
        [accountId, id, `+39333${randomInt(1e6, 9e6)}`, token],
      );
      return id;
    },
    unknown: () => randomUUIDv7(),
  },
  smppCredential: {
    make: (p) => create(p, `${PG}/smpp/credentials`, { name: randomName(p) }, 'id'),
    unknown: unknownNumber,
  },
  message: { make: (p) => create(p, SEND, scheduled(p), 'messageId'), unknown: () => randomUUIDv7() },
  whatsappMessage: messageOn('WHATSAPP'),
  rcsMessage: messageOn('RCS'),
  clientId,
  /** Id for requests that use it up: from then on it is a client id of either account. */
  reusedClientId: clientId,
  globalId: {
    async make(p) {
      const globalId = randomName(p);
      const messages = [{ destinations: ['+393331234567'], sender: p.token, body: `Bulk of ${p.token}` }];
      await create(p, BULK, { globalId, messages }, 'globalId');
      return globalId;
    },
    unknown: unknownName,
  },
  user: {
    async make({ pool, accountId, ...p }) {
      const { rows } = await pool.query<{ id: number }>(
        `INSERT INTO app_user (account_id, username, password_hash, role) VALUES ($1, $2, 'none', 'manager') RETURNING id`,
        [accountId, randomName(p)],
      );
      return rows[0]?.id ?? unknownNumber();
    },
    unknown: unknownNumber,
  },
  invitation: {
    make: (p) => create(p, `${PG}/invitations`, { email: `${randomName(p)}@example.com`, role: 'viewer' }, 'id'),
    unknown: unknownNumber,
  },
  session: {
    async make({ pool, accountId, ...p }) {
      const { rows } = await pool.query<{ id: number }>(
        `WITH person AS (
           INSERT INTO app_user (account_id, username, password_hash, role) VALUES ($1, $2, 'none', 'manager') RETURNING id)
         INSERT INTO user_session (account_id, user_id, token_hash, user_agent) SELECT $1, id, $3, $2 FROM person RETURNING id`,
        [accountId, randomName(p), randomBytes(32)],
      );
      return rows[0]?.id ?? unknownNumber();
    },
    unknown: unknownNumber,
  },
  passkey: {
    async make({ pool, accountId, ...p }) {
      const { rows } = await pool.query<{ id: number }>(
        `WITH person AS (
           INSERT INTO app_user (account_id, username, password_hash, role) VALUES ($1, $2, 'none', 'manager') RETURNING id)
         INSERT INTO passkey (account_id, user_id, credential_id, public_key, sign_count, name)
           SELECT $1, id, $3, $3, 0, $2 FROM person RETURNING id`,
        [accountId, randomName(p), randomBytes(32)],
      );
      return rows[0]?.id ?? unknownNumber();
    },
    unknown: unknownNumber,
  },
  idempotencyKey: {
    async make(p) {
      const key = randomName(p);
      await create(p, `${PG}/authentication`, { name: randomName(p) }, 'id', { 'idempotency-key': key });
      return key;
    },
    unknown: unknownName,
  },
  contact: { make: (p) => create(p, `${PG}/contacts`, contactOf(p), 'id'), unknown: unknownNumber },
  contactList: { make: (p) => create(p, `${PG}/contacts/list`, { name: randomName(p) }, 'id'), unknown: unknownNumber },
  association: {
    async make(p) {
      const contactId = await create(p, `${PG}/contacts`, contactOf(p), 'id');
      const listId = await create(p, `${PG}/contacts/list`, { name: randomName(p) }, 'id');
      await create(p, `${PG}/contacts/list/contacts`, { listIds: [listId], contactIds: [contactId] }, 'created');
      const { rows } = await p.pool.query<{ id: number }>(
        'SELECT id FROM contact_list_member WHERE account_id = $1 AND list_id = $2',
        [p.accountId, listId],
      );
      return rows[0]?.id ?? unknownNumber();
    },
    unknown: unknownNumber,
  },
  customField: {
    make: (p) => create(p, `${PG}/contacts/fields`, { name: fieldOf(p), type: 'text' }, 'id'),
    unknown: unknownNumber,
  },
  phoneNumber: { make: (p) => Promise.resolve(numberOf(p)), unknown: () => `9${randomInt(1e9, 9e9)}` },
  rcsAgent: { make: (p) => Promise.resolve(agentOf(p)), unknown: unknownName },
  whatsappTemplate: whatsappTemplate('APPROVED', [{ type: 'BODY', text: 'Hello' }]),
  /** One that its network no longer has: deleting it sends no request. */
  goneTemplate: whatsappTemplate('DELETED', []),
  rcsTemplate: {
    make: (p) => create(p, `${MS}/rcs/templates`, { name: randomName(p), body: { type: 'TEXT', text: p.token } }, 'id'),
    unknown: () => randomUUIDv7(),
  },
  campaign: {
    async make({ pool, accountId, ...p }) {
      const { rows } = await pool.query<{ id: number }>(
        `INSERT INTO campaign (account_id, name, status, sending_mode) VALUES ($1, $2, 0, 'SMS') RETURNING id`,
        [accountId, randomName(p)],
      );
      return rows[0]?.id ?? unknownNumber();
    },
    unknown: unknownNumber,
  },
  /** Ready to be confirmed. */
  pricedCampaign: {
    async make(p) {
      const id = await create(p, `${PG}/campaigns`, campaignOf(p), 'id');
      return create(p, `${PG}/campaigns/${id}/calculateGoal`, undefined, 'id');
    },
    unknown: unknownNumber,
  },
  /** Confirmed, and waiting for its time. */
  scheduledCampaign: {
    async make(p) {
      const id = await create(p, `${PG}/campaigns`, campaignOf(p), 'id');
      await create(p, `${PG}/campaigns/${id}/calculateGoal`, undefined, 'id');
      const { status } = await p.client.request('PUT', `${PG}/campaigns/${id}/confirm`);
      if (status !== 202) throw new Error(`confirming campaign ${id} returned ${status}`);
      return id;
    },
    unknown: unknownNumber,
  },
  campaignDraft: {
    async make(p) {
      const id = randomUUIDv7();
      const body = { version: 0, name: randomName(p), content: { smsBody: p.token } };
      const { status } = await p.client.request('PUT', `${PG}/campaign-drafts/${id}`, { body });
      if (status !== 200) throw new Error(`saving draft ${id} returned ${status}`);
      return id;
    },
    unknown: () => randomUUIDv7(),
  },
  sendingCampaign: {
    async make({ pool, accountId, ...p }) {
      const { rows } = await pool.query<{ id: number }>(
        `INSERT INTO campaign (account_id, name, status, sending_mode, confirmed_at, paused_at)
         VALUES ($1, $2, 2, 'SMS', now(), now()) RETURNING id`,
        [accountId, randomName(p)],
      );
      return rows[0]?.id ?? unknownNumber();
    },
    unknown: unknownNumber,
  },
  testList: {
    async make(p) {
      const contactId = await create(p, `${PG}/contacts`, contactOf(p), 'id');
      const listId = await create(p, `${PG}/contacts/list`, { name: randomName(p), isTest: true }, 'id');
      await create(p, `${PG}/contacts/list/contacts`, { listIds: [listId], contactIds: [contactId] }, 'created');
      return listId;
    },
    unknown: unknownNumber,
  },
  conversation: {
    async make({ pool, accountId, ...p }) {
      const chatId = randomUUIDv7();
      const peer = randomName(p);
      await pool.query(
        `INSERT INTO conversation (account_id, chat_id, channel, peer, identity, unread, last_direction, last_type, last_text, last_at)
         VALUES ($1, $2, 'SMS', $3, '4400', 1, 'INBOUND', 'TEXT', $4, now())`,
        [accountId, chatId, peer, p.token],
      );
      await pool.query(
        `INSERT INTO inbox_message (account_id, chat_id, id, direction, message_type, text, at)
         VALUES ($1, $2, $3, 'INBOUND', 'TEXT', $4, now())`,
        [accountId, chatId, randomUUIDv7(), p.token],
      );
      await pool.query(
        `INSERT INTO inbox_count (account_id, archived, channel, unread, conversations) VALUES ($1, false, 'SMS', true, 1)
         ON CONFLICT (account_id, archived, channel, unread) DO UPDATE SET conversations = inbox_count.conversations + 1`,
        [accountId],
      );
      return chatId;
    },
    unknown: () => randomUUIDv7(),
  },
  /** A note about the conversation that was made before. */
  inboxNote: {
    async make({ pool, accountId, token, things }) {
      const id = randomUUIDv7();
      await pool.query(`INSERT INTO inbox_note (account_id, chat_id, id, author, text) VALUES ($1, $2, $3, $4, $4)`, [
        accountId,
        things.get('conversation') ?? randomUUIDv7(),
        id,
        token,
      ]);
      return id;
    },
    unknown: () => randomUUIDv7(),
  },
  inboxLabel: {
    make: (p) => create(p, `${PG}/inbox/labels`, { name: randomName(p), color: 'blue' }, 'id'),
    unknown: unknownNumber,
  },
  cannedAnswer: {
    make: (p) => create(p, `${PG}/inbox/canned-answers`, { shortcut: randomUUID(), text: randomName(p) }, 'id'),
    unknown: unknownNumber,
  },
  /** One that can be requested again. */
  export: {
    async make({ pool, accountId, token }) {
      const id = randomUUIDv7();
      await pool.query(
        `INSERT INTO export (account_id, id, type, format, status, filters, failure)
         VALUES ($1, $2, 'CONTACTS', 'csv', 'FAILED', '{}', $3)`,
        [accountId, id, token],
      );
      return id;
    },
    unknown: () => randomUUIDv7(),
  },
  webhookEvent: {
    async make({ pool, accountId, token }) {
      const id = randomUUIDv7();
      await pool.query(
        `INSERT INTO webhook_delivery (account_id, id, message_id, kind, at, state, attempts, failure)
         VALUES ($1, $2, $3, 'READ', now(), 'DEAD', 11, $4)`,
        [accountId, id, randomUUIDv7(), `as ${token} said`],
      );
      return id;
    },
    unknown: () => randomUUIDv7(),
  },
  endpoint: { make: (p) => create(p, `${PG}/webhooks/endpoints`, endpointOf(p), 'id'), unknown: unknownNumber },
  verifyService: { make: (p) => create(p, `${PG}/verify/services`, serviceOf(p), 'id'), unknown: () => randomUUIDv7() },
  /** Sends the codes of an identity product. */
  hookedService: {
    async make(p) {
      const id = await create(p, `${PG}/verify/services`, { ...serviceOf(p), codeMode: 'provided' }, 'id');
      const body = { secret: secretOf(p) };
      const { status } = await p.client.request('PUT', `${PG}/verify/services/${id}/hook-secret`, { body });
      if (status >= 300) throw new Error(`setting the secret of service ${id} returned ${status}`);
      return id;
    },
    unknown: () => randomUUIDv7(),
  },
  verification: {
    async make(p) {
      const serviceId = await create(p, `${PG}/verify/services`, serviceOf(p), 'id');
      return create(p, `${PG}/verifications`, { serviceId, to: numberAtRandom() }, 'id');
    },
    unknown: () => randomUUIDv7(),
  },
  verifyRange: { make: async () => numberAtRandom().slice(0, 9), unknown: () => numberAtRandom().slice(0, 9) },
  endpointEvent: {
    async make({ pool, accountId, token }) {
      const id = randomUUIDv7();
      await pool.query(
        `INSERT INTO webhook_delivery (account_id, id, message_id, kind, at, state, attempts, failure, endpoint)
         SELECT $1, $2, $3, 'READ', now(), 'DEAD', 11, $4, coalesce(max(ref), 0) FROM webhook_endpoint WHERE account_id = $1`,
        [accountId, id, randomUUIDv7(), `as ${token} said`],
      );
      return id;
    },
    unknown: () => randomUUIDv7(),
  },
  contactImport: { make: (p) => sendTable(p, 'upload', 'importId'), unknown: unknownNumber },
  contactUpload: { make: (p) => sendTable(p, 'uploads', 'uploadId'), unknown: unknownNumber },
  media: { make: uploadPicture, unknown: unknownNumber },
  mediaKey: {
    async make(p) {
      const { rows } = await p.pool.query<{ key: string }>('SELECT media_key AS key FROM media WHERE id = $1', [
        await uploadPicture(p),
      ]);
      return rows[0]?.key ?? '';
    },
    unknown: () => randomBytes(16).toString('base64url'),
  },
  /** Each account has its own social network, which is part of its profile's id. */
  socialProfile: {
    async make({ pool, accountId, token }) {
      const platform = NETWORK_BY_TOKEN.get(token) ?? 'facebook';
      await pool.query(
        `INSERT INTO social_profile (account_id, platform, external_id, profile_name, scopes, linked, tokens, picture)
         VALUES ($1, $2, $3, $3, '{}', '[]', '\\x00', '\\xffd8') ON CONFLICT DO NOTHING`,
        [accountId, platform, token],
      );
      return platform;
    },
    // A network without connections: the response for one that does not exist has another text.
    unknown: () => 'linkedin',
  },
  /** Belongs to no account: every account may connect to it. */
  socialNetwork: { make: () => Promise.resolve('linkedin'), unknown: () => 'linkedin' },
  mailDomain: {
    async make(p) {
      const [of, domain] = [p.accountId, `${randomName(p)}.example.com`];
      await p.pool.query(
        `INSERT INTO single_sign_on (account_id, short_name, issuer, client_id, scopes)
         VALUES ($1, $2, 'https://127.0.0.1:8443', $2, '{openid}') ON CONFLICT DO NOTHING`,
        [of, p.token],
      );
      await p.pool.query('INSERT INTO single_sign_on_claim (account_id, domain) VALUES ($1, $2)', [of, domain]);
      return domain;
    },
    unknown: () => `${unknownName()}.example.com`,
  },
  webhook: { make: (p) => create(p, `${PG}/webhooks/delivery-status`, webhookOf(p), 'id'), unknown: unknownNumber },
} as const satisfies Readonly<Record<string, Maker>>;

export type ThingName = keyof typeof MAKERS;
/** Ids that a client chooses: a valid request with one that is in use is already a conflict. */
export const CHOSEN_THINGS: ReadonlySet<ThingName> = new Set(['reusedClientId', 'globalId', 'idempotencyKey']);
/** Things of which an account has only one: routes reach them without an id. */
export const SINGLE_THINGS: readonly ThingName[] = ['webhook'];
/** The kinds of things, by name. */
export const THING_NAMES = Object.keys(MAKERS) as readonly ThingName[];
