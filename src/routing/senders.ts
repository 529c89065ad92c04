import { type Static, Type } from 'typebox';
import { recordAudit } from '../accounts/audit.ts';
import type { Actor } from '../core/actor.ts';
import type { SenderChannel } from '../core/channels.ts';
import { bigint, json, rowsOf, text } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import {
  type App,
  offsetOf,
  PageOf,
  PageQuery,
  type PageRequest,
  type PlatformDeps,
  pageOf,
  withExamples,
} from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { orNull } from '../core/schema.ts';
import type { FactData } from '../webhooks/fact-types.ts';
import { publishFacts } from '../webhooks/outbox.ts';
import { listLimitUses } from './messaging-limits.ts';

const Text = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description });
const Url = (description: string) =>
  Type.String({ pattern: '^https://[^\\s]{1,2040}$', description, 'x-message': 'must be an https URL' });

const common = Type.Boolean({ description: 'Shared by all accounts.' });
const createdAt = Type.String({ format: 'date-time' });

const PhoneNumberOut = Type.Object({
  phoneNumberId: Type.String({ description: "The network's id, for `phoneNumberId` of sends and campaigns." }),
  displayPhoneNumber: orNull(Type.String({ description: 'The number that people see.' })),
  verifiedName: Type.String(),
  qualityRating: Type.String({ description: 'GREEN, YELLOW, RED or UNKNOWN, as last reported by the network.' }),
  messagingLimit: orNull(
    Type.Object(
      {
        people: orNull(Type.Integer({ description: 'Null: any number.' })),
        used: Type.Integer({ description: 'Those of the last 24 hours.' }),
      },
      {
        description:
          'The people to whom the business portfolio of the number may write first within 24 hours, over all its numbers. ' +
          'Null: not known.',
      },
    ),
  ),
  common,
  createdAt,
});

/** Data of an agent that an account requests (RBM API, agents). */
const AgentIn = Type.Object({
  displayName: Text(100, 'The name that people see above its messages.'),
  description: Type.Optional(Text(100, 'Shown below the name.')),
  color: Type.Optional(Type.String({ pattern: '^#[0-9A-Fa-f]{6}$', 'x-message': 'must be a colour such as #0057B8' })),
  logoUrl: Type.Optional(Url('A square image of at most 50 kB.')),
  heroUrl: Type.Optional(Url('The image at the top, at most 200 kB.')),
  phoneNumbers: Type.Optional(Type.Array(Text(20, 'E.164.'), { maxItems: 3 })),
  emails: Type.Optional(Type.Array(Text(320, 'An email address.'), { maxItems: 3 })),
  websites: Type.Optional(Type.Array(Url('A website.'), { maxItems: 3 })),
  privacyUrl: Type.Optional(Url('The privacy policy.')),
  termsUrl: Type.Optional(Url('The terms of use.')),
  useCase: Type.Optional(
    Type.Enum(['OTP', 'TRANSACTIONAL', 'PROMOTIONAL', 'MULTI_USE'], {
      type: 'string',
      description: 'The purpose of the agent.',
    }),
  ),
});
type AgentIn = Static<typeof AgentIn>;

const AgentOut = Type.Object({
  id: Type.Integer(),
  agentId: orNull(Type.String({ description: 'For `agentId` of sends and campaigns; null while PENDING.' })),
  displayName: Type.String(),
  status: Type.Enum(['PENDING', 'LAUNCHED'], {
    type: 'string',
    description: 'PENDING until the operator has registered it with the network.',
  }),
  common,
  details: Type.Object({}, { additionalProperties: true, description: 'The other fields of the request.' }),
  createdAt,
});

const textOf = (details: Record<string, unknown>, name: string): string | null => {
  const value = details[name];
  return typeof value === 'string' ? value : null;
};

type NumberLimits = ReadonlyMap<string, { readonly people: number | null; readonly used: number }>;

const toPhoneNumberOut = ({ identity, name, ownerId, details, createdAt: at }: Sender, limits: NumberLimits) => ({
  phoneNumberId: identity ?? '',
  messagingLimit: limits.get(identity ?? '') ?? null,
  displayPhoneNumber: textOf(details, 'displayNumber'),
  verifiedName: name,
  qualityRating: textOf(details, 'quality') ?? 'UNKNOWN',
  common: ownerId === null,
  createdAt: at.toISOString(),
});

