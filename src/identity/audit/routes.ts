import { Type } from 'typebox';
import { tenant } from '../../platform/db/tenant.ts';
import { requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { offsetOf, pageFields, pageOf, PageOf } from '../../platform/http/page.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';
import { AuditOut, toAuditOut } from './schema.ts';
import { countAuditEntries, listAuditEntries } from './sql.ts';
import { instant } from '../../platform/lib/schema.ts';

const AuditQuery = Type.Object({
  ...pageFields,
  userId: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Only changes by this user, or by a key that they made.',
    }),
  ),
  action: Type.Optional(
    Type.String({ maxLength: 200, description: 'Only this action, for example `api-key.create`.' }),
  ),
  subject: Type.Optional(Type.String({ maxLength: 400, description: 'Only this subject, for example `api-key:12`.' })),
  from: Type.Optional(instant('Only entries from this time on (ISO 8601 with an offset).')),
  to: Type.Optional(instant('Only entries before this time (ISO 8601 with an offset).')),
});

const idAt = (at: string | undefined): string | null => (at ? firstIdAt(new Date(at)) : null);

/** Registers the audit log of the caller's account. It needs the scope `keys`, which admins have. */
export function auditRoutes(app: App, { pool }: PlatformDeps): void {
  app.get('/api/partner-gateway/v1/audit', {
    onRequest: requireScope('keys'),
    schema: {
      tags: ['Account'],
      operationId: 'listAuditEntries',
      summary: 'List audit log entries, newest first',
      description: 'Includes changes by operators of the gateway.',
      querystring: AuditQuery,
      response: { 200: PageOf(AuditOut) },
    },
    handler: async ({ actor, query }) => {
      const { userId = null, action = null, subject = null } = query;
      const range = { fromId: idAt(query.from), toId: idAt(query.to) };
      const filter = { accountId: actor.accountId, userId, action, subject, ...range };
      const db = tenant(pool, actor);
      const page = { limit: query.limit, offset: offsetOf(query) };
      const [rows, total] = await Promise.all([
        listAuditEntries(db, { ...filter, ...page }),
        countAuditEntries(db, filter),
      ]);
      return pageOf(query, rows.map(toAuditOut), total);
    },
  });
}
