import { Type } from 'typebox';
import type { Actor } from '../core/actor.ts';
import { canonicalAddress, canonicalBlock, createAddressList } from '../core/address.ts';
import { as, columns, type Db, exec, maybeOne, type RowOf, sql } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, existing, invalidFields } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { updateAccountRate } from './accounts.ts';
import { type Author, recordAudit } from './audit.ts';

const PATH = '/api/partner-gateway/v1/account/security';
const tags = ['Account'];

/** Registers the routes for the account's allow-list and its policy on second factors. They need the scope `keys`. */
export function securityRoutes(app: App, { pool }: PlatformDeps): void {
  const onRequest = requireScope('keys');

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'getAccountSecurity',
      summary: 'Get the security settings of the account',
      description: 'The addresses from which the account may be used, and whether users need a second factor.',
      response: { 200: SecurityOut },
    },
    handler: async ({ actor, ip }) => {
      const db = tenant(pool, actor);
      const [list, policy] = await Promise.all([findAllowList(db, actor), findSecondFactorPolicy(db, actor)]);
      if (!list || !policy) throw new AppError('not_found');
      const { secondFactor } = policy;
      return { ...list, secondFactor, callerAddress: canonicalAddress(ip) ?? ip };
    },
  });

  app.put(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'putAccountSecurity',
      summary: 'Change the security settings of the account',
      description:
        'The addresses from which the account may be used, effective with the next request. An IPv4-mapped IPv6 address ' +
        'counts as its IPv4 address. Behind a proxy, the address is the one that the trusted proxies saw. A list that does ' +
        'not contain your own address is 400 unless `force` is true. `secondFactor` is unchanged if it is omitted; ' +
        'requiring a second factor that you do not have yourself is 409.',
      body: withExamples(SecurityIn, { ipAllowList: ['127.0.0.1', '::1', '203.0.113.0/24'], enforced: false }),
      response: { 200: SecurityOut },
    },
    handler: async ({ actor, body, ip }) => {
      const input = { ...body, force: body.force === true, ip };
      return tenantTransaction(pool, actor, async (tx) => {
        const { secondFactor } = body;
        if (secondFactor) await changeSecondFactorPolicy(tx, actor, { secondFactor });
        const changed = await changeAllowList(tx, actor, input);
        const policy = await existing(findSecondFactorPolicy(tx, actor));
        return { ...changed, secondFactor: policy.secondFactor, callerAddress: canonicalAddress(ip) ?? ip };
      });
    },
  });
}

const ALLOW_LIST = columns({
  /** Canonical blocks, in the given order. */
  ipAllowList: as<string[]>('ip_allow_list::text[]'),
  /** If false, the list is stored but every address is accepted. */
  enforced: as<boolean>('ip_allow_list_enforced'),
});
/** The addresses from which an account may be used. */
type AllowList = RowOf<typeof ALLOW_LIST>;

export const findAllowList = (db: Db, { accountId }: { accountId: number }): Promise<AllowList | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${ALLOW_LIST}
      FROM account WHERE id = ${accountId}`,
  );

/** Policies for the second factors of an account's users. */
const SECOND_FACTOR_POLICIES = ['optional', 'required'] as const;
type SecondFactorPolicy = (typeof SECOND_FACTOR_POLICIES)[number];

/** Finds the policy of an account on second factors; `hasOwn` is true if this user, if any, has one. */
const findSecondFactorPolicy = (
  db: Db,
  input: { accountId: number; userId: number | null },
): Promise<{ secondFactor: SecondFactorPolicy; hasOwn: boolean } | undefined> =>
  maybeOne<{ secondFactor: SecondFactorPolicy; hasOwn: boolean }>(
    db,
    sql`SELECT a.second_factor AS "secondFactor",
        EXISTS (SELECT FROM totp_factor f WHERE f.user_id = ${input.userId} AND f.secret IS NOT NULL)
          OR EXISTS (SELECT FROM passkey k WHERE k.user_id = ${input.userId}) AS "hasOwn"
      FROM account a WHERE a.id = ${input.accountId}`,
  );

/** Sets the policy on second factors. Returns 1, or 0 if it is unchanged. */
const updateSecondFactorPolicy = (
  db: Db,
  input: { accountId: number; secondFactor: SecondFactorPolicy },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE account SET second_factor = ${input.secondFactor}
      WHERE id = ${input.accountId} AND second_factor <> ${input.secondFactor}`,
  );

/** Replaces the allow-list, effective with the next request on every process. Returns 0 if it is the same. */
const updateAllowList = (db: Db, list: { accountId: number } & AllowList): Promise<number> =>
  exec(
    db,
    sql`UPDATE account SET ip_allow_list = ${list.ipAllowList}::cidr[], ip_allow_list_enforced = ${list.enforced}
      WHERE id = ${list.accountId}
        AND (ip_allow_list, ip_allow_list_enforced) IS DISTINCT FROM (${list.ipAllowList}::cidr[], ${list.enforced})`,
  );