const toAgentOut = ({ id, identity, name, ownerId, details, createdAt: at }: Sender) => ({
  id,
  agentId: identity,
  displayName: name,
  status: identity === null ? ('PENDING' as const) : ('LAUNCHED' as const),
  common: ownerId === null,
  details,
  createdAt: at.toISOString(),
});

const MS = '/api/message-server';

/** Registers the routes of the senders that an account may use on WhatsApp and RCS. */
export function senderRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;

  app.get(`${MS}/whatsapp/phone-numbers`, {
    onRequest: requireScope('WHATSAPP'),
    schema: {
      tags: ['WhatsApp'],
      operationId: 'listWhatsappPhoneNumbers',
      summary: 'List the phone numbers for WhatsApp',
      querystring: PageQuery,
      response: { 200: PageOf(PhoneNumberOut) },
    },
    handler: async ({ actor, query }) => {
      const db = tenant(pool, actor);
      const { data, ...page } = await answerPage(db, { ...actor, channel: 'WHATSAPP' }, query, (sender) => sender);
      const uses = await listLimitUses(
        db,
        data.flatMap(({ identity }) => identity ?? []),
      );
      const limits = new Map(uses.map(({ phoneNumberId, ...use }) => [phoneNumberId, use]));
      return { ...page, data: data.map((sender) => toPhoneNumberOut(sender, limits)) };
    },
  });

  app.get(`${MS}/rcs/agents`, {
    onRequest: requireScope('RCS'),
    schema: {
      tags: ['RCS'],
      operationId: 'listRcsAgents',
      summary: 'List the agents for RCS, including requested ones',
      querystring: PageQuery,
      response: { 200: PageOf(AgentOut) },
    },
    handler: ({ actor, query }) => answerPage(tenant(pool, actor), { ...actor, channel: 'RCS' }, query, toAgentOut),
  });

  app.post(`${MS}/rcs/agents`, {
    onRequest: requireScope('RCS'),
    schema: {
      tags: ['RCS'],
      operationId: 'requestRcsAgent',
      summary: 'Request an agent',
      description:
        'The operator registers it with the network, which verifies the brand and launches the agent; until then it is ' +
        'PENDING, has no `agentId` and cannot send.',
      body: withExamples(AgentIn, {
        displayName: 'Acme',
        description: 'Parcels and returns',
        color: '#0057B8',
        useCase: 'TRANSACTIONAL',
      }),
      response: { 201: AgentOut },
    },
    handler: idempotentTx(deps, 201, async ({ actor, body }, tx) => toAgentOut(await requestAgent(tx, actor, body))),
  });
}

async function answerPage<T>(
  db: Db,
  { accountId, channel }: { accountId: number; channel: SenderChannel },
  query: PageRequest,
  toOut: (sender: Sender) => T,
) {
  const usable = { accountId, channel };
  const [rows, total] = await Promise.all([
    listUsableSenders(db, usable, { limit: query.limit, offset: offsetOf(query) }),
    countUsableSenders(db, usable),
  ]);
  return pageOf(query, rows.map(toOut), total);
}

const SENDER = columns({
  id: as<number>('s.id'),
  channel: as<SenderChannel>('s.channel'),
  /** WhatsApp: the phone number id. RCS: the agent id. Null while the agent is only requested. */
  identity: as<string | null>('s.identity'),
  connectionId: as<number | null>('s.connection_id'),
  /** Null: shared by all accounts. */
  ownerId: as<number | null>('s.owner_id'),
  name: as<string>('s.name'),
  details: as<Record<string, unknown>>('s.details'),
  createdAt: as<Date>('s.created_at'),
});
export type Sender = RowOf<typeof SENDER>;

const REGISTERED = columns({
  channel: as<SenderChannel>('channel'),
  identity: as<string>('identity'),
  connectionId: as<number>('connection_id'),
  ownerId: as<number | null>('owner_id'),
});

