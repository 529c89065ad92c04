import type { Pool } from 'pg';
import ipaddr from 'ipaddr.js';
import { canonicalAddress, canonicalBlock } from '../core/address.ts';
import { type Db, exec, maybeOne, sql } from '../core/db/query.ts';
import { inTurn, transaction } from '../core/db/transaction.ts';
import { newId } from '../core/ids.ts';
import type { Lookups } from '../messages/prepare.ts';
import { type Baselines, PLAIN, readSignals } from './counters.ts';
import {
  type Attempt,
  type Decision,
  decide,
  isMonitored,
  type Kind,
  keysOf,
  rangesOf,
  type Reason,
  type Signals,
} from './guard.ts';
import { refuseManyOf } from './limits.ts';
import { countStopped, pauseRange, takeProbe } from './ranges.ts';
import type { GuardSettings } from './services.ts';

/** A send on its way through the guard: the attempt, and the settings that apply to it. */
export type Gate = Attempt & {
  readonly settings: GuardSettings;
  readonly maxPerHour?: number | undefined;
};

/** The guard let a send pass: with its observations, and the range that the send probes. */
export type Passed = {
  readonly reasons: readonly Reason[];
  readonly probe: string | null;
  readonly network: string | null;
  /** The id of the decision; null if the guard is off. */
  readonly decisionId: string | null;
};

/** Thrown to roll back the transaction of a send that the guard has stopped. */
export class Stopped extends Error {
  readonly decision: Decision;

  constructor(decision: Decision) {
    super('the guard has stopped a send');
    this.name = 'Stopped';
    this.decision = decision;
  }
}

type Deps = { readonly tables: Pick<Lookups, 'networks'>; readonly baselines: Baselines };
type Account = { readonly accountId: number };

/** Returns the block of addresses that is likely to belong to one client or its neighbours: /24, or /64 of IPv6. */
export function blockOf(ip: string | undefined): string | null {
  const address = canonicalAddress(ip);
  if (address === undefined) return null;
  return canonicalBlock(`${address}/${ipaddr.parse(address).kind() === 'ipv4' ? 24 : 64}`) ?? null;
}

/** Returns the counters of a send. Plain messages count apart: not all clients report which of their codes were entered. */
export const countersOf = (gate: Gate): Map<Kind, string> => (gate.isPlain ? plainKeysOf(gate) : keysOf(gate));

/** Returns the counters of a plain message. */
export const plainKeysOf = (send: Parameters<typeof keysOf>[0]): Map<Kind, string> =>
  new Map([...keysOf(send)].map(([kind, key]) => [kind, `${PLAIN}${key}`]));

/**
 * Lets a send pass or throws `Stopped`, in the transaction that stores the send, with the decision. In a country that is
 * monitored, and by an account that only monitors, every send passes but those beyond a cost cap. Errors: 429 by the
 * limits of clients.
 */
export async function passGate(
  tx: Db,
  deps: Deps,
  { accountId }: Account,
  gate: Gate,
  {
    verificationId,
    decisionId: given = newId(),
  }: { readonly verificationId: string | null; readonly decisionId?: string },
): Promise<Passed> {
  const network = deps.tables.networks.isNeeded() ? await findNetwork(tx, gate.number) : null;
  const attempt = { ...gate, network };
  const keys = countersOf(attempt);
  const { at: now, country, settings } = gate;
  const read = await readSignals(tx, accountId, {
    keys,
    prefixes: rangesOf(attempt),
    now,
    baselines: deps.baselines,
  });
  const signals = gate.isPlain ? asReported(read) : read;
  refuseManyOf(signals.of, gate.maxPerHour);
  const decision = decide(attempt, settings, signals);
  const { probe, reasons } = decision;
  const isEnforced = !isMonitored(settings, country);
  if (isEnforced && decision.outcome !== 'ALLOW') throw new Stopped(decision);
  // Another rule may come first.
  if (reasons.some(({ rule }) => rule === 'cost_cap'))
    throw new Stopped({ outcome: 'BLOCK', rule: 'cost_cap', reasons });
  // The code of a plain message whose client reports none would prove nothing.
  const mayProbe = gate.isPlain ? isReporting(read) : true;
  if (isEnforced && probe !== undefined && !(mayProbe && (await takeProbe(tx, { accountId, prefix: probe, at: now }))))
    throw new Stopped({
      outcome: 'BLOCK',
      rule: 'range_paused',
      reasons: [...reasons, { rule: 'range_paused', prefix: probe }],
    });
  const decisionId =
    settings.mode === 'off'
      ? null
      : await insertDecision(tx, { id: given, accountId, gate, decision, verificationId, enforced: isEnforced });
  return { reasons, network, decisionId, probe: isEnforced ? (probe ?? null) : null };
}