const MAX_BLOCKS = 200;
/** The longest notation of an address with its mask, and room for spaces. */
const MAX_LENGTH = 100;

const enforced = Type.Boolean({ description: 'True if requests from other addresses are rejected (403).' });

const secondFactor = () =>
  Type.Enum([...SECOND_FACTOR_POLICIES], {
    type: 'string',
    description:
      'Requirement of a second factor for users. If `required`, users without one can only add one, and ' +
      'passwords are not accepted with Basic. API keys are not affected.',
  });

const SecurityIn = Type.Object({
  ipAllowList: Type.Array(Type.String({ maxLength: MAX_LENGTH }), {
    maxItems: MAX_BLOCKS,
    description: 'IPv4 and IPv6 addresses and CIDR blocks. Replaces the list.',
  }),
  enforced,
  secondFactor: Type.Optional(secondFactor()),
  force: Type.Optional(
    Type.Boolean({ description: 'Accept a list that does not contain your own address. False by default.' }),
  ),
});

const SecurityOut = Type.Object({
  ipAllowList: Type.Array(Type.String(), { description: 'CIDR blocks in their canonical form.' }),
  enforced,
  secondFactor: secondFactor(),
  callerAddress: Type.String({
    description: 'The address of this request, in the form that is compared with the list.',
  }),
});

type AllowListInput = {
  /** Addresses and CIDR blocks, in any notation. */
  readonly ipAllowList: readonly string[];
  readonly enforced: boolean;
  /** Accepts a list that does not contain the caller's own address. */
  readonly force: boolean;
  /** The address that the caller calls from. */
  readonly ip: string;
};

/**
 * Replaces the allow-list of the actor's account and returns it in canonical form, without duplicates. Call it in a
 * transaction, which also commits the audit entry. Errors: 400 naming every entry that is not an address or block, or
 * when the caller's own address would be denied.
 */
async function changeAllowList(tx: Db, actor: Actor, input: AllowListInput): Promise<AllowList> {
  const { enforced, force, ip } = input;
  const ipAllowList = canonicalBlocks(input.ipAllowList);
  if (enforced && !force && !createAddressList(ipAllowList)(ip)) throw lockedOut(ip);
  await storeAllowList(tx, actor, { ipAllowList, enforced });
  return { ipAllowList, enforced };
}

/**
 * Sets whether the users of the actor's account need a second factor, effective with their next requests: where it is
 * required, users without one may do nothing but add one. Call it in a transaction. Errors: 409 when the actor is a user
 * who would be the first to lose access.
 */
async function changeSecondFactorPolicy(
  tx: Db,
  actor: Pick<Actor, 'kind'> & Author,
  { secondFactor }: { secondFactor: SecondFactorPolicy },
): Promise<void> {
  const { accountId, kind, userId } = actor;
  const found = await findSecondFactorPolicy(tx, { accountId, userId });
  if (secondFactor === 'required' && kind === 'user' && !found?.hasOwn)
    throw new AppError('conflict', { message: 'Add your own second factor first: you would need it immediately' });
  if ((await updateSecondFactorPolicy(tx, { accountId, secondFactor })) === 0) return;
  const detail = { secondFactor };
  await recordAudit(tx, actor, { action: 'account.second-factor', subject: `account:${accountId}`, detail });
}

/** Empties the allow-list of the author's account, so that every address is accepted. Call it in a transaction. */
export const clearAllowList = (tx: Db, author: Author): Promise<void> =>
  storeAllowList(tx, author, { ipAllowList: [], enforced: false });

async function storeAllowList(tx: Db, author: Author, list: AllowList): Promise<void> {
  const { accountId } = author;
  if ((await updateAllowList(tx, { accountId, ...list })) === 0) return;
  await recordAudit(tx, author, { action: 'account.security', subject: `account:${accountId}`, detail: list });
}

function canonicalBlocks(entries: readonly string[]): string[] {
  const blocks = entries.map((entry) => canonicalBlock(entry.trim()));
  const wrong = entries.flatMap((_, i) =>
    blocks[i] === undefined
      ? [{ field: `ipAllowList[${i}]`, message: 'must be an IP address or a CIDR block such as 203.0.113.0/24' }]
      : [],
  );
  if (wrong.length > 0) throw invalidFields(wrong);
  return [...new Set(blocks.filter((block) => block !== undefined))];
}

const lockedOut = (ip: string) =>
  invalidFields([
    {
      field: 'ipAllowList',
      message: `does not contain your own address ${canonicalAddress(ip) ?? ip}, so you would be locked out; "force": true saves it anyway`,
    },
  ]);

/**
 * Sets the request limit of each key and user of the author's account, effective with the next request: null restores
 * that of the plan, 0 per minute means no limit. Call it in a transaction.
 */
export async function setRate(
  tx: Db,
  author: Author,
  rate: { perMinute: number | null; perSecond: number | null },
): Promise<void> {
  const { accountId } = author;
  await updateAccountRate(tx, { accountId, ...rate });
  await recordAudit(tx, author, { action: 'account.limit', subject: `account:${accountId}`, detail: rate });
}
