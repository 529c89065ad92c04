import { Type } from 'typebox';
import { enableEndpoint } from '../../../messaging/webhooks/endpoint.ts';
import { addCredit } from '../../../money/credit/add.ts';
import { ledgerFilter, LedgerOut, toLedger } from '../../../money/credit/ledger/schema.ts';
import { countLedger, listLedger } from '../../../money/credit/ledger/sql.ts';
import { CreditOut } from '../../../money/credit/schema.ts';
import { creditOf } from '../../../money/credit/show.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { invalidFields } from '../../../platform/errors.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { idempotentGlobal, preparedGlobal } from '../../../platform/http/idempotency.ts';
import { offsetOf, pageFields, pageOf, PageOf } from '../../../platform/http/page.ts';
import { toMicros } from '../../../platform/lib/money.ts';
import { createAccountTx, newAdminPassword } from '../../accounts/create.ts';
import { changeChannels } from '../../subscription/change.ts';
import { operatorAuthorOf, operatorNameOf } from '../author.ts';
import { IdParams, Done, OPERATOR_PATH } from '../fields.ts';
import { changeAccount } from './change.ts';
import { requireAccount, describeAccount } from './find.ts';
import * as schema from './schema.ts';
import { countAccounts, listAccountPage } from './sql.ts';
import { withExamples } from '../../../platform/http/schema.ts';

const tags = ['Operator: accounts'];
const ACCOUNTS = `${OPERATOR_PATH}/accounts`;

const AccountQuery = Type.Object({ ...pageFields, ...schema.accountFilter });
const LedgerQuery = Type.Object({ ...pageFields, ...ledgerFilter });

/** Registers the routes for the accounts of the gateway and their credit. */
export function operatorAccountRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(ACCOUNTS, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListAccounts',
      summary: 'List all accounts with their credit and traffic',
      querystring: AccountQuery,
      response: { 200: PageOf(schema.AccountOut) },
    },
    handler: async ({ query }) => {
      const { search = null, status = null, plan = null, sort, direction, limit } = query;
      const filter = { search, status, plan };
      const page = { sort, descending: direction === 'desc', limit, offset: offsetOf(query) };
      const rows = await listAccountPage(pool, { ...filter, ...page });
      return pageOf(query, rows.map(schema.toAccountOut), await countAccounts(pool, filter));
    },
  });

  app.post(ACCOUNTS, {
    onRequest,
    config: { secretAnswer: true },
    schema: {
      tags,
      operationId: 'operatorCreateAccount',
      summary: 'Create an account with an admin and an API key',
      description: 'The credentials are shown only in this response.',
      body: withExamples(schema.AccountIn, { name: 'Acme', plan: 'trial', credit: 50, channels: ['SMS', 'WHATSAPP'] }),
      response: { 201: schema.AccountCreated },
    },
    handler: preparedGlobal(deps, 201, newAdminPassword, async ({ actor, body }, tx, secret) => {
      const { name, plan = 'production', credit = 0, ratePerMinute, channels } = body;
      const creditMicros = toMicros(credit);
      if (creditMicros === null) throw invalidFields([{ field: 'credit', message: 'must have at most 6 decimals' }]);
      const rate = ratePerMinute === undefined ? {} : { ratePerMinute };
      const account = { name, plan, creditMicros, by: operatorNameOf(actor), ...rate };
      const created = await createAccountTx(tx, account, secret);
      if (channels) await changeChannels(tx, operatorAuthorOf(actor, created.accountId), { channels });
      return created;
    }),
  });

  app.get(`${ACCOUNTS}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorFindAccount',
      summary: 'Get an account with its people, limits, webhook and ledger check',
      params: IdParams,
      response: { 200: schema.AccountDetails },
    },
    handler: ({ params }) => describeAccount(pool, params),
  });

  app.put(`${ACCOUNTS}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorChangeAccount',
      summary: 'Change an account, effective with its next request',
      description: 'Omitted fields are unchanged.',
      params: IdParams,
      body: withExamples(schema.AccountPatch, { plan: 'production', ratePerMinute: 600, defaultCountry: 'IT' }),
      response: { 200: schema.AccountDetails },
    },
    handler: ({ actor, params, body }) =>
      transaction(pool, async (tx) => {
        await changeAccount(tx, actor, { ...body, ...params });
        return describeAccount(tx, params);
      }),
  });

  accountCreditRoutes(app, deps);
}

function accountCreditRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.post(`${ACCOUNTS}/:id/credit`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorAddCredit',
      summary: 'Add credit to an account',
      params: IdParams,
      body: withExamples(schema.CreditIn, { amount: 250, reference: 'invoice 2027-0042' }),
      response: { 201: CreditOut },
    },
    handler: idempotentGlobal(deps, 201, async ({ actor, params, body }, tx) => {
      await requireAccount(tx, params);
      const { amount, reference = '' } = body;
      await addCredit(tx, operatorAuthorOf(actor, params.id), { amount, reference });
      return creditOf(tx, { accountId: params.id });
    }),
  });

  app.get(`${ACCOUNTS}/:id/ledger`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListLedger',
      summary: 'List the credit transactions of an account, newest first',
      description: 'A batch of messages has one entry; `messages` is the number of messages in it.',
      params: IdParams,
      querystring: LedgerQuery,
      response: { 200: PageOf(LedgerOut) },
    },
    handler: async ({ params, query }) => {
      await requireAccount(pool, params);
      const filter = { accountId: params.id, kind: query.kind ?? null };
      const rows = await listLedger(pool, { ...filter, limit: query.limit, offset: offsetOf(query) });
      return pageOf(query, rows.map(toLedger), await countLedger(pool, filter));
    },
  });

  app.post(`${ACCOUNTS}/:id/webhook/enable`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorEnableWebhook',
      summary: 'Enable the disabled webhook of an account again',
      params: IdParams,
      response: { 204: Done },
    },
    handler: idempotentGlobal(deps, 204, async ({ actor, params }, tx) => {
      await enableEndpoint(tx, operatorAuthorOf(actor, params.id));
      return null;
    }),
  });
}
