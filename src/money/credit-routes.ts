import { type Static, Type } from 'typebox';
import { tenant } from '../core/db/transaction.ts';
import { type App, offsetOf, PageOf, type PlatformDeps, pageFields, pageOf } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { fromMicros } from '../core/money.ts';
import { countLedger, creditOf, findAvailableAfterEntry, type LedgerRow, listLedger } from './credit.ts';

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
