import { mapInSlices } from '../core/background.ts';
import { as, columns, type Db, many, type RowOf, sql } from '../core/db/query.ts';
import { firstIdAt, timeOfId } from '../core/ids.ts';
import { describeNumber, DEFAULT_NUMBER_RULES } from '../core/phone.ts';
import { HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { type Baselines, DEFAULT_BASELINE, KNOWN_AFTER_MS } from './counters.ts';
import {
  type Attempt,
  type Baseline,
  type Counts,
  decide,
  type Decision,
  type Kind,
  keysOf,
  lineTypeOf,
  type Range,
} from './guard.ts';
import type { GuardSettings } from './services.ts';

/** The most sends of one replay. */
export const MAX_REPLAYED = 20_000;

const PAST = columns({
  id: as<string>('d.id'),
  serviceId: as<string | null>('d.service_id'),
  number: as<string>('d.number'),
  country: as<string | null>('d.country'),
  outcome: as<Decision['outcome']>('d.outcome'),
  enforced: as<boolean>('d.enforced'),
  micros: as<number>('d.micros'),
  address: as<string | null>('d.address'),
  userRef: as<string | null>('d.user_ref'),
  device: as<string | null>('d.device'),
  /** True if a person has entered the code; null: nothing was sent. */
  approved: as<boolean | null>("v.status = 'APPROVED' OR v.feedback = 'converted'"),
});
type Past = RowOf<typeof PAST>;

const listPast = (db: Db, { accountId, serviceId, from, to }: Span): Promise<Past[]> =>
  many(
    db,
    sql`SELECT ${PAST} FROM verify_decision d
        LEFT JOIN verification v ON v.account_id = d.account_id AND v.id = d.verification_id
        -- Plain messages count apart, and only as far as their clients report.
        WHERE d.account_id = ${accountId} AND d.id >= ${firstIdAt(from)} AND d.id < ${firstIdAt(to)}
          AND d.service_id IS NOT NULL AND (${serviceId}::uuid IS NULL OR d.service_id = ${serviceId})
        ORDER BY d.id LIMIT ${MAX_REPLAYED}`,
  );

type Span = { readonly accountId: number; readonly serviceId: string | null; readonly from: Date; readonly to: Date };

/** Effects that settings would have had on past sends. */
export type Replayed = {
  readonly sends: number;
  readonly stopped: number;
  readonly challenged: number;
  readonly stoppedMicros: number;
  /** People who have entered their codes, and would not have got them; and those who would have had to pass a challenge. */
  readonly peopleBlocked: number;
  readonly peopleChallenged: number;
  readonly rules: Readonly<Record<string, number>>;
};

/**
 * Runs past sends through the guard with other settings, in their order. What was stopped then has no code that could have
 * been entered, and counts as nobody's.
 */
export async function replay(
  db: Db,
  span: Span,
  { guard, baselines }: { readonly guard: GuardSettings; readonly baselines: Baselines },
): Promise<Replayed> {
  const past = await listPast(db, span);
  const memory = createMemory();
  const sum = { sends: 0, stopped: 0, challenged: 0, stoppedMicros: 0, peopleBlocked: 0, peopleChallenged: 0 };
  const rules: Record<string, number> = {};
  const usual = new Map<string, Baseline>();
  for (const country of new Set(past.map((each) => each.country ?? '-')))
    usual.set(country, await baselines.of(db, span.accountId, country, span.from));
  await mapInSlices(past, (each) => {
    const attempt = attemptOf(each);
    const keys = keysOf(attempt);
    const signals = {
      of: (kind: Kind) => memory.counts(kind, keys.get(kind), attempt.at),
      ranges: memory.ranges,
      baseline: usual.get(each.country ?? '-') ?? DEFAULT_BASELINE,
    };
    const { outcome, rule, pause, probe } = decide(attempt, guard, signals);
    sum.sends++;
    if (pause) memory.pause(pause, attempt.at);
    if (outcome === 'ALLOW') {
      memory.add(keys, attempt, each.approved === true, probe);
      return;
    }
    rules[rule ?? ''] = (rules[rule ?? ''] ?? 0) + 1;
    const isBlock = outcome === 'BLOCK';
    if (isBlock) sum.stopped++;
    else sum.challenged++;
    if (each.approved) sum[isBlock ? 'peopleBlocked' : 'peopleChallenged']++;
    else sum.stoppedMicros += each.micros;
    // A person passes the challenge, and counts like anybody else.
    if (!isBlock && each.approved) memory.add(keys, attempt, true, probe);
  });
  return { ...sum, rules };
}

function attemptOf(past: Past): Attempt {
  const phone = describeNumber(past.number, DEFAULT_NUMBER_RULES);
  const { serviceId, number, country, micros, address, userRef, device } = past;
  const lineType = 'fault' in phone ? null : lineTypeOf(phone);
  const at = timeOfId(past.id);
  return {
    at,
    number,
    country,
    lineType,
    network: null,
    address,
    userRef,
    device,
    serviceId,
    micros,
    challengePassed: false,
  };
}

type Bucket = { sent: number; approved: number; micros: number };

/** The counters and ranges of a replay, in memory: by minute of the last day. */
function createMemory() {
  const counters = new Map<string, Map<number, Bucket>>();
  const ranges = new Map<string, Range>();
  const minuteOf = (at: Date): number => Math.floor(at.getTime() / MINUTE_MS);

  function counts(kind: Kind, key: string | undefined, at: Date): Counts | undefined {
    const own = counters.get(`${kind}/${key}`);
    if (!own) return undefined;
    const now = minuteOf(at);
    const known = now - KNOWN_AFTER_MS / MINUTE_MS;
    const sum = (from: number, to: number): Bucket => {
      const total = { sent: 0, approved: 0, micros: 0 };
      for (const [minute, bucket] of own) {
        if (minute < now - 1440) own.delete(minute);
        if (minute <= from || minute > to) continue;
        total.sent += bucket.sent;
        total.approved += bucket.approved;
        total.micros += bucket.micros;
      }
      return total;
    };
    const [ten, hour, day] = [sum(now - 10, now), sum(now - HOUR_MS / MINUTE_MS, now), sum(now - 1440, now)];
    return {
      ten: ten.sent,
      hour: hour.sent,
      tenApproved: ten.approved,
      known: { ten: sum(known - 10, known), hour: sum(known - 60, known), day: sum(now - 1440, known) },
      delivered: 0,
      failed: 0,
      hourMicros: hour.micros,
      dayMicros: day.micros,
    };
  }

  return {
    ranges,
    counts,
    add(
      keys: ReadonlyMap<Kind, string>,
      { at, micros }: Attempt,
      isApproved: boolean,
      probe: string | undefined,
    ): void {
      for (const [kind, key] of keys) {
        const own = counters.get(`${kind}/${key}`) ?? new Map<number, Bucket>();
        counters.set(`${kind}/${key}`, own);
        const bucket = own.get(minuteOf(at)) ?? { sent: 0, approved: 0, micros: 0 };
        own.set(minuteOf(at), {
          sent: bucket.sent + 1,
          approved: bucket.approved + Number(isApproved),
          micros: bucket.micros + micros,
        });
      }
      const range = probe === undefined ? undefined : ranges.get(probe);
      if (range) ranges.set(range.prefix, { ...range, probes: [...range.probes, at], stopped: 0 });
    },
    pause({ prefix, level, minutes }: NonNullable<Decision['pause']>, at: Date): void {
      const until = new Date(at.getTime() + minutes * MINUTE_MS);
      ranges.set(prefix, { prefix, state: 'PAUSED', level, since: at, until, probes: [], stopped: 0 });
    },
  };
}