/** Lists all senders that messages can be sent as, for the router. */
export async function listRegisteredSenders(db: Db): Promise<RowOf<typeof REGISTERED>[]> {
  return many(db, sql`SELECT ${REGISTERED} FROM sender WHERE identity IS NOT NULL`);
}

type Usable = { accountId: number; channel: SenderChannel };

const isUsable = ({ accountId, channel }: Usable) =>
  sql`s.channel = ${channel} AND (s.owner_id = ${accountId} OR s.owner_id IS NULL)`;

/** Lists a page of the senders that an account may use, its own and the shared ones, the oldest first. */
export async function listUsableSenders(
  db: Db,
  usable: Usable,
  { limit, offset }: { limit: number; offset: number },
): Promise<Sender[]> {
  return many(
    db,
    sql`SELECT ${SENDER} FROM sender s WHERE ${isUsable(usable)} ORDER BY s.id LIMIT ${limit} OFFSET ${offset}`,
  );
}

export async function countUsableSenders(db: Db, usable: Usable): Promise<number> {
  const row = await one<{ count: number }>(db, sql`SELECT count(*) AS count FROM sender s WHERE ${isUsable(usable)}`);
  return row.count;
}

const USABLE_SENDER = columns({
  identity: as<string>('s.identity'),
  name: as<string>('s.name'),
  connectionId: as<number>('s.connection_id'),
  /** The number as people see it, where the identity is an id (WhatsApp). */
  displayNumber: as<string | null>(`s.details ->> 'displayNumber'`),
});
export type UsableSender = RowOf<typeof USABLE_SENDER>;

/** Finds a sender that the account may use: its own, or a shared one. */
export async function findUsableSender(
  db: Db,
  { accountId, channel, identity }: { accountId: number; channel: SenderChannel; identity: string },
): Promise<UsableSender | undefined> {
  return maybeOne(
    db,
    sql`SELECT ${USABLE_SENDER} FROM sender s
        WHERE ${isUsable({ accountId, channel })} AND s.identity = ${identity}`,
  );
}

/**
 * Locks out other changes of senders until the transaction ends: the owner of a connection follows from several rows.
 */
export async function claimSenders(db: Db): Promise<void> {
  await exec(db, sql`SELECT pg_advisory_xact_lock(724909, 0)`);
}

export type NewSender = {
  readonly channel: SenderChannel;
  readonly identity: string;
  readonly connectionId: number;
  readonly ownerId: number | null;
  readonly name: string;
};

/** Inserts a sender, or moves one that exists to another connection or owner. */
export async function insertSender(db: Db, s: NewSender): Promise<{ id: number }> {
  return one(
    db,
    sql`INSERT INTO sender (channel, identity, connection_id, owner_id, name)
        VALUES (${s.channel}, ${s.identity}, ${s.connectionId}, ${s.ownerId}, ${s.name})
        ON CONFLICT (channel, identity) DO UPDATE SET connection_id = excluded.connection_id,
          owner_id = excluded.owner_id, name = coalesce(nullif(excluded.name, ''), sender.name)
        RETURNING id`,
  );
}

/** Inserts a requested agent: it has no identity until the operator has registered it with the network. */
export async function insertRequestedSender(
  db: Db,
  s: { accountId: number; channel: SenderChannel; name: string; details: object },
): Promise<Sender> {
  return one(
    db,
    sql`INSERT INTO sender AS s (channel, owner_id, name, details)
        VALUES (${s.channel}, ${s.accountId}, ${s.name}, ${JSON.stringify(s.details)}::jsonb) RETURNING ${SENDER}`,
  );
}

/** Gives a requested agent its identity and returns its owner; undefined when no agent with this id waits for one. */
export async function moveSenderToRegistered(
  db: Db,
  { id, identity, connectionId }: { id: number; identity: string; connectionId: number },
): Promise<{ ownerId: number } | undefined> {
  return maybeOne(
    db,
    sql`UPDATE sender SET identity = ${identity}, connection_id = ${connectionId}
        WHERE id = ${id} AND channel = 'RCS' AND identity IS NULL RETURNING owner_id AS "ownerId"`,
  );
}

type Reported = { readonly identity: string; readonly name: string; readonly details: { readonly quality?: string } };

