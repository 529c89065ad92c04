import { type Static, Type } from 'typebox';
import { changeStatus, renameAccount } from '../accounts/accounts.ts';
import type { Author } from '../accounts/audit.ts';
import { changeNumberRules, findNumberRules } from '../accounts/numbers.ts';
import { Done, IdParams, OPERATOR_PATH, operatorAuthorOf, operatorNameOf } from '../accounts/operator-fields.ts';
import { clearAllowList, findAllowList, setRate } from '../accounts/security.ts';
import { findBook, limitsOf, setLimits } from '../contacts/limits.ts';
import type { Actor } from '../core/actor.ts';
import type { Db } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { type App, offsetOf, PageOf, type PlatformDeps, pageFields, pageOf, withExamples } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { idempotentGlobal, preparedGlobal } from '../core/http/idempotency.ts';
import { toMicros } from '../core/money.ts';
import { DEFAULT_NUMBER_RULES } from '../core/phone.ts';
import { addCredit, countLedger, creditOf, ledgerBalances, listLedger } from '../money/credit.ts';
import { CreditOut, LedgerOut, ledgerFilter, toLedger } from '../money/credit-routes.ts';
import { nameOfTag } from '../channels/message-tlvs.ts';
import { changeTlvTags, findTlvTags } from '../routing/account-tlvs.ts';
import { enableEndpoint, findEndpoint } from '../webhooks/endpoints.ts';
import { changeChannels, changePlan, createAccountTx, newAdminPassword } from './account-commands.ts';
import * as schema from './account-store.ts';
import {
  type AccountDetails,
  type AccountPatch,
  type AccountRow,
  countAccounts,
  countKeysAndEvents,
  listAccountPage,
  listPeople,
  toAccountOut,
  toPerson,
  toWebhook,
} from './account-store.ts';

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
    config: {
      command: { none: '`account list` shows which cell serves an account' },
    },
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
    config: { command: { none: '`account create` can also make its admin an operator' }, secretAnswer: true },
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
    config: { command: ['account show', 'credit show'] },
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
    config: {
      command: [
        'account change',
        { as: 'account suspend', body: { status: 'suspended' } },
        { as: 'account resume', body: { status: 'active' } },
      ],
    },
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
    config: { command: 'credit add <amount>' },
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
    config: { command: 'credit ledger' },
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
    config: { command: 'webhook enable' },
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

/**
 * Changes the fields of an account that the patch names, effective with its next request. Each change is recorded in the
 * account's audit log. Call it in a transaction. Errors: 404; 400 naming the field; 409 when operators would suspend their
 * own account, or when the account owes credit and the plan does not allow it.
 */
async function changeAccount(
  tx: Db,
  actor: Actor,
  { id, ...patch }: AccountPatch & { readonly id: number },
): Promise<void> {
  const author = operatorAuthorOf(actor, id);
  const account = await requireAccount(tx, { id });
  if (patch.name !== undefined) await renameAccount(tx, author, { name: patch.name });
  if (patch.plan !== undefined) await changePlan(tx, author, { plan: patch.plan });
  if (patch.channels !== undefined) await changeChannels(tx, author, { channels: patch.channels });
  await changeRate(tx, author, account, patch);
  if (patch.contactLimits !== undefined) await setLimits(tx, author, patch.contactLimits);
  if (patch.defaultCountry !== undefined || patch.numberChecks !== undefined)
    await changeNumberRules(tx, author, patch);
  if (patch.tlvTags !== undefined) await changeTlvTags(tx, author, patch.tlvTags);
  if (patch.allowListEnforced === false) await clearAllowList(tx, author);
  if (patch.status !== undefined) await suspendOrResume(tx, actor, author, patch.status);
}

type Rates = { readonly ratePerMinute: number | null; readonly ratePerSecond: number | null };

async function changeRate(tx: Db, author: Author, current: Rates, patch: AccountPatch): Promise<void> {
  if (patch.ratePerMinute === undefined && patch.ratePerSecond === undefined) return;
  const { ratePerMinute: perMinute = current.ratePerMinute, ratePerSecond: perSecond = current.ratePerSecond } = patch;
  // An account without its own limit per minute has both limits of the plan.
  await setRate(tx, author, { perMinute, perSecond: perMinute === null ? null : perSecond });
}

async function suspendOrResume(tx: Db, actor: Actor, author: Author, to: 'active' | 'suspended'): Promise<void> {
  const home = actor.session?.accountId ?? actor.accountId;
  if (to === 'suspended' && home === author.accountId)
    throw new AppError('conflict', { message: 'This is your own account: you would lock yourself out' });
  await changeStatus(tx, author, { from: to === 'active' ? 'suspended' : 'active', to });
}

const ONE = { search: null, status: null, plan: null, sort: 'id', descending: false, limit: 1, offset: 0 } as const;

/** Finds an account. Errors: 404. */
export async function requireAccount(db: Db, { id }: { readonly id: number }): Promise<AccountRow> {
  const [account] = await listAccountPage(db, { ...ONE, id });
  if (!account) throw new AppError('not_found', { message: `There is no account ${id}` });
  return account;
}

/** Describes an account with everything that operators may see of it. Errors: 404. */
async function describeAccount(
  db: Db,
  { id: accountId }: { readonly id: number },
): Promise<Static<typeof AccountDetails>> {
  const account = await requireAccount(db, { id: accountId });
  const [allowList, numberRules, book, endpoint] = [
    await findAllowList(db, { accountId }),
    await findNumberRules(db, { accountId }),
    await findBook(db, { accountId }),
    await findEndpoint(db, { accountId }),
  ];
  const { apiKeys, ...events } = await countKeysAndEvents(db, { accountId });
  const people = await listPeople(db, { accountId });
  return {
    ...toAccountOut(account),
    ipAllowList: allowList?.ipAllowList ?? [],
    allowListEnforced: allowList?.enforced ?? false,
    contactLimits: limitsOf(book ?? { planLimit: null, extraLimit: 0, contacts: 0 }),
    ...(numberRules ?? DEFAULT_NUMBER_RULES),
    tlvTags: (await findTlvTags(db, { accountId })).map(nameOfTag),
    apiKeys,
    people: people.map(toPerson),
    webhook: endpoint ? toWebhook(endpoint, events) : null,
    ledgerAgrees: await ledgerBalances(db, { accountId }),
  };
}
