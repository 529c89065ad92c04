import { Type } from 'typebox';
import {
  accountIdField,
  connectionField,
  Done,
  IdParams,
  OPERATOR_PATH,
  operatorNameOf,
  searchField,
} from '../accounts/operator-fields.ts';
import type { Channel, RichChannel, SenderChannel } from '../core/channels.ts';
import {
  as,
  columns,
  containsPattern,
  type Db,
  maybeOne,
  pageRows,
  type Paging,
  type RowOf,
  sql,
} from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { answerPage, type App, pageFields, PageOf, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { idempotentGlobal } from '../core/http/idempotency.ts';
import { instant, orNull } from '../core/schema.ts';
import { assignNumber, removeNumber } from '../messages/inbound-store.ts';
import { connectionNamed } from '../routing/connection-store.ts';
import { assignSenderIn, registerAgent, removeSender, senderChannelOf } from '../templates/assignments.ts';
import { requireAccount } from './accounts.ts';

const NetworkChannel = Type.Enum(['WHATSAPP', 'RCS'], { type: 'string' });
const owner = {
  accountId: orNull(Type.Integer({ description: 'The account that it belongs to; null: all accounts.' })),
  account: orNull(Type.String({ description: 'The name of that account.' })),
};
const Connection = Type.String({ minLength: 1, maxLength: 63, description: 'The name of a connection.' });
const Identity = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'The id at the network: a phone number id of WhatsApp or an agent id of RCS.',
});
const InboundNumber = Type.String({
  minLength: 1,
  maxLength: 21,
  description: 'The number as the carrier writes it, or `*` for all other numbers of the connection.',
});

const senderFilter = {
  channel: Type.Optional(NetworkChannel),
  search: searchField('A part of the name or of the id.'),
};

const SenderOut = Type.Object({
  id: Type.Integer(),
  channel: NetworkChannel,
  identity: orNull(Type.String({ description: 'Null: an agent that is requested, but not registered yet.' })),
  name: Type.String({ description: 'The name that people see.' }),
  connection: orNull(Type.String()),
  ...owner,
  details: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Data from the network about the sender, or from the account with its request.',
  }),
  createdAt: instant('UTC'),
});

const SenderIn = Type.Object({
  identity: Identity,
  connection: Connection,
  accountId: orNull(accountIdField),
  name: Type.Optional(Type.String({ maxLength: 200, description: 'The name that people see.' })),
});

const Registration = Type.Object({ identity: Identity, connection: Connection });

const numberFilter = { connection: connectionField };
const NumberOut = Type.Object({
  number: Type.String({ description: '`*`: all other numbers of the connection.' }),
  connection: Type.String(),
  accountId: Type.Integer(),
  account: Type.String(),
  createdAt: instant('UTC'),
});
const NumberIn = Type.Object({ number: InboundNumber, connection: Connection, accountId: accountIdField });
const AssignedNumber = Type.Object({
  number: Type.String(),
  connection: Type.String(),
  accountId: Type.Integer(),
});
const NumberQuery = Type.Object({ number: InboundNumber, connection: Connection });

const templateFilter = {
  channel: Type.Optional(NetworkChannel),
  status: Type.Optional(Type.String({ maxLength: 40, description: 'The status at the network, such as REJECTED.' })),
  search: searchField('A part of the name.'),
};
const TemplateOut = Type.Object({
  id: Type.String(),
  channel: NetworkChannel,
  name: Type.String(),
  language: Type.String(),
  category: Type.String(),
  status: Type.String(),
  reason: orNull(Type.String()),
  connection: orNull(Type.String()),
  ...owner,
  updatedAt: instant('UTC'),
});

const toSender = ({ createdAt, ...row }: SenderRow) => ({ ...row, createdAt: createdAt.toISOString() });
const toNumber = ({ createdAt, ...row }: NumberRow) => ({ ...row, createdAt: createdAt.toISOString() });
const toTemplate = ({ updatedAt, ...row }: TemplateRow) => ({ ...row, updatedAt: updatedAt.toISOString() });

/** Finds a sender. Errors: 404. */
async function requireSender(db: Db, { id }: { readonly id: number }): Promise<SenderRow> {
  const sender = await findSender(db, { id });
  if (!sender) throw new AppError('not_found', { message: `There is no sender ${id}` });
  return sender;
}

type Assignment = {
  readonly identity: string;
  readonly connection: string;
  /** Null: all accounts. */
  readonly accountId: number | null;
  readonly name: string;
};

/**
 * Assigns a phone number or an agent to an account, or to all accounts. Call it in a transaction. Errors: 400, 404, 409 as
 * `assignSender`.
 */
async function assignSenderTo(
  tx: Db,
  by: string,
  { accountId, connection, ...sender }: Assignment,
): Promise<SenderRow> {
  const link = await findLink(tx, connection);
  if (accountId !== null) await requireAccount(tx, { id: accountId });
  return requireSender(tx, await assignSenderIn(tx, by, { ...sender, ...link, ownerId: accountId }));
}

/**
 * Gives a requested agent the id under which the network knows it. Call it in a transaction. Errors: 400, 404, 409 as
 * `registerAgent`.
 */
