import { type Static, Type } from 'typebox';
import { accountIdField, amount, OPERATOR_PATH } from '../accounts/operator-fields.ts';
import { as, columns, type Db, pageRows, type Paging, type RowOf, sql } from '../core/db/query.ts';
import { isOwnerAlive } from '../core/db/worker-session.ts';
import { answerPage, type App, pageFields, PageOf, type PlatformDeps } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { instant, orNull } from '../core/schema.ts';
import { countDeliveries } from '../webhooks/smpp-outbox.ts';

const tags = ['Operator: SMPP'];
const count = (description: string) => Type.Integer({ description });

const BindOut = Type.Object({
  id: Type.Integer(),
  accountId: Type.Integer(),
  account: Type.String(),
  systemId: Type.String(),
  name: Type.String({ description: 'The name of the credential.' }),
  mode: Type.Enum(['transmitter', 'receiver', 'transceiver'], { type: 'string' }),
  address: Type.String({ description: 'The address of the client.' }),
  version: Type.String({ description: 'interface_version, in hexadecimal: 34 is SMPP 3.4.' }),
  boundAt: instant('UTC'),
  window: count('Maximum of outstanding requests, in each direction.'),
  submits: count('Messages that it has submitted, as reported within ten seconds.'),
  perSecond: count('Messages a second, in the ten seconds before the report.'),
  throttled: count('Requests that were rejected with ESME_RTHROTTLED.'),
  unanswered: count('deliver_sm without a response from it.'),
  waiting: count('Receipts that wait for any bind of its credential.'),
});

const Delivering = Type.Object({
  waiting: count('Receipts and inbound messages that wait for receivers, of all accounts.'),
  oldestSeconds: orNull(amount('The age of the oldest one; null when there is none.')),
});

const BindQuery = Type.Object({ ...pageFields, accountId: Type.Optional(accountIdField) });

/** Registers the routes that show the binds of customers. */
export function operatorSmppRoutes(app: App, { pool }: PlatformDeps): void {
  const onRequest = requireOperator();

  app.get(`${OPERATOR_PATH}/smpp/binds`, {
    onRequest,
    config: { command: 'smpp binds' },
    schema: {
      tags,
      operationId: 'operatorListBinds',
      summary: 'List the open binds of customers, the latest first',
      querystring: BindQuery,
      response: { 200: PageOf(BindOut) },
    },
    handler: ({ query }) => answerPage(query, listBinds(pool, query), toBind),
  });

  app.get(`${OPERATOR_PATH}/smpp/deliveries`, {
    onRequest,
    config: { command: 'smpp deliveries' },
    schema: {
      tags,
      operationId: 'operatorFindDeliveries',
      summary: 'Count receipts and inbound messages that wait for receivers',
      response: { 200: Delivering },
    },
    handler: async () => {
      const { count: waiting, oldestSeconds } = await countDeliveries(pool);
      return { waiting, oldestSeconds };
    },
  });
}

const toBind = ({ boundAt, version, ...row }: BindRow): Static<typeof BindOut> => ({
  ...row,
  version: version.toString(16),
  boundAt: boundAt.toISOString(),
});

const BIND = columns({
  id: as<number>('b.id'),
  accountId: as<number>('b.account_id'),
  account: as<string>('a.name'),
  systemId: as<string>('c.system_id'),
  name: as<string>('c.name'),
  mode: as<'transmitter' | 'receiver' | 'transceiver'>('b.mode'),
  address: as<string>('b.address'),
  version: as<number>('b.interface_version'),
  boundAt: as<Date>('b.bound_at'),
  window: as<number>('c.window_size'),
  submits: as<number>('b.submits'),
  throttled: as<number>('b.throttled'),
  perSecond: as<number>('b.per_second'),
  unanswered: as<number>('b.unanswered'),
  /** Receipts that wait for any bind of its credential. */
  waiting: as<number>(`(SELECT count(*) FROM smpp_outbox o
    WHERE o.account_id = b.account_id AND o.credential_id = b.credential_id)`),
});
/** An open bind of a customer. */
type BindRow = RowOf<typeof BIND>;

/** Reads a page of the open binds of customers, the latest first. */
const listBinds = (db: Db, { accountId = null, ...page }: Paging & { readonly accountId?: number | null }) =>
  pageRows(
    db,
    {
      columns: BIND,
      from: sql`FROM smpp_bind b JOIN account a ON a.id = b.account_id
        JOIN smpp_credential c ON c.account_id = b.account_id AND c.id = b.credential_id
        WHERE (${accountId}::bigint IS NULL OR b.account_id = ${accountId}) AND ${isOwnerAlive(sql`b.owner`)}`,
      order: sql`b.id DESC`,
    },
    page,
  );
