import { type Static, Type } from 'typebox';
import { tenant } from '../core/db/transaction.ts';
import { type App, offsetOf, PageOf, type PlatformDeps, pageFields, pageOf } from '../core/http/app.ts';
import { requireOperator, requireScope } from '../core/http/auth.ts';
import { firstIdAt, timeOfId } from '../core/ids.ts';
import { instant, orNull } from '../core/schema.ts';
import { type AuditRow, countAuditEntries, GATEWAY_ACCOUNT_ID, listAuditEntries } from './audit.ts';
import { accountIdField, OPERATOR_PATH } from './operator-fields.ts';

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

const AuditOut = Type.Object({
  id: Type.String({ format: 'uuid' }),
  at: instant('UTC'),
  actor: Type.Object({
    kind: Type.Enum(['key', 'user', 'operator', 'system'], {
      type: 'string',
      description: 'An API key, a user of the account, an operator of the gateway, or the gateway itself.',
    }),
    keyId: orNull(Type.Integer()),
    userId: orNull(Type.Integer({ description: 'The user, or the user who made the key.' })),
    username: orNull(Type.String()),
  }),
  action: Type.String({ description: 'The action, for example `api-key.create`.' }),
  subject: Type.String({ description: 'Object of the action, for example `api-key:12`.' }),
  detail: Type.Record(Type.String(), Type.Unknown(), { description: 'Details of the change, without secrets.' }),
});

/** Formats an entry for responses. */
const toAuditOut = ({ id, action, subject, detail, ...row }: AuditRow): Static<typeof AuditOut> => ({
  id,
  at: timeOfId(id).toISOString(),
  actor: { kind: row.actorKind, keyId: row.keyId, userId: row.userId, username: row.username },
  action,
  subject,
  detail,
});

const OperatorAuditQuery = Type.Object({
  ...pageFields,
  accountId: Type.Optional(accountIdField),
  action: Type.Optional(Type.String({ maxLength: 200, description: 'The exact action, for example `route.add`.' })),
  subject: Type.Optional(Type.String({ maxLength: 400, description: 'The exact subject, for example `route:12`.' })),
  from: Type.Optional(instant('The start of the range, inclusive; ISO 8601 with an offset.')),
  to: Type.Optional(instant('The end of the range, exclusive; ISO 8601 with an offset.')),
});

/** Registers the route for the audit log of the gateway and of each account. */
export function operatorAuditRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(`${OPERATOR_PATH}/audit`, {
    onRequest: requireOperator(),
    config: { command: 'audit list' },
    schema: {
      tags: ['Operator: health'],
      operationId: 'operatorListAuditEntries',
      summary: 'List the audit log of the gateway or of an account, newest first',
      description:
        'Without `accountId`: changes of connections, routes and prices, of shared senders, and of whether sending is ' +
        'paused.',
      querystring: OperatorAuditQuery,
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
