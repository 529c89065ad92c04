import { type Command, Option } from 'commander';
import { GATEWAY_ACCOUNT_ID, operatorAuthor, operatorName, recordAudit } from '../accounts/audit.ts';
import type { Channel } from '../core/channels.ts';
import { type CommandContext, table } from '../core/cli.ts';
import { as, columns, type Db, many, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError, type FieldError, invalidFields } from '../core/errors.ts';
import { notifyRoutingChange } from './connection-store.ts';

/** The policy of a prefix, with shares from 0 to 1. Omitted fields get their default. */
export type PolicyInput = Pick<Policy, 'channel' | 'prefix' | 'policy'> & {
  /** Minimum share of messages that is delivered; default 0.8. */
  readonly floor?: number | undefined;
  /** Maximum seconds that receipts take on average; default: any. */
  readonly maxReceiptSeconds?: number | null | undefined;
  /** Minimum samples; with fewer, a connection is on trial; default 50. */
  readonly minSamples?: number | undefined;
  /** The share of messages that goes to connections on trial or below the floor; default 0.05. */
  readonly explore?: number | undefined;
  /** Hours for which samples count; default 3. */
  readonly hours?: number | undefined;
};

type By = { readonly by: string };

/**
 * Sets the order of a prefix's routes; running processes follow immediately. Call it in a transaction. Errors: 400
 * naming the invalid fields.
 */
export async function setPolicy(tx: Db, { by, ...input }: PolicyInput & By): Promise<Policy> {
  const { floor = 0.8, explore = 0.05, maxReceiptSeconds = null, minSamples = 50, hours = 3, ...rest } = input;
  const errors = [
    ...(/^\d{0,15}$/.test(rest.prefix) ? [] : [{ field: 'prefix', message: 'must be up to 15 digits' }]),
    ...within('floor', floor, 0, 1),
    ...within('explore', explore, 0, 0.5),
    ...whole('minSamples', minSamples, 1, 1_000_000),
    ...whole('hours', hours, 1, 48),
    ...(maxReceiptSeconds === null ? [] : whole('maxReceiptSeconds', maxReceiptSeconds, 1, 300)),
  ];
  if (errors.length > 0) throw invalidFields(errors);
  const shares = { minDelivered: Math.round(floor * 1000), explore: Math.round(explore * 1000) };
  const policy = await insertPolicy(tx, { ...rest, ...shares, maxReceiptSeconds, minSamples, hours });
  await record(tx, { by, action: 'route.set-policy', policy });
  return policy;
}

const within = (field: string, value: number, from: number, to: number): FieldError[] =>
  value >= from && value <= to ? [] : [{ field, message: `must be a share from ${from} to ${to}` }];

const whole = (field: string, value: number, from: number, to: number): FieldError[] =>
  Number.isInteger(value) && value >= from && value <= to
    ? []
    : [{ field, message: `must be a whole number from ${from} to ${to}` }];

/**
 * Removes a policy, so that the policy of a shorter prefix decides, or the priorities. Call it in a transaction.
 * Errors: 404.
 */
export async function removePolicy(tx: Db, { id, by }: { readonly id: number } & By): Promise<void> {
  const policy = Number.isSafeInteger(id) ? await deletePolicy(tx, { id }) : undefined;
  if (!policy) throw new AppError('not_found', { message: 'There is no such policy' });
  await record(tx, { by, action: 'route.remove-policy', policy });
}

async function record(tx: Db, { by, action, policy }: By & { readonly action: string; readonly policy: Policy }) {
  const { id, ...detail } = policy;
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), { action, subject: `route-policy:${id}`, detail });
  await notifyRoutingChange(tx);
}