const NOTHING = { sent: 0, approved: 0 };

/** True if the account has reported plain codes of the last hour that were entered. */
const isReporting = ({ of }: Signals): boolean => (of('account')?.known.hour.approved ?? 0) > 0;

/** Least share that counts as usual: other ranges of the same attack, or one code that an attacker enters, must not make 0. */
const LEAST_SHARE = 0.02;

/**
 * Signals in which a time counts only if the account has reported codes of it that were entered, and the day only if
 * it reports as they are entered: a client that reports none, stops doing so, or reports once a day, must not look like an
 * attack. Usual is at most what the account reports of all other ranges, which may be a few of its codes.
 */
function asReported({ of, baseline, ...signals }: Signals): Signals {
  const account = of('account')?.known;
  const counts = {
    ten: (account?.ten.approved ?? 0) > 0,
    hour: (account?.hour.approved ?? 0) > 0,
    day: (account?.hour.approved ?? 0) > 0 && (account?.day.approved ?? 0) > 0,
  };
  const own = of('range4')?.known;
  const shares = (['ten', 'hour', 'day'] as const).flatMap((window) => {
    const all = counts[window] ? account?.[window] : undefined;
    const sent = (all?.sent ?? 0) - (own?.[window].sent ?? 0);
    return all && sent > 0 ? (all.approved - (own?.[window].approved ?? 0)) / sent : [];
  });
  return {
    ...signals,
    baseline: {
      ...baseline,
      conversion: Math.min(baseline.conversion, ...shares.map((share) => Math.max(share, LEAST_SHARE))),
    },
    of(kind) {
      const found = of(kind);
      if (!found) return undefined;
      const { ten, hour, day } = found.known;
      const known = {
        ten: counts.ten ? ten : NOTHING,
        hour: counts.hour ? hour : NOTHING,
        day: counts.day ? day : NOTHING,
      };
      return { ...found, known };
    },
  };
}

const findNetwork = async (db: Db, number: string): Promise<string | null> =>
  (
    await maybeOne<{ network: string | null }>(
      db,
      sql`SELECT network FROM number_network WHERE number = ${number} AND valid_until > now()`,
    )
  )?.network ?? null;

/** Records a send that was stopped, with the pause that follows from it and whatever `more` adds. */
export async function recordStopped(
  pool: Pool,
  { accountId }: Account,
  gate: Gate,
  decision: Decision,
  more: (tx: Db) => Promise<void>,
): Promise<void> {
  const { pause, reasons, rule } = decision;
  const place = { accountId, at: gate.at };
  await inTurn(pool, { accountId }, () =>
    transaction(pool, async (tx) => {
      if (pause) await pauseRange(tx, { ...place, pause, reasons });
      const prefix = reasons.find((reason) => reason.rule === rule)?.prefix;
      if (rule === 'range_paused' && prefix !== undefined) await countStopped(tx, { accountId, prefix });
      await insertDecision(tx, { id: newId(), accountId, gate, decision, verificationId: null, enforced: true });
      await more(tx);
    }),
  );
}

type NewDecision = {
  readonly id: string;
  readonly accountId: number;
  readonly gate: Gate;
  readonly decision: Decision;
  readonly verificationId: string | null;
  readonly enforced: boolean;
};

async function insertDecision(
  tx: Db,
  { id, accountId, gate, decision, verificationId, enforced }: NewDecision,
): Promise<string> {
  const { outcome, rule, reasons } = decision;
  const prefix = reasons.find((reason) => reason.rule === rule)?.prefix ?? null;
  await exec(
    tx,
    sql`INSERT INTO verify_decision (account_id, id, service_id, verification_id, number, country, outcome, enforced, rule,
                                     prefix, reasons, micros, address, user_ref, device)
        VALUES (${accountId}, ${id}, ${gate.serviceId}, ${verificationId}, ${gate.number}, ${gate.country}, ${outcome},
                ${enforced}, ${rule}, ${prefix}, ${JSON.stringify(reasons)}, ${gate.micros}, ${gate.address}, ${gate.userRef},
                ${gate.device})`,
  );
  return id;
}
