import type { Pool } from 'pg';
import { exec, one, sql } from '../../src/core/db/query.ts';
import { transaction } from '../../src/core/db/transaction.ts';
import { newId } from '../../src/core/ids.ts';
import { MINUTE_MS, SECOND_MS } from '../../src/core/time.ts';
import { NO_NETWORKS } from '../../src/routing/number-lookups.ts';
import { addToCounters, createBaselines } from '../../src/verify/counters.ts';
import { type Gate, passGate, recordStopped, Stopped } from '../../src/verify/gate.ts';
import { type Decision, keysOf } from '../../src/verify/guard.ts';
import { approveProbe } from '../../src/verify/ranges.ts';
import { createAccountWithCredit } from './money.ts';

/** A request for a code in a simulation. */
type Event = {
  readonly at: number;
  readonly number: string;
  readonly country: string;
  readonly address: string;
  readonly isPerson: boolean;
  /** Milliseconds until the code is entered; null: never. */
  readonly entersAfterMs: number | null;
  readonly isDelivered: boolean;
  /** After a challenge. */
  readonly passed?: boolean;
};

/** Results of the requests of a simulation. */
export type Outcome = {
  readonly attacks: number;
  readonly people: number;
  /** Share of the attack that cost nothing. */
  readonly stoppedShare: number;
  /** Share of people who were blocked, or challenged twice. */
  readonly hinderedShare: number;
  readonly challengedShare: number;
  readonly blockedPeople: number;
  /** People challenged more than ten minutes after the beginning of the pattern. */
  readonly challengedLate: number;
  readonly pausedRanges: number;
};

/** A seeded generator of numbers in [0, 1) (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const digits = (random: () => number, count: number): string =>
  Array.from({ length: count }, () => Math.floor(random() * 10)).join('');
const addressOf = (random: () => number): string =>
  `${11 + Math.floor(random() * 180)}.${Math.floor(random() * 250)}.${Math.floor(random() * 250)}.0/24`;

const START = Date.UTC(2027, 0, 15, 9);

type Flow = {
  /** Requests an hour. */
  readonly perHour: number;
  readonly minutes: number;
  readonly fromMinute?: number;
  number(random: () => number): string;
  readonly country: string;
  /** Share of codes that are entered. */
  readonly entered: number;
  readonly isPerson: boolean;
  /** Addresses; absent: one for each request. */
  readonly addresses?: number;
  isDelivered?(minute: number): boolean;
};

/** Makes the requests of a flow: at random times, each of another number. */
function flow(random: () => number, { perHour, minutes, fromMinute = 0, ...of }: Flow): Event[] {
  const count = Math.round((perHour * minutes) / 60);
  const addresses = Array.from({ length: of.addresses ?? 0 }, () => addressOf(random));
  return Array.from({ length: count }, () => {
    const minute = fromMinute + random() * minutes;
    const isDelivered = of.isDelivered?.(minute) ?? random() < 0.97;
    const isEntered = isDelivered && random() < of.entered;
    return {
      at: START + minute * MINUTE_MS,
      number: of.number(random),
      country: of.country,
      address: addresses[Math.floor(random() * addresses.length)] ?? addressOf(random),
      isPerson: of.isPerson,
      // Half of all people enter their code within 22 seconds, nineteen of twenty within two minutes.
      entersAfterMs: isEntered ? Math.min(170, 22 * Math.exp(1.03 * gauss(random))) * SECOND_MS : null,
      isDelivered,
    };
  });
}

const gauss = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

const people = (country: string, prefix: string, length: number, perHour: number, minutes: number): Flow => ({
  country,
  perHour,
  minutes,
  entered: 0.85,
  isPerson: true,
  number: (random) => `${prefix}${digits(random, length)}`,
});

/** The patterns: attacks as operators and carriers describe them, and two that are none. */
export const PATTERNS = {
  /** One range, fast, from few addresses. */
  oneRange: (random) => [
    ...flow(random, people('IT', '+393', 9, 120, 120)),
    ...flow(random, {
      country: 'TJ',
      perHour: 1200,
      minutes: 120,
      entered: 0,
      isPerson: false,
      addresses: 20,
      number: (r) => `+99244012${digits(r, 4)}`,
    }),
  ],
  /** A hundred ranges in five countries, slow, from as many addresses as requests. */
  manyRanges(random) {
    const countries = [
      ['TJ', '+99292', 7],
      ['AZ', '+99450', 7],
      ['LK', '+9471', 7],
      ['ML', '+2237', 7],
      ['TN', '+21620', 6],
    ] as const;
    return [
      ...flow(random, people('IT', '+393', 9, 120, 240)),
      ...countries.flatMap(([country, prefix, length]) =>
        Array.from({ length: 20 }, () => `${prefix}${digits(random, length - 4)}`).flatMap((range) =>
          flow(random, {
            country,
            perHour: 10,
            minutes: 240,
            entered: 0,
            isPerson: false,
            number: (r) => `${range}${digits(r, 4)}`,
          }),
        ),
      ),
    ];
  },
  /** Ranges of the country of the people, with one of ten codes entered by the attacker. */
  mixed(random) {
    const ranges = Array.from({ length: 10 }, () => `+3935${digits(random, 4)}`);
    return [
      ...flow(random, people('IT', '+393', 9, 300, 180)),
      ...ranges.flatMap((range) =>
        flow(random, {
          country: 'IT',
          perHour: 80,
          minutes: 180,
          entered: 0.1,
          isPerson: false,
          number: (r) => `${range}${digits(r, 4)}`,
        }),
      ),
    ];
  },
  /** Thirty times as many people within ten minutes. */
  launch: (random) => [
    ...flow(random, people('IT', '+393', 9, 60, 120)),
    ...flow(random, { ...people('IT', '+393', 9, 1800, 60), fromMinute: 60 }),
  ],
  /** Half an hour in which nobody gets a code, in a country with few ranges. */
  outage(random) {
    const ranges = Array.from({ length: 4 }, () => `+35679${digits(random, 2)}`);
    const isDelivered = (minute: number): boolean => minute < 60 || minute > 90;
    return flow(random, {
      ...people('MT', '', 0, 600, 120),
      number: (r) => `${ranges[Math.floor(r() * ranges.length)]}${digits(r, 4)}`,
      isDelivered,
    });
  },
} satisfies Record<string, (random: () => number) => Event[]>;
export type PatternName = keyof typeof PATTERNS;