/** Registers `route policy set`, `list` and `remove`. A running program follows immediately. */
export function registerPolicyCommands(route: Command, context: CommandContext): void {
  const policy = route.command('policy').description('order of the routes of a prefix');

  policy
    .command('set')
    .description('set the order of routes: by priority, or the cheapest of those that deliver enough')
    .addOption(new Option('--channel <channel>', 'the channel').choices(['SMS']).default('SMS'))
    .option('--prefix <digits>', 'leading digits of the numbers without the plus; the longest match decides', '')
    .addOption(new Option('--policy <policy>', 'order of the routes').choices(POLICIES).makeOptionMandatory())
    .option('--floor <share>', 'minimum share of messages that must be delivered, such as 0.9 (default 0.8)', Number)
    .option('--max-receipt-seconds <n>', 'maximum seconds that receipts may take on average', Number)
    .option('--min-samples <n>', 'with fewer samples a connection is on trial (default 50)', Number)
    .option('--explore <share>', 'the share for connections on trial or below the floor (default 0.05)', Number)
    .option('--hours <n>', 'hours for which samples count (default 3)', Number)
    .action(async (flags: PolicyInput) => {
      const set = await context.withDatabase((pool) =>
        transaction(pool, (tx) => setPolicy(tx, { ...flags, by: operatorName() })),
      );
      context.report(set, (made) => `Policy ${made.id} is set: ${describePolicy(made)}.`);
    });

  policy
    .command('list')
    .description('list the policies; without one, routes are ordered by priority')
    .action(async () =>
      context.report(await context.withDatabase(listPolicies), (rows) =>
        table(
          ['id', 'channel', 'prefix', 'policy'],
          rows.map((row) => [row.id, row.channel, row.prefix || '(all)', describePolicy(row)]),
        ),
      ),
    );

  policy
    .command('remove')
    .argument('<id>')
    .description('remove a policy')
    .action(async (text: string) => {
      const id = Number(text);
      await context.withDatabase((pool) => transaction(pool, (tx) => removePolicy(tx, { id, by: operatorName() })));
      context.report({ id }, () => `Policy ${id} was removed.`);
    });
}

/** Writes a policy for people: `least cost of those that deliver 80 %, 5 % to try the others`. */
export function describePolicy({
  policy,
  minDelivered,
  maxReceiptSeconds,
  explore,
  minSamples,
  hours,
}: Policy): string {
  if (policy === 'priority') return 'by priority';
  const quick = maxReceiptSeconds === null ? '' : ` within ${maxReceiptSeconds} s`;
  const samples = `by at least ${minSamples} samples of ${hours} h`;
  return `least cost of those that deliver ${minDelivered / 10} %${quick} ${samples}, ${explore / 10} % to try the others`;
}

const POLICIES = ['priority', 'least-cost'] as const;
type PolicyName = (typeof POLICIES)[number];

const POLICY = columns({
  id: as<number>('p.id'),
  channel: as<Channel>('p.channel'),
  /** Leading digits without the plus; empty for all numbers. */
  prefix: as<string>('p.prefix'),
  policy: as<PolicyName>('p.policy'),
  /** The floor of quality: the minimum share of messages that is delivered, in thousandths. */
  minDelivered: as<number>('p.min_delivered'),
  /** Maximum seconds that receipts take on average; null: any. */
  maxReceiptSeconds: as<number | null>('p.max_receipt_seconds'),
  /** Minimum samples; with fewer, a connection is on trial. */
  minSamples: as<number>('p.min_samples'),
  /** The share of messages that goes to connections on trial or below the floor, in thousandths. */
  explore: as<number>('p.explore'),
  /** Hours for which samples count. */
  hours: as<number>('p.hours'),
});
export type Policy = RowOf<typeof POLICY>;

/** Lists all policies, by channel and prefix. */
export async function listPolicies(db: Db): Promise<Policy[]> {
  return many(db, sql`SELECT ${POLICY} FROM route_policy p ORDER BY p.channel, p.prefix`);
}

/** Inserts the policy of a prefix, or changes the one that exists. */
async function insertPolicy(db: Db, policy: Omit<Policy, 'id'>): Promise<Policy> {
  return one(
    db,
    sql`INSERT INTO route_policy AS p (channel, prefix, policy, min_delivered, max_receipt_seconds, min_samples, explore,
                                       hours)
        VALUES (${policy.channel}, ${policy.prefix}, ${policy.policy}, ${policy.minDelivered},
                ${policy.maxReceiptSeconds}, ${policy.minSamples}, ${policy.explore}, ${policy.hours})
        ON CONFLICT (channel, prefix) DO UPDATE
          SET policy = excluded.policy, min_delivered = excluded.min_delivered,
              max_receipt_seconds = excluded.max_receipt_seconds, min_samples = excluded.min_samples,
              explore = excluded.explore, hours = excluded.hours
        RETURNING ${POLICY}`,
  );
}

/** Deletes a policy and returns it; undefined when there is none. */
async function deletePolicy(db: Db, { id }: { id: number }): Promise<Policy | undefined> {
  return maybeOne(db, sql`DELETE FROM route_policy p WHERE p.id = ${id} RETURNING ${POLICY}`);
}
