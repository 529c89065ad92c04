import { type Static, Type } from 'typebox';
import { countDeliveries } from '../../../messaging/smpp-outbox/sql.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { offsetOf, pageFields, PageOf, pageOf } from '../../../platform/http/page.ts';
import { instant, orNull } from '../../../platform/lib/schema.ts';
import { accountIdField, amount, OPERATOR_PATH } from '../fields.ts';
import { type BindRow, countBinds, listBinds } from './sql.ts';

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
    schema: {
      tags,
      operationId: 'operatorListBinds',
      summary: 'List the open binds of customers, the latest first',
      querystring: BindQuery,
      response: { 200: PageOf(BindOut) },
    },
    handler: async ({ query }) => {
      const filter = { accountId: query.accountId ?? null };
      const rows = await listBinds(pool, { ...filter, limit: query.limit, offset: offsetOf(query) });
      return pageOf(query, rows.map(toBind), await countBinds(pool, filter));
    },
  });

  app.get(`${OPERATOR_PATH}/smpp/deliveries`, {
    onRequest,
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
