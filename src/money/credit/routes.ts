import { Type } from 'typebox';
import { tenant } from '../../platform/db/tenant.ts';
import { requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { offsetOf, pageFields, pageOf, PageOf } from '../../platform/http/page.ts';
import { EntryOut, ledgerFilter, toEntries } from './ledger/schema.ts';
import { countLedger, findAvailableAfterEntry, listLedger } from './ledger/sql.ts';
import { CreditOut } from './schema.ts';
import { creditOf } from './show.ts';

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
