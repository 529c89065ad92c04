import type { Command } from 'commander';
import { type Static, Type } from 'typebox';
import { findAccount } from '../accounts/accounts.ts';
import { operatorAuthor } from '../accounts/audit.ts';
import type { CommandContext } from '../core/cli.ts';
import { tenant, transaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { type App, offsetOf, PageOf, type PlatformDeps, pageFields, pageOf } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { fromMicros } from '../core/money.ts';
import {
  addCredit,
  type Balance,
  countLedger,
  creditOf,
  findAvailableAfterEntry,
  findBalance,
  type LedgerRow,
  ledgerBalances,
  listLedger,
} from './credit.ts';

export const CreditOut = Type.Object({
  credit: Type.Number({ description: 'Available and frozen together.' }),
  frozenCredit: Type.Number({ description: 'Reserved for messages without a final outcome.' }),
  availableCredit: Type.Number(),
  currency: Type.String(),
});

const amount = (description: string) => Type.Number({ description });
const LedgerKind = Type.Enum(['topup', 'freeze', 'settle', 'return'], {
  type: 'string',
  description:
    'topup: credit was added. freeze: the price of accepted messages was reserved. settle: the price of sent messages was ' +
    'charged. return: the price of messages that were not sent was released again.',
});
const BookName = Type.Enum(['outside', 'available', 'frozen', 'earned'], { type: 'string' });

export const ledgerFilter = { kind: Type.Optional(LedgerKind) };
export const LedgerOut = Type.Object({
  id: Type.String({ format: 'uuid' }),
  at: Type.String({ format: 'date-time', description: 'UTC' }),
  kind: LedgerKind,
  from: BookName,
  to: BookName,
  amount: amount('Currency units.'),
  messages: Type.Integer(),
  reference: Type.String(),
});
const EntryOut = Type.Object({
  ...LedgerOut.properties,
  balance: Type.Union([amount('The available credit after this entry; null in a list of one kind.'), Type.Null()]),
});

/** Converts an entry to the form of the API. */
export const toLedger = ({ at, amountMicros, ...row }: LedgerRow): Static<typeof LedgerOut> => ({
  ...row,
  at: at.toISOString(),
  amount: fromMicros(amountMicros),
});

/**
 * Converts consecutive entries, the newest first, with the available credit after each: `newestMicros` after the first
 * one; null omits it.
 */
function toEntries(rows: readonly LedgerRow[], newestMicros: number | null): Static<typeof EntryOut>[] {
  let micros = newestMicros;
  return rows.map((row) => {
    const entry = { ...toLedger(row), balance: micros === null ? null : fromMicros(micros) };
    if (micros !== null) micros -= changeOf(row);
    return entry;
  });
}

const changeOf = ({ from, to, amountMicros }: LedgerRow): number =>
  to === 'available' ? amountMicros : from === 'available' ? -amountMicros : 0;

const EntriesQuery = Type.Object({ ...pageFields, ...ledgerFilter });

/** Registers the routes of the account's credit. All need the scope `money`. */
export function creditRoutes(app: App, { pool }: PlatformDeps): void {
  const onRequest = requireScope('money');

  app.get('/services/sms/credit', {
    onRequest,
    schema: {
      tags: ['Account'],
      operationId: 'findCredit',
      summary: 'Show the available credit',
      response: { 200: Type.Object({ credit: Type.Number() }) },
    },
    handler: async ({ actor }) => ({ credit: (await creditOf(tenant(pool, actor), actor)).availableCredit }),
  });

  app.get('/api/partner-gateway/v1/subscription/credit', {
    onRequest,
    schema: {
      tags: ['Account'],
      operationId: 'findSubscriptionCredit',
      summary: 'Show the credit, and how much of it is reserved',
      response: { 200: CreditOut },
    },
    handler: ({ actor }) => creditOf(tenant(pool, actor), actor),
  });

  app.get('/api/partner-gateway/v1/credit/entries', {
    onRequest,
    schema: {
      tags: ['Account'],
      operationId: 'listCreditEntries',
      summary: 'List the credit transactions, the newest first',
      description: 'One entry per batch of messages: `messages` is their number.',
      querystring: EntriesQuery,
      response: { 200: PageOf(EntryOut) },
    },
    handler: async ({ actor, query }) => {
      const db = tenant(pool, actor);
      const filter = { accountId: actor.accountId, kind: query.kind ?? null };
      const rows = await listLedger(db, { ...filter, limit: query.limit, offset: offsetOf(query) });
      const [newest] = filter.kind === null ? rows : [];
      const balance = newest ? await findAvailableAfterEntry(db, { ...actor, id: newest.id }) : null;
      return pageOf(query, toEntries(rows, balance), await countLedger(db, filter));
    },
  });
}

/** Registers `credit add` and `credit show`. */
export function registerCreditCommands(program: Command, context: CommandContext): void {
  const credit = program.command('credit').description('credit of the accounts');

  credit
    .command('add')
    .argument('<account>', 'name or id')
    .argument('<amount>', 'currency units, for example 250 or 12.5', Number)
    .option('--reference <text>', 'an invoice number or similar, stored in the ledger', '')
    .description('add credit to an account')
    .action(async (account: string, amount: number, { reference }: { reference: string }) =>
      context.report(await add(context, account, { amount, reference }), showBalance),
    );

  credit
    .command('show')
    .argument('<account>', 'name or id')
    .description('show the balance of an account, and whether it matches the ledger')
    .action(async (account: string) =>
      context.report(
        await showCredit(context, account),
        (found) =>
          `${showBalance(found)}\n${found.agrees ? 'The balance matches the ledger.' : 'THE BALANCE DOES NOT MATCH THE LEDGER.'}`,
      ),
    );
}

type Shown = {
  readonly accountId: number;
  readonly available: number;
  readonly frozen: number;
  readonly currency: string;
};

const toShown = (accountId: number, { currency, availableMicros, frozenMicros }: Balance): Shown => ({
  accountId,
  available: fromMicros(availableMicros),
  frozen: fromMicros(frozenMicros),
  currency,
});

const showBalance = ({ available, frozen, currency }: Shown): string =>
  `${available} ${currency} available, ${frozen} ${currency} frozen`;

function add(
  context: CommandContext,
  reference: string,
  credit: { amount: number; reference: string },
): Promise<Shown> {
  return context.withDatabase(async (pool) => {
    const { id: accountId } = await findAccount(pool, { reference });
    await transaction(pool, (tx) => addCredit(tx, operatorAuthor(accountId), credit));
    return toShown(accountId, await balanceOf(pool, accountId));
  });
}

async function balanceOf(pool: Parameters<typeof findBalance>[0], accountId: number): Promise<Balance> {
  const balance = await findBalance(pool, { accountId });
  if (!balance) throw new AppError('not_found', { message: 'The account has no balance' });
  return balance;
}

function showCredit(context: CommandContext, reference: string): Promise<Shown & { agrees: boolean }> {
  return context.withDatabase(async (pool) => {
    const { id: accountId } = await findAccount(pool, { reference });
    const balance = await balanceOf(pool, accountId);
    return { ...toShown(accountId, balance), agrees: await ledgerBalances(pool, { accountId }) };
  });
}
