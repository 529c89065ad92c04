import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import type { Channel } from '../core/channels.ts';
import { as, columns, type Db, many, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
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