async function registerRequestedAgent(
  tx: Db,
  by: string,
  { id, identity, connection }: { readonly id: number; readonly identity: string; readonly connection: string },
): Promise<SenderRow> {
  const { connectionId, channel } = await findLink(tx, connection);
  if (channel !== 'RCS') throw invalidFields([{ field: 'connection', message: 'must be a connection to RCS' }]);
  await registerAgent(tx, by, { id, identity, connectionId });
  return requireSender(tx, { id });
}

/**
 * Removes a sender, so that nothing can be sent as it. Call it in a transaction. Errors: 404; 409 for an agent that is not
 * registered yet.
 */
async function removeSenderById(tx: Db, by: string, { id }: { readonly id: number }): Promise<void> {
  const { channel, identity } = await requireSender(tx, { id });
  if (identity === null) throw new AppError('conflict', { message: 'The agent is not registered yet' });
  await removeSender(tx, by, { channel, identity });
}

async function findLink(tx: Db, name: string): Promise<{ connectionId: number; channel: SenderChannel }> {
  const connection = await connectionNamed(tx, name);
  const channel = senderChannelOf(connection);
  if (!channel) throw invalidFields([{ field: 'connection', message: 'must be a connection to WhatsApp or RCS' }]);
  return { connectionId: connection.id, channel };
}

const SENDER = columns({
  id: as<number>('s.id'),
  channel: as<SenderChannel>('s.channel'),
  /** Null for an agent that was requested and is not registered yet. */
  identity: as<string | null>('s.identity'),
  name: as<string>('s.name'),
  connection: as<string | null>('c.name'),
  /** Null for a sender of all accounts. */
  accountId: as<number | null>('s.owner_id'),
  account: as<string | null>('a.name'),
  details: as<Record<string, unknown>>('s.details'),
  createdAt: as<Date>('s.created_at'),
});
type SenderRow = RowOf<typeof SENDER>;
const SENDER_ROWS = sql`sender s LEFT JOIN connection c ON c.id = s.connection_id LEFT JOIN account a ON a.id = s.owner_id`;

type Filter = Paging & { readonly channel?: Channel | null; readonly search?: string | null };

/** Reads a page of senders; agents that wait to be registered come first. */
const listSenders = (db: Db, { channel = null, search = null, ...page }: Filter) =>
  pageRows(
    db,
    {
      columns: SENDER,
      from: sql`FROM ${SENDER_ROWS}
        WHERE (${channel}::text IS NULL OR s.channel = ${channel})
          AND (${search}::text IS NULL OR fold_text(s.name) LIKE ${containsPattern(search ?? '')}
            OR fold_text(s.identity) LIKE ${containsPattern(search ?? '')})`,
      order: sql`s.identity IS NOT NULL, s.id`,
    },
    page,
  );

async function findSender(db: Db, { id }: { id: number }): Promise<SenderRow | undefined> {
  return maybeOne(db, sql`SELECT ${SENDER} FROM ${SENDER_ROWS} WHERE s.id = ${id}`);
}

const NUMBER = columns({
  number: as<string>('n.number'),
  connection: as<string>('c.name'),
  accountId: as<number>('n.account_id'),
  account: as<string>('a.name'),
  createdAt: as<Date>('n.created_at'),
});
type NumberRow = RowOf<typeof NUMBER>;

const listNumbers = (db: Db, { connection = null, ...page }: Paging & { readonly connection?: string | null }) =>
  pageRows(
    db,
    {
      columns: NUMBER,
      from: sql`FROM inbound_number n JOIN connection c ON c.id = n.connection_id JOIN account a ON a.id = n.account_id
        WHERE ${connection}::text IS NULL OR c.name = ${connection}`,
      order: sql`c.name, n.number`,
    },
    page,
  );

const TEMPLATE = columns({
  id: as<string>('t.id'),
  channel: as<RichChannel>('t.channel'),
  name: as<string>('t.name'),
  language: as<string>('t.language'),
  category: as<string>('t.category'),
  status: as<string>('t.status'),
  reason: as<string | null>('t.reason'),
  connection: as<string | null>('c.name'),
  /** Null for a template of all accounts. */
  accountId: as<number | null>('t.owner_id'),
  account: as<string | null>('a.name'),
  updatedAt: as<Date>('t.updated_at'),
});
type TemplateRow = RowOf<typeof TEMPLATE>;

/** Reads a page of templates, most recently changed first. */
const listTemplates = (
  db: Db,
  { channel = null, status = null, search = null, ...page }: Filter & { readonly status?: string | null },
) =>
  pageRows(
    db,
    {
      columns: TEMPLATE,
      from: sql`FROM template t LEFT JOIN connection c ON c.id = t.connection_id LEFT JOIN account a ON a.id = t.owner_id
        WHERE (${channel}::text IS NULL OR t.channel = ${channel}) AND (${status}::text IS NULL OR t.status = ${status})
          AND (${search}::text IS NULL OR fold_text(t.name) LIKE ${containsPattern(search ?? '')})`,
      order: sql`t.updated_at DESC, t.channel, t.id`,
    },
    page,
  );