/**
 * Stores the network's report about its phone numbers, and publishes their quality if it has changed; numbers that are
 * not registered here are ignored. Returns how many have changed. Call it in a transaction.
 */
export async function updateSenderDetails(
  tx: Db,
  { connectionId, senders }: { readonly connectionId: number; readonly senders: readonly Reported[] },
): Promise<number> {
  const changed = await many<FactData<'sender.quality'> & { readonly accountId: number | null }>(
    tx,
    sql`UPDATE sender s SET name = u.name, details = u.details::jsonb
        FROM ${rowsOf(senders, {
          identity: text((r) => r.identity),
          name: text((r) => r.name),
          details: json((r) => JSON.stringify(r.details)),
        })} AS u
        JOIN sender b ON b.connection_id = ${connectionId} AND b.identity = u.identity
        WHERE s.id = b.id AND (s.name, s.details) IS DISTINCT FROM (u.name, u.details::jsonb)
        RETURNING s.owner_id AS "accountId", s.identity AS "phoneNumberId", s.details ->> 'quality' AS quality,
          b.details ->> 'quality' AS "oldQuality"`,
  );
  await publishFacts(
    tx,
    changed.flatMap(({ accountId, ...data }) =>
      accountId === null || !data.oldQuality || !data.quality || data.quality === data.oldQuality
        ? []
        : [{ accountId, type: 'sender.quality' as const, about: data.phoneNumberId, data }],
    ),
  );
  return changed.length;
}

/** Deletes a sender and returns it; undefined when there is none. */
export async function deleteSender(
  db: Db,
  { channel, identity }: { channel: SenderChannel; identity: string },
): Promise<Sender | undefined> {
  return maybeOne(
    db,
    sql`DELETE FROM sender s WHERE s.channel = ${channel} AND s.identity = ${identity} RETURNING ${SENDER}`,
  );
}

/** Deletes all senders of a connection; returns their number. */
export async function deleteSendersOf(db: Db, { connectionId }: { connectionId: number }): Promise<number> {
  return exec(db, sql`DELETE FROM sender WHERE connection_id = ${connectionId}`);
}

const OWNER = columns({
  connectionId: as<number>('s.connection_id'),
  ownerId: as<number | null>('s.owner_id'),
});

/**
 * Lists the owners of the senders of each of these connections: an account, or null for shared senders. Connections
 * without senders are missing.
 */
export async function listOwnersOfConnections(
  db: Db,
  { connectionIds }: { connectionIds: readonly number[] },
): Promise<RowOf<typeof OWNER>[]> {
  return many(
    db,
    sql`SELECT DISTINCT ${OWNER}
        FROM ${rowsOf(connectionIds, { id: bigint((id) => id) })} AS u JOIN sender s ON s.connection_id = u.id
        ORDER BY 1, 2`,
  );
}

const SENDER_NAMES = columns({
  connection: as<string | null>('c.name'),
  account: as<string | null>('a.name'),
});

/** Lists all senders with the names of their connections and accounts, for the operator. */
export async function listSenders(db: Db): Promise<(Sender & RowOf<typeof SENDER_NAMES>)[]> {
  return many(
    db,
    sql`SELECT ${SENDER}, ${SENDER_NAMES}
        FROM sender s LEFT JOIN connection c ON c.id = s.connection_id LEFT JOIN account a ON a.id = s.owner_id
        ORDER BY s.id`,
  );
}

const DETAILS = new Set(Object.keys(AgentIn.properties).filter((field) => field !== 'displayName'));

/**
 * Stores an account's request for an RCS agent, in the caller's transaction. The operator registers the agent with the
 * network and gives it its id (`sender register`); until then it cannot send.
 */
async function requestAgent(tx: Db, actor: Actor, wanted: AgentIn): Promise<Sender> {
  const { accountId } = actor;
  const { displayName } = wanted;
  const details = Object.fromEntries(Object.entries(wanted).filter(([field]) => DETAILS.has(field)));
  const agent = await insertRequestedSender(tx, { accountId, channel: 'RCS', name: displayName, details });
  await recordAudit(tx, actor, { action: 'agent.request', subject: `agent:${agent.id}`, detail: { displayName } });
  return agent;
}