type Options = {
  readonly seed: number;
  /** True: receipts report every message as delivered, so that codes alone tell what happens. */
  readonly claimsDelivery?: boolean;
  readonly settings?: Gate['settings'];
};

const MICROS = 40_000;
const SERVICE = '01a1fd63-cf7c-7183-929b-0000000000aa';

type Due = { readonly at: number; run(): Promise<void> };

/** Runs a pattern through the guard on PostgreSQL, for an account of its own with four weeks of history. */
export async function simulate(
  pool: Pool,
  name: PatternName,
  { seed, claimsDelivery = false, settings = {} }: Options,
): Promise<Outcome> {
  const random = randomFrom(seed);
  const accountId = await createAccountWithCredit(pool, 0);
  await addHistory(pool, accountId);
  const events = PATTERNS[name](random).sort((a, b) => a.at - b.at);
  const deps = { tables: { networks: NO_NETWORKS }, baselines: createBaselines() };
  const queue: Due[] = [];
  const count = { sentAttacks: 0, hindered: 0, challenged: 0, challengedLate: 0, blocked: 0 };
  const later = (at: number, run: () => Promise<void>): void => {
    const place = queue.findIndex((due) => due.at > at);
    queue.splice(place === -1 ? queue.length : place, 0, { at, run });
  };
  const gateOf = (event: Event): Gate => ({
    settings,
    serviceId: SERVICE,
    at: new Date(event.at),
    number: event.number,
    country: event.country,
    lineType: null,
    network: null,
    address: event.address,
    userRef: null,
    device: null,
    micros: MICROS,
    challengePassed: event.passed === true,
  });

  async function send(event: Event): Promise<void> {
    const gate = gateOf(event);
    const keys = keysOf(gate);
    const add = (tx: Pool | Parameters<Parameters<typeof transaction>[1]>[0], added: object) =>
      addToCounters(tx, [{ accountId, keys, at: gate.at, ...added }]);
    const passed = await transaction(pool, async (tx) => {
      const done = await passGate(tx, deps, { accountId }, gate, { verificationId: newId() });
      await add(tx, { sent: 1, micros: MICROS });
      return done;
    }).catch((error: unknown) => {
      if (!(error instanceof Stopped)) throw error;
      return error.decision;
    });
    if ('outcome' in passed) {
      await recordStopped(pool, { accountId }, gate, passed, () => Promise.resolve());
      return stopped(event, passed);
    }
    if (!event.isPerson) count.sentAttacks++;
    const receipt = event.isDelivered || claimsDelivery ? { delivered: 1 } : { failed: 1 };
    later(event.at + 5 * SECOND_MS, () => add(pool, receipt));
    if (event.entersAfterMs !== null)
      later(event.at + event.entersAfterMs, async () => {
        await add(pool, { approved: 1 });
        if (passed.probe !== null)
          await approveProbe(pool, {
            accountId,
            prefix: passed.probe,
            at: new Date(event.at + (event.entersAfterMs ?? 0)),
          });
      });
  }

  function stopped(event: Event, { outcome }: Decision): void {
    if (!event.isPerson) return;
    if (outcome === 'BLOCK' || event.passed) count.hindered++;
    if (outcome === 'BLOCK') count.blocked++;
    else {
      count.challenged++;
      if (event.at > START + 70 * MINUTE_MS) count.challengedLate++;
      later(event.at + 15 * SECOND_MS, () => send({ ...event, at: event.at + 15 * SECOND_MS, passed: true }));
    }
  }

  for (const event of events) {
    for (let [due] = queue; due && due.at <= event.at; [due] = queue) {
      queue.shift();
      await due.run();
    }
    await send(event);
  }
  const attacks = events.filter(({ isPerson }) => !isPerson).length;
  const persons = events.length - attacks;
  const { paused } = await one<{ paused: number }>(
    pool,
    sql`SELECT count(*)::int AS paused FROM verify_range WHERE account_id = ${accountId}`,
  );
  return {
    attacks,
    people: persons,
    stoppedShare: attacks === 0 ? 1 : 1 - count.sentAttacks / attacks,
    hinderedShare: count.hindered / persons,
    challengedShare: count.challenged / persons,
    blockedPeople: count.blocked,
    challengedLate: count.challengedLate,
    pausedRanges: paused,
  };
}

/** Gives an account four weeks in which people of Italy and Malta entered 85 of 100 codes. */
async function addHistory(pool: Pool, accountId: number): Promise<void> {
  await exec(
    pool,
    sql`INSERT INTO verify_counter (account_id, kind, key, minutes, at, sent, approved, delivered)
        SELECT ${accountId}, 'country', c.key, 60, ${new Date(START)}::timestamptz - h * interval '1 hour', c.n, c.n * 0.82, c.n * 0.97
        FROM (VALUES ('IT', 100), ('MT', 600)) AS c (key, n), generate_series(25, 600) AS h`,
  );
}
