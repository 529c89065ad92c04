import { Type } from 'typebox';
import { GATEWAY_ACCOUNT_ID } from '../../../identity/audit/record.ts';
import { AuditOut, toAuditOut } from '../../../identity/audit/schema.ts';
import { countAuditEntries, listAuditEntries } from '../../../identity/audit/sql.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { offsetOf, pageFields, pageOf, PageOf } from '../../../platform/http/page.ts';
import { firstIdAt } from '../../../platform/lib/ids.ts';
import { accountId, OPERATOR_PATH } from '../fields.ts';
import { instant } from '../../../platform/lib/schema.ts';

const AuditQuery = Type.Object({
  ...pageFields,
  accountId: Type.Optional(accountId),
  action: Type.Optional(Type.String({ maxLength: 200, description: 'Exactly this, for example `route.add`.' })),
  subject: Type.Optional(Type.String({ maxLength: 400, description: 'Exactly this, for example `route:12`.' })),
  from: Type.Optional(instant('ISO 8601 with offset; entries from then on.')),
  to: Type.Optional(instant('ISO 8601 with offset; entries before then.')),
});

const idAt = (at: string | undefined): string | null => (at ? firstIdAt(new Date(at)) : null);

/** Who changed what of the gateway itself. */
export function operatorAuditRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(`${OPERATOR_PATH}/audit`, {
    onRequest: requireOperator(),
    schema: {
      tags: ['Operator: health'],
      operationId: 'operatorListAuditEntries',
      summary: 'What was done to the gateway, or to one account, the newest first',
      description: 'Without `accountId`: connections, routes, prices, sending, and senders of every account.',
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
