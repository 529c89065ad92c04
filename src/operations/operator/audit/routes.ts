import { Type } from 'typebox';
import { GATEWAY_ACCOUNT_ID } from '../../../identity/audit/record.ts';
import { AuditOut, toAuditOut } from '../../../identity/audit/schema.ts';
import { countAuditEntries, listAuditEntries } from '../../../identity/audit/sql.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { offsetOf, pageFields, PageOf, pageOf } from '../../../platform/http/page.ts';
import { firstIdAt } from '../../../platform/lib/ids.ts';
import { instant } from '../../../platform/lib/schema.ts';
import { accountIdField, OPERATOR_PATH } from '../fields.ts';

const AuditQuery = Type.Object({
  ...pageFields,
  accountId: Type.Optional(accountIdField),
  action: Type.Optional(Type.String({ maxLength: 200, description: 'The exact action, for example `route.add`.' })),
  subject: Type.Optional(Type.String({ maxLength: 400, description: 'The exact subject, for example `route:12`.' })),
  from: Type.Optional(instant('The start of the range, inclusive; ISO 8601 with an offset.')),
  to: Type.Optional(instant('The end of the range, exclusive; ISO 8601 with an offset.')),
});

const idAt = (at: string | undefined): string | null => (at ? firstIdAt(new Date(at)) : null);

/** Registers the route for the audit log of the gateway and of each account. */
export function operatorAuditRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(`${OPERATOR_PATH}/audit`, {
    onRequest: requireOperator(),
    schema: {
      tags: ['Operator: health'],
      operationId: 'operatorListAuditEntries',
      summary: 'List the audit log of the gateway or of an account, newest first',
      description:
        'Without `accountId`: changes of connections, routes and prices, of shared senders, and of whether sending is ' +
        'paused.',
      querystring: AuditQuery,
      response: { 200: PageOf(AuditOut) },
    },
    handler: async ({ query }) => {
      const { action = null, subject = null } = query;
      const range = { fromId: idAt(query.from), toId: idAt(query.to) };
      const filter = { accountId: query.accountId ?? GATEWAY_ACCOUNT_ID, action, subject, ...range };
      const rows = await listAuditEntries(pool, { ...filter, limit: query.limit, offset: offsetOf(query) });
      return pageOf(query, rows.map(toAuditOut), await countAuditEntries(pool, filter));
    },
  });
}