const tags = ['Operator: senders'];
const SENDERS = `${OPERATOR_PATH}/senders`;
const NUMBERS = `${OPERATOR_PATH}/numbers`;

const SenderQuery = Type.Object({ ...pageFields, ...senderFilter });
const NumbersQuery = Type.Object({ ...pageFields, ...numberFilter });
const TemplateQuery = Type.Object({ ...pageFields, ...templateFilter });

/**
 * Registers the routes for senders, inbound numbers and templates. Running programs follow every change immediately.
 */
export function operatorSenderRoutes(app: App, deps: PlatformDeps): void {
  senderRoutes(app, deps);
  numberRoutes(app, deps);
  templateRoutes(app, deps);
}

function senderRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(SENDERS, {
    onRequest,
    config: { command: 'sender list' },
    schema: {
      tags,
      operationId: 'operatorListSenders',
      summary: 'List WhatsApp numbers and RCS agents',
      description: 'Agents that wait to be registered come first.',
      querystring: SenderQuery,
      response: { 200: PageOf(SenderOut) },
    },
    handler: ({ query }) => answerPage(query, listSenders(pool, query), toSender),
  });

  app.post(SENDERS, {
    onRequest,
    config: { command: 'sender assign' },
    schema: {
      tags,
      operationId: 'operatorAssignSender',
      summary: 'Assign a phone number or an agent to an account',
      description:
        'With `accountId` null it is shared by all accounts. Assigning it again moves it to another account. The numbers of ' +
        'one WhatsApp connection share its templates, so they must all belong to one account or all be shared; otherwise ' +
        'the response is 409.',
      body: withExamples(SenderIn, {
        identity: 'acme-offers',
        connection: 'sandbox-rcs',
        accountId: 1,
        name: 'Acme',
      }),
      response: { 201: SenderOut },
    },
    handler: idempotentGlobal(deps, 201, async ({ actor, body: { name = '', ...body } }, tx) =>
      toSender(await assignSenderTo(tx, operatorNameOf(actor), { ...body, name })),
    ),
  });

  app.post(`${SENDERS}/:id/register`, {
    onRequest,
    config: { command: 'sender register' },
    schema: {
      tags,
      operationId: 'operatorRegisterAgent',
      summary: 'Register a requested agent under its id',
      params: IdParams,
      body: withExamples(Registration, { identity: 'acme-agent', connection: 'sandbox-rcs' }),
      response: { 200: SenderOut },
    },
    handler: idempotentGlobal(deps, 200, async ({ actor, params, body }, tx) =>
      toSender(await registerRequestedAgent(tx, operatorNameOf(actor), { ...body, ...params })),
    ),
  });

  app.delete(`${SENDERS}/:id`, {
    onRequest,
    config: { command: 'sender remove' },
    schema: {
      tags,
      operationId: 'operatorDeleteSender',
      summary: 'Delete a sender: nothing can be sent as it any more',
      params: IdParams,
      response: { 204: Done },
    },
    handler: ({ actor, params }) => transaction(pool, (tx) => removeSenderById(tx, operatorNameOf(actor), params)),
  });
}

function numberRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(NUMBERS, {
    onRequest,
    config: { command: 'number list' },
    schema: {
      tags,
      operationId: 'operatorListNumbers',
      summary: 'List inbound SMS numbers and their accounts',
      querystring: NumbersQuery,
      response: { 200: PageOf(NumberOut) },
    },
    handler: ({ query }) => answerPage(query, listNumbers(pool, query), toNumber),
  });

  app.post(NUMBERS, {
    onRequest,
    config: { command: 'number assign' },
    schema: {
      tags,
      operationId: 'operatorAssignNumber',
      summary: 'Assign a number to an account',
      description: 'Assigning it again moves it to another account.',
      body: withExamples(NumberIn, { number: '+393399957020', connection: 'sandbox', accountId: 1 }),
      response: { 201: AssignedNumber },
    },
    handler: idempotentGlobal(deps, 201, async ({ actor, body }, tx) => {
      await requireAccount(tx, { id: body.accountId });
      const { number } = await assignNumber(tx, { ...body, by: operatorNameOf(actor) });
      return { number, connection: body.connection, accountId: body.accountId };
    }),
  });

  app.delete(NUMBERS, {
    onRequest,
    config: { command: 'number remove' },
    schema: {
      tags,
      operationId: 'operatorDeleteNumber',
      summary: 'Remove a number from its account',
      description: 'The messages to the number are kept.',
      querystring: NumberQuery,
      response: { 204: Done },
    },
    handler: ({ actor, query }) => transaction(pool, (tx) => removeNumber(tx, { ...query, by: operatorNameOf(actor) })),
  });
}

function templateRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(`${OPERATOR_PATH}/templates`, {
    onRequest: requireOperator(),
    config: { command: 'template list' },
    schema: {
      tags,
      operationId: 'operatorListTemplates',
      summary: 'List the templates of all accounts, most recently changed first',
      querystring: TemplateQuery,
      response: { 200: PageOf(TemplateOut) },
    },
    handler: ({ query }) => answerPage(query, listTemplates(pool, query), toTemplate),
  });
}
