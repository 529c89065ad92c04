import { type Command, Option } from 'commander';
import type { Pool } from 'pg';
import { Type } from 'typebox';
import {
  type AccountRow,
  countAccounts,
  insertAccount,
  listAccounts,
  lockFirstAccount,
  parseAccountName,
  updateAccountPlan,
  updateAccountRate,
} from '../accounts/accounts.ts';
import { createKey } from '../accounts/api-keys.ts';
import { type Author, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import { generatePassword, type Hashed, hashed } from '../accounts/password.ts';
import { registerSecondFactorCommands } from '../accounts/second-factor-routes.ts';
import { changeOperator, createUserWithRandomPassword } from '../accounts/users.ts';
import { createSamples } from '../contacts/contacts.ts';
import { findBook, insertBook, limitsOf } from '../contacts/limits.ts';
import { LimitsOut } from '../contacts/schema.ts';
import { PLANS, type Plan, scopesOfRole } from '../core/actor.ts';
import { CHANNELS, type Channel, toBits, toChannels } from '../core/channels.ts';
import { type CommandContext, table } from '../core/cli.ts';
import { type Db, exec, sql } from '../core/db/query.ts';
import { tenant, transaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import type { App, PlatformDeps } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { toMicros } from '../core/money.ts';
import { channelName } from '../core/schema.ts';
import { creditOf, insertBalance, topUp, updateUnlimited } from '../money/credit.ts';
import { CreditOut } from '../money/credit-routes.ts';

/** A new account with its first credentials, which are shown only once. */
export type NewAccount = {
  readonly accountId: number;
  readonly name: string;
  readonly apiKey: string;
  readonly username: string;
  readonly password: string;
};

type AccountInput = {
  readonly name: string;
  readonly plan: Plan;
  /** The credit that the account has from the start. An account on the plan `unlimited` pays after use. */
  readonly creditMicros?: number;
  /** Requests per minute for each key; 0 for no limit; by default that of the plan. */
  readonly ratePerMinute?: number;
  /** Makes the first user of the account an operator of the gateway. */
  readonly operator?: boolean;
  /** Name of the operator who creates the account; default: the system user. */
  readonly by?: string;
};

const DEMO_CREDIT_MICROS = 10_000_000_000;

/**
 * Creates an account with an admin and an API key with all scopes, in one transaction. Errors: 400 when the name is empty
 * or longer than 200 characters.
 */
export async function createAccount(pool: Pool, input: AccountInput): Promise<NewAccount> {
  const secret = await newAdminPassword();
  return transaction(pool, (tx) => createAccountTx(tx, input, secret));
}

/** Generates the password of an account's first admin and hashes it. Call it before the transaction of the account. */
export const newAdminPassword = (): Promise<Hashed> => hashed(generatePassword(), { by: 'operator' });

/**
 * Creates the account of a first start, or returns undefined when there is any account. Two programs that start at the
 * same time on one empty database create only one.
 */
export async function createDemoAccount(pool: Pool): Promise<NewAccount | undefined> {
  if ((await countAccounts(pool)) > 0) return undefined;
  const secret = await newAdminPassword();
  return transaction(pool, async (tx) => {
    await lockFirstAccount(tx);
    if ((await countAccounts(tx)) > 0) return undefined;
    const plan = { plan: 'production', creditMicros: DEMO_CREDIT_MICROS, ratePerMinute: 0 } as const;
    const demo = await createAccountTx(tx, { name: 'Demo', ...plan, operator: true }, secret);
    await createSamples(tx, operatorAuthor(demo.accountId));
    return demo;
  });
}

/** Does the same as `createAccount`, in the caller's transaction, with a password of `newAdminPassword`. */
export async function createAccountTx(tx: Db, input: AccountInput, secret: Hashed): Promise<NewAccount> {
  const name = parseAccountName(input.name);
  const { id: accountId } = await insertAccount(tx, { name, plan: input.plan });
  const { ratePerMinute } = input;
  if (ratePerMinute !== undefined)
    await updateAccountRate(tx, { accountId, perMinute: ratePerMinute, perSecond: null });
  await insertBalance(tx, { accountId, unlimited: input.plan === 'unlimited' });
  await insertBook(tx, { accountId });
  if (input.creditMicros) await topUp(tx, { accountId, micros: input.creditMicros, reference: 'first credit' });
  const admin = { name, role: 'admin', ...secret } as const;
  const { userId, username, password } = await createUserWithRandomPassword(tx, { accountId }, admin);
  const operator = operatorAuthor(accountId, input.by);
  if (input.operator) await changeOperator(tx, operator, { id: userId, isOperator: true });
  const detail = { name, plan: input.plan, creditMicros: input.creditMicros ?? 0 };
  await recordAudit(tx, operator, { action: 'account.create', subject: `account:${accountId}`, detail });
  const author = { ...operator, userId, operations: scopesOfRole('admin') };
  const { apiKey } = await createKey(tx, author, { name: 'first key' });
  return { accountId, name, apiKey, username, password };
}

/** `account create` and `list`, and the commands for second factors. */
export function registerAccountCommands(program: Command, context: CommandContext): void {
  const account = program.command('account').description('accounts (tenants) of this gateway');
  const plan = new Option('--plan <plan>', 'plan of the account').choices(PLANS).default('production');

  account
    .command('create')
    .description('create an account with an admin and an API key; shows the credentials once')
    .requiredOption('--name <name>', 'name of the account')
    .option('--credit <amount>', 'initial credit, in currency units', Number, 0)
    .addOption(plan)
    .option('--operator', 'make its admin a gateway operator')
    .action(async ({ credit, ...options }: CreateOptions) => {
      const creditMicros = toMicros(credit);
      if (creditMicros === null || creditMicros < 0)
        throw invalidFields([{ field: '--credit', message: 'must be 0 or more, with at most 6 decimals' }]);
      const created = context.withDatabase((pool) => createAccount(pool, { ...options, creditMicros }));
      context.report(await created, showNewAccount);
    });

  account
    .command('list')
    .description('list all accounts')
    .action(async () => context.report(await context.withDatabase(listAccounts), showAccounts));

  registerSecondFactorCommands(account, context);
}

type CreateOptions = { name: string; plan: Plan; credit: number; operator?: true };
const showNewAccount = ({ accountId, name, apiKey, username, password }: NewAccount): string =>
  [
    `Account ${name} (id ${accountId}). Save these credentials now; they are not shown again:`,
    `  API key   ${apiKey}`,
    `  username  ${username}`,
    `  password  ${password}`,
  ].join('\n');

const placeOf = ({ away, cell }: AccountRow): string =>
  away === null ? 'here' : `${away === 'held' ? 'on its way to' : 'in'} cell ${cell}`;

const showAccounts = (accounts: readonly AccountRow[]): string =>
  table(
    ['id', 'name', 'status', 'plan', 'created', 'served'],
    accounts.map((account) => {
      const { id, name, status, plan, createdAt } = account;
      return [id, name, status, plan, createdAt.toISOString(), placeOf(account)];
    }),
  );

const SubscriptionOut = Type.Object({
  plan: Type.Enum([...PLANS], {
    type: 'string',
    description: 'Plan, which sets the priority of its traffic and its limits.',
  }),
  channels: Type.Array(channelName(), {
    description: 'Sends, campaigns and templates on other channels are denied with 403.',
  }),
  contacts: LimitsOut,
  credit: CreditOut,
});

/** Registers the route that shows the plan of the account. */
export function subscriptionRoutes(app: App, { pool }: PlatformDeps): void {
  app.get('/api/partner-gateway/v1/subscription', {
    onRequest: requireScope('money'),
    schema: {
      tags: ['Account'],
      operationId: 'findSubscription',
      summary: 'Get the plan of the account: its channels, contacts and credit',
      response: { 200: SubscriptionOut },
    },
    handler: async ({ actor }) => {
      const db = tenant(pool, actor);
      const [book, credit] = await Promise.all([findBook(db, actor), creditOf(db, actor)]);
      if (!book) throw new AppError('not_found');
      const channels = CHANNELS.filter((channel) => actor.channels.has(channel));
      return { plan: actor.plan, channels, contacts: limitsOf(book), credit };
    },
  });
}

/**
 * Changes the plan of the author's account, effective with its next request. An account on the plan `unlimited` pays after
 * use. Call it in a transaction. Errors: 409 when the account owes credit and would have to pay in advance.
 */
export async function changePlan(tx: Db, author: Author, { plan }: { readonly plan: Plan }): Promise<void> {
  const { accountId } = author;
  if ((await updateAccountPlan(tx, { accountId, plan })) === 0) return;
  if ((await updateUnlimited(tx, { accountId, unlimited: plan === 'unlimited' })) === 0)
    throw new AppError('conflict', { message: 'The account owes credit: add credit first' });
  await recordAudit(tx, author, { action: 'account.plan', subject: `account:${accountId}`, detail: { plan } });
}

/**
 * Sets the channels in the plan of the author's account, effective with the next request to any process. Campaigns that
 * are already confirmed continue. Call it in a transaction.
 */
export async function changeChannels(
  tx: Db,
  author: Author,
  { channels }: { readonly channels: readonly Channel[] },
): Promise<void> {
  const { accountId } = author;
  const bits = toBits(new Set(channels));
  await updateChannels(tx, { accountId, bits });
  const detail = { channels: toChannels(bits) };
  await recordAudit(tx, author, { action: 'account.channels', subject: `account:${accountId}`, detail });
}

const updateChannels = (db: Db, { accountId, bits }: { accountId: number; bits: number }): Promise<number> =>
  exec(db, sql`UPDATE account SET channels = ${bits} WHERE id = ${accountId}`);
