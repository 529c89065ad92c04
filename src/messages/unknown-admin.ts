import { userInfo } from 'node:os';
import { type Command, Option } from 'commander';
import type { Pool } from 'pg';
import { type Static, Type } from 'typebox';
import { findAccount } from '../accounts/accounts.ts';
import { accountIdField, amount, connectionField, OPERATOR_PATH, operatorNameOf } from '../accounts/operator-fields.ts';
import { type CommandContext, table } from '../core/cli.ts';
import { as, columns, type Db, pageRows, type Paging, type RowOf, sql } from '../core/db/query.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { answerPage, type App, pageFields, PageOf, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { idempotentHandler } from '../core/http/idempotency.ts';
import { maskNumber } from '../core/phone.ts';
import { instant, orNull } from '../core/schema.ts';
import { findConnection } from '../routing/connection-store.ts';
import { listUnknowns, settleUnknown, type Unknown, type Verdict, VERDICTS } from './unknown-outcomes.ts';

const tags = ['Operator: open unknowns'];

const UnknownOut = Type.Object({
  messageId: Type.String({ format: 'uuid' }),
  accountId: Type.Integer(),
  account: Type.String(),
  connection: orNull(Type.String({ description: 'Null: the connection was removed.' })),
  destination: Type.String({ description: 'Masked.' }),
  sender: Type.String(),
  parts: Type.Integer(),
  since: instant('UTC'),
  ageSeconds: amount('The time since then.'),
  reason: Type.String(),
});

const UnknownQuery = Type.Object({
  ...pageFields,
  accountId: Type.Optional(accountIdField),
  connection: connectionField,
});

const SettleIn = Type.Object({
  messageIds: Type.Array(Type.String({ format: 'uuid' }), { minItems: 1, maxItems: 100 }),
  as: Type.Enum([...VERDICTS], {
    type: 'string',
    description:
      "The carrier's information. `not-sent` queues the messages again; every other value is their final status.",
  }),
});

const SettleOut = Type.Object({
  settled: Type.Integer(),
  results: Type.Array(
    Type.Object({
      messageId: Type.String(),
      settled: Type.Boolean(),
      message: orNull(Type.String({ description: 'Reason why the message was not settled.' })),
    }),
  ),
});

/** Registers the routes for unknown outcomes: messages that were written to a carrier and got no response. */
export function operatorUnknownRoutes(app: App, deps: PlatformDeps): void {
  const { pool, clock } = deps;
  const onRequest = requireOperator();

  app.get(`${OPERATOR_PATH}/unknowns`, {
    onRequest,
    config: { command: { none: '`unknown list` shows whole numbers, which the carrier is asked about' } },
    schema: {
      tags,
      operationId: 'operatorListUnknowns',
      summary: 'List messages with an unknown outcome, oldest first',
      description: 'Most of them are settled by their receipts.',
      querystring: UnknownQuery,
      response: { 200: PageOf(UnknownOut) },
    },
    handler: ({ query }) => answerPage(query, listUnknownPage(pool, query), toUnknownOut),
  });

  app.post(`${OPERATOR_PATH}/unknowns/settle`, {
    onRequest,
    config: { command: { none: '`unknown settle` fails when its message cannot be settled' } },
    schema: {
      tags,
      operationId: 'operatorSettleUnknowns',
      summary: 'Settle unknown outcomes',
      description:
        'Each message is settled separately: one that was settled in the meantime does not affect the others.',
      body: withExamples(SettleIn, { messageIds: ['01a1fd63-cf7c-7183-929b-46bc3bfe6f71'], as: 'delivered' }),
      response: { 200: SettleOut },
    },
    // A repeated request settles no message twice.
    handler: idempotentHandler(deps, async ({ actor, body }) => {
      const results = await settleAll(pool, { ...body, by: operatorNameOf(actor), now: clock.now() });
      return { settled: results.filter(({ settled }) => settled).length, results };
    }),
  });
}

const toUnknownOut = ({ since, destination, ...row }: UnknownRow): Static<typeof UnknownOut> => ({
  ...row,
  destination: maskNumber(destination),
  since: since.toISOString(),
});

type SettleResult = {
  readonly messageId: string;
  readonly settled: boolean;
  /** Reason why the message was not settled. */
  readonly message: string | null;
};

type Settling = {
  readonly messageIds: readonly string[];
  readonly as: Verdict;
  readonly by: string;
  readonly now: Date;
};

