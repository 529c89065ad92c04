import { type Db, many, maybeOne, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { Channel } from '../../../platform/lib/channel.ts';

export const POLICIES = ['priority', 'least-cost'] as const;
export type PolicyName = (typeof POLICIES)[number];

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
export async function insertPolicy(db: Db, policy: Omit<Policy, 'id'>): Promise<Policy> {
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
export async function deletePolicy(db: Db, { id }: { id: number }): Promise<Policy | undefined> {
  return maybeOne(db, sql`DELETE FROM route_policy p WHERE p.id = ${id} RETURNING ${POLICY}`);
}