/**
 * Settles unknown outcomes one by one, each in its own transaction, so that a rejected one does not affect the others.
 */
async function settleAll(pool: Pool, { messageIds, as, by, now }: Settling): Promise<SettleResult[]> {
  const results: SettleResult[] = [];
  for (const messageId of new Set(messageIds))
    results.push(
      await settleUnknown(pool, { messageId, as, by }, now).then(
        () => ({ messageId, settled: true, message: null }),
        (error: unknown) => ({ messageId, settled: false, message: refusalOf(error) }),
      ),
    );
  return results;
}

/** Returns the message of a client error. Any other error ends the whole call. */
function refusalOf(error: unknown): string {
  if (error instanceof AppError && error.status < 500) return error.message;
  throw error;
}

const UNKNOWN = columns({
  messageId: as<string>('o.message_id'),
  accountId: as<number>('o.account_id'),
  account: as<string>('a.name'),
  /** Null when the connection was removed. */
  connection: as<string | null>('c.name'),
  destination: as<string>('o.destination'),
  sender: as<string>('o.sender'),
  parts: as<number>('o.parts'),
  since: as<Date>('o.created_at'),
  reason: as<string>('o.reason'),
  ageSeconds: as<number>('extract(epoch FROM now() - o.created_at)::float8'),
});
type UnknownRow = RowOf<typeof UNKNOWN>;

type UnknownFilter = Paging & { readonly accountId?: number | null; readonly connection?: string | null };

/** Reads a page of unknown outcomes, oldest first. */
const listUnknownPage = (db: Db, { accountId = null, connection = null, ...page }: UnknownFilter) =>
  pageRows(
    db,
    {
      columns: UNKNOWN,
      from: sql`FROM unknown_outcome o JOIN account a ON a.id = o.account_id
        LEFT JOIN connection c ON c.id = o.connection_id
        WHERE (${accountId}::bigint IS NULL OR o.account_id = ${accountId})
          AND (${connection}::text IS NULL OR c.name = ${connection})`,
      order: sql`o.created_at, o.message_id`,
    },
    page,
  );

type Flags = { readonly account?: string; readonly connection?: string; readonly limit: number };

/** Registers `unknown list` and `unknown settle`. */
export function registerUnknownCommands(program: Command, context: CommandContext): void {
  const unknown = program
    .command('unknown')
    .description('messages whose submit never got a response, or that may have been revoked at their network');

  unknown
    .command('list')
    .option('--account <account>', 'name or id')
    .option('--connection <name>', 'only this connection')
    .option('--limit <n>', 'maximum number of messages', Number, 1000)
    .description('list open unknown outcomes, the oldest first')
    .action(async (flags: Flags) => context.report(await list(context, flags), showUnknowns));

  unknown
    .command('settle')
    .argument('<id>', 'message id')
    .addOption(new Option('--as <verdict>', 'what the carrier reports').choices(VERDICTS).makeOptionMandatory())
    .description('set the outcome of a message; not-sent puts it back into the queue')
    .action(async (messageId: string, { as }: { as: Verdict }) => {
      const by = userInfo().username;
      await context.withDatabase((pool) => settleUnknown(pool, { messageId, as, by }, new Date()));
      context.report({ messageId, as }, () =>
        as === 'not-sent' ? `${messageId} is queued again.` : `${messageId} is settled: ${as}.`,
      );
    });
}

function list(context: CommandContext, { account, connection, limit }: Flags): Promise<Unknown[]> {
  if (!Number.isInteger(limit) || limit < 1)
    throw invalidFields([{ field: '--limit', message: 'must be a whole number from 1' }]);
  return context.withDatabase(async (pool) =>
    listUnknowns(pool, {
      accountId: account === undefined ? null : (await findAccount(pool, { reference: account })).id,
      connectionId: connection === undefined ? null : await connectionIdOf(pool, connection),
      limit,
    }),
  );
}

async function connectionIdOf(pool: Pool, name: string): Promise<number> {
  const connection = await findConnection(pool, { name });
  if (!connection) throw new AppError('not_found', { message: `There is no connection ${name}` });
  return connection.id;
}

const showUnknowns = (rows: readonly Unknown[]): string =>
  table(
    ['message', 'account', 'connection', 'destination', 'sender', 'parts', 'since', 'reason'],
    rows.map((u) => [
      u.messageId,
      u.account,
      u.connection ?? `#${u.connectionId}`,
      u.destination,
      u.sender,
      u.parts,
      u.since.toISOString(),
      u.reason,
    ]),
  );
