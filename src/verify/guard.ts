import type { PhoneDetails } from '../core/phone.ts';
import type { GuardSettings, LineType } from './services.ts';

/** A send about which the guard decides. */
export type Attempt = {
  readonly at: Date;
  /** In E.164. */
  readonly number: string;
  readonly country: string | null;
  readonly lineType: LineType | null;
  /** MCC and MNC, if known. */
  readonly network: string | null;
  /** The block of addresses of the client: /24 or /64. */
  readonly address: string | null;
  readonly userRef: string | null;
  readonly device: string | null;
  readonly serviceId: string | null;
  readonly micros: number;
  readonly challengePassed: boolean;
  /** True for a plain message: its client cannot be asked for a challenge, and need not report which codes were entered. */
  readonly isPlain?: true;
};

/** Sends of one key that are old enough to know whether their codes are entered, and how many were. */
export type Known = { readonly sent: number; readonly approved: number };

/** Counts of one key, such as a range, an address or a country. */
export type Counts = {
  /** Sends of the last 10 and 60 minutes. */
  readonly ten: number;
  readonly hour: number;
  /** Of those of the last 10 minutes. */
  readonly tenApproved: number;
  readonly known: { readonly ten: Known; readonly hour: Known; readonly day: Known };
  /** Of the known sends of the last 10 minutes. */
  readonly delivered: number;
  readonly failed: number;
  readonly hourMicros: number;
  readonly dayMicros: number;
};

export const KINDS = [
  'address',
  'user',
  'device',
  'block',
  'range3',
  'range4',
  'network',
  'country',
  'account',
  'service',
] as const;
export type Kind = (typeof KINDS)[number];

/** A range of numbers with a state. PAUSED lasts `until`; RELEASED and BLOCKED last until a person changes them. */
export type Range = {
  readonly prefix: string;
  readonly state: 'PAUSED' | 'OPEN' | 'RELEASED' | 'BLOCKED';
  readonly level: number;
  readonly since: Date;
  readonly until: Date | null;
  readonly probes: readonly Date[];
  /** Sends that were stopped since the last probe. */
  readonly stopped: number;
};

/** Usual figures for numbers of a country: the last 28 days without the last one. */
export type Baseline = {
  readonly conversion: number;
  /** Sends in an hour. */
  readonly perHour: number;
  /** Share of sends with a receipt of delivery. */
  readonly delivered: number;
  readonly source: 'country' | 'account' | 'default';
};

/** Facts on which the guard decides. */
export type Signals = {
  of(kind: Kind): Counts | undefined;
  readonly ranges: ReadonlyMap<string, Range>;
  readonly baseline: Baseline;
};

export type Rule =
  | 'safe_list'
  | 'country'
  | 'line_type'
  | 'address_velocity'
  | 'device_velocity'
  | 'sequence'
  | 'range_velocity'
  | 'country_velocity'
  | 'range_conversion'
  | 'range_paused'
  | 'range_blocked'
  | 'probe'
  | 'network_conversion'
  | 'country_conversion'
  | 'carrier_outage'
  | 'no_address'
  | 'no_history'
  | 'cost_cap';

/** One observation behind a decision. */
export type Reason = {
  readonly rule: Rule;
  readonly prefix?: string;
  readonly value?: number | string;
  readonly limit?: number | string;
  readonly window?: string;
};

/** A decision with everything that was observed; `rule` is the one that decided. */
export type Decision = {
  readonly outcome: 'ALLOW' | 'CHALLENGE' | 'BLOCK';
  readonly rule: Rule | null;
  readonly reasons: readonly Reason[];
  /** A range that is to be paused because of this decision. */
  readonly pause?: { readonly prefix: string; readonly level: number; readonly minutes: number };
  /** The paused range that this send probes. */
  readonly probe?: string;
};

/** Length of a pause, by how often the range was paused before. */
const PAUSE_MINUTES = [15, 60, 240, 1440];
const MIN_SENT = 10;
/** After a pause the evidence of the day counts again, with this many new sends. */
const MIN_SENT_AGAIN = 3;
/** Sends by country and network with which their conversion means something. */
const MIN_SENT_WIDE = 30;
const MINUTE = 60_000;

/** Line types that are blocked unless the account has other settings. */
const BLOCKED_TYPES: readonly LineType[] = ['PREMIUM', 'FIXED_LINE', 'TOLL_FREE', 'UNASSIGNED'];
/** Minimum share of the usual conversion in a range, and maximum sends that are not suspicious, by mode. */
const MODES = {
  standard: { share: 0.25, perAddress: 10, perDevice: 10, inBlock: 8, inRange: 8 },
  strict: { share: 0.4, perAddress: 5, perDevice: 5, inBlock: 5, inRange: 5 },
};
/** Sends an hour at which the velocity of a country is looked at, and how many times the usual number is no surprise. */
const FLOOR_PER_HOUR = 5;
const TIMES_USUAL = 4;

const PREFIXES: readonly (readonly [kind: 'range3' | 'range4', digits: number])[] = [
  ['range4', 4],
  ['range3', 3],
];
/** Returns the range of a number: the number without its last digits. */
const rangeOf = (number: string, digits: number): string => number.slice(0, Math.max(2, number.length - digits));

/** Returns the ranges of a number, the larger one first. */
export const rangesOf = ({ number }: Pick<Attempt, 'number'>): string[] =>
  PREFIXES.map(([, digits]) => rangeOf(number, digits));

/** Returns the keys under which a send counts. */
export const keysOf = (attempt: Omit<Attempt, 'at' | 'lineType' | 'micros' | 'challengePassed'>): Map<Kind, string> =>
  new Map(
    (
      [
        ['address', attempt.address],
        ['user', attempt.userRef],
        ['device', attempt.device],
        ['block', rangeOf(attempt.number, 2)],
        ['range3', rangeOf(attempt.number, 3)],
        ['range4', rangeOf(attempt.number, 4)],
        ['network', attempt.network],
        ['country', attempt.country ?? '-'],
        ['account', '-'],
        ['service', attempt.serviceId ?? '-'],
      ] as const
    ).flatMap(([kind, key]) => (key === null ? [] : [[kind, key] as const])),
  );

/** The bounds of Wilson's interval (95 %) of a share. */
export function wilson(part: number, of: number): { readonly low: number; readonly high: number } {
  if (of === 0) return { low: 0, high: 1 };
  const z = 1.96;
  const share = part / of;
  const middle = share + (z * z) / (2 * of);
  const spread = z * Math.sqrt((share * (1 - share)) / of + (z * z) / (4 * of * of));
  const scale = 1 + (z * z) / of;
  return { low: Math.max(0, (middle - spread) / scale), high: Math.min(1, (middle + spread) / scale) };
}

/** Reads the type of a line as numbering plans state it. */
export function lineTypeOf({ isValid, type }: Pick<PhoneDetails, 'isValid' | 'type'>): LineType | null {
  if (!isValid) return 'UNASSIGNED';
  if (type === 'PREMIUM_RATE' || type === 'SHARED_COST') return 'PREMIUM';
  return type === 'FIXED_LINE' || type === 'VOIP' || type === 'TOLL_FREE' ? type : null;
}

type Finding = {
  readonly outcome: 'CHALLENGE' | 'BLOCK' | 'NOTE';
  readonly reason: Reason;
  readonly pause?: Decision['pause'];
};
type Look = {
  readonly attempt: Attempt;
  readonly settings: GuardSettings;
  readonly signals: Signals;
  readonly mode: Mode;
};
type Mode = (typeof MODES)['standard'];

/**
 * Decides about a send: safe list, country, line type, velocity, range, cost; the first rule that stops it decides, and
 * every observation is among the reasons. Missing data never stop a send; a cost cap always does. Pure.
 */
export function decide(attempt: Attempt, settings: GuardSettings, signals: Signals): Decision {
  if (settings.mode === 'off') return { outcome: 'ALLOW', rule: null, reasons: [] };
  if (settings.safeList?.includes(attempt.number))
    return { outcome: 'ALLOW', rule: 'safe_list', reasons: [{ rule: 'safe_list' }] };
  const mode = settings.mode === 'strict' ? MODES.strict : MODES.standard;
  const look = { attempt, settings, signals, mode };
  const outage = findOutage(look);
  const probed = findProbe(look);
  const findings = [
    ...byCountry(look),
    ...byLineType(look),
    ...byVelocity(look).filter(({ reason }) => !outage || OF_CLIENTS.has(reason.rule)),
    ...(outage ? [note(outage)] : byRange(look, probed)),
    ...byCost(look),
    ...(attempt.address === null ? [note({ rule: 'no_address' })] : []),
    ...(signals.baseline.source === 'default'
      ? [note({ rule: 'no_history', value: signals.baseline.conversion })]
      : []),
  ];
  const reasons = findings.map(({ reason }) => reason);
  const stopping = findings.find(
    ({ outcome }) => outcome === 'BLOCK' || (outcome === 'CHALLENGE' && !attempt.challengePassed),
  );
  if (!stopping) return { outcome: 'ALLOW', rule: null, reasons, ...(probed && !outage && { probe: probed.prefix }) };
  const outcome = stopping.outcome === 'CHALLENGE' && settings.challenge === false ? 'BLOCK' : stopping.outcome;
  return {
    outcome: outcome === 'NOTE' ? 'ALLOW' : outcome,
    rule: stopping.reason.rule,
    reasons,
    ...(stopping.pause && { pause: stopping.pause }),
  };
}

/** Velocity that means something while no code arrives. */
const OF_CLIENTS: ReadonlySet<Rule> = new Set(['address_velocity', 'device_velocity', 'sequence']);

const note = (reason: Reason): Finding => ({ outcome: 'NOTE', reason });
const stop = (outcome: 'CHALLENGE' | 'BLOCK', reason: Reason): Finding => ({ outcome, reason });
const has = (list: readonly string[] | undefined, country: string | null): boolean =>
  list !== undefined && (list.includes('*') || (country !== null && list.includes(country)));

/** True if decisions about numbers of this country are only recorded. */
export const isMonitored = ({ mode, countries }: GuardSettings, country: string | null): boolean =>
  mode === 'monitor' ||
  (has(countries?.monitor, country) && !countries?.allow?.includes(country ?? '') && !has(countries?.block, country));

function byCountry({ attempt: { country }, settings: { countries = {} } }: Look): Finding[] {
  const { allow, monitor, block } = countries;
  const reason = { rule: 'country', value: country ?? 'none' } as const;
  if (has(block, country)) return [stop('BLOCK', reason)];
  return allow === undefined || has(allow, country) || has(monitor, country) ? [] : [stop('BLOCK', reason)];
}

function byLineType({ attempt: { lineType }, settings: { lineTypes } }: Look): Finding[] {
  if (lineType === null || !(lineTypes?.block ?? BLOCKED_TYPES).includes(lineType)) return [];
  return [stop('BLOCK', { rule: 'line_type', value: lineType })];
}

/**
 * Velocity alone never blocks: a launch is fast too. It asks for a captcha where codes are not entered as usual. Of plain
 * messages only that of a client, an address or numbers in sequence stops a send, since nobody can pass a captcha there.
 */
function byVelocity(look: Look): Finding[] {
  const findings = velocityOf(look);
  if (!look.attempt.isPlain) return findings;
  return findings.map((each) => (OF_CLIENTS.has(each.reason.rule) ? each : note(each.reason)));
}

function velocityOf({ attempt, signals, mode }: Look): Finding[] {
  const fast = (rule: Rule, kind: Kind, limit: number, prefix?: string): Finding[] => {
    const count = signals.of(kind);
    if (!count || count.ten < limit || isEntered(count, signals.baseline)) return [];
    return [
      stop('CHALLENGE', { rule, value: count.ten, limit, window: '10m', ...(prefix !== undefined && { prefix }) }),
    ];
  };
  return [
    ...fast('address_velocity', 'address', mode.perAddress),
    ...fast('device_velocity', 'device', mode.perDevice),
    ...fast('sequence', 'block', mode.inBlock, rangeOf(attempt.number, 2)),
    ...fast('range_velocity', 'range3', mode.inRange, rangeOf(attempt.number, 3)),
    ...fast('range_velocity', 'range4', 2 * mode.inRange, rangeOf(attempt.number, 4)),
    ...countryVelocity(attempt, signals),
  ];
}

/** True if enough of the sends of a key were approved by now: at least half of the usual share. */
function isEntered({ ten, tenApproved, known }: Counts, { conversion }: Baseline): boolean {
  const { sent, approved } = known.ten.sent >= MIN_SENT_AGAIN ? known.ten : { sent: ten, approved: tenApproved };
  return sent > 0 && approved / sent >= conversion / 2;
}

function countryVelocity({ country }: Attempt, { of, baseline }: Signals): Finding[] {
  const count = of('country');
  const limit = Math.max(FLOOR_PER_HOUR, TIMES_USUAL * baseline.perHour);
  if (!count || count.hour < limit) return [];
  const { sent, approved } = count.known.hour;
  const reason = { rule: 'country_velocity', value: count.hour, limit: Math.round(limit), window: '1h' } as const;
  const isLow = sent >= FLOOR_PER_HOUR && wilson(approved, sent).high < baseline.conversion / 2;
  return [isLow ? stop('CHALLENGE', { ...reason, prefix: country ?? '-' }) : note(reason)];
}

const WINDOWS = [
  ['10m', 'ten', 10 * MINUTE],
  ['1h', 'hour', 60 * MINUTE],
  ['24h', 'day', 1440 * MINUTE],
] as const;

/** Returns the window, not longer than `maxMs`, in which the conversion of a key is too low to be that of people. */
function findLow(count: Counts | undefined, limit: number, atLeast: number, maxMs = Number.POSITIVE_INFINITY) {
  for (const [window, name, ms] of WINDOWS) {
    if (ms > maxMs) continue;
    const { sent, approved } = count?.known[name] ?? { sent: 0, approved: 0 };
    if (sent >= atLeast && wilson(approved, sent).high < limit) return { window, value: approved / sent };
  }
  return null;
}

function byRange(look: Look, probed: Range | null): Finding[] {
  const { attempt, signals, mode } = look;
  const limit = mode.share * signals.baseline.conversion;
  const found = PREFIXES.flatMap(([kind, digits]): Finding[] => {
    const prefix = rangeOf(attempt.number, digits);
    const range = signals.ranges.get(prefix);
    if (range?.state === 'RELEASED') return [note({ rule: 'range_conversion', prefix, value: 'released' })];
    if (range?.state === 'BLOCKED') return [stop('BLOCK', { rule: 'range_blocked', prefix })];
    if (range && isPaused(range, attempt.at)) {
      if (probed?.prefix === prefix) return [note({ rule: 'probe', prefix })];
      return [stop('BLOCK', { rule: 'range_paused', prefix, limit: range.until?.toISOString() ?? '' })];
    }
    return conversionOf(look, { kind, prefix, range, limit });
  });
  const wide = (['network', 'country'] as const).flatMap((kind): Finding[] => {
    const low = findLow(signals.of(kind), limit, MIN_SENT_WIDE);
    if (!low) return [];
    const reason = { rule: `${kind}_conversion`, limit, ...low } as const;
    // Nobody can pass a challenge for a plain message, and a whole country that is stopped can never convert again.
    return [attempt.isPlain ? note(reason) : stop('CHALLENGE', reason)];
  });
  return [...found, ...wide];
}

type RangeLook = {
  readonly kind: 'range3' | 'range4';
  readonly prefix: string;
  readonly range: Range | undefined;
  readonly limit: number;
};

function conversionOf({ attempt, signals }: Look, { kind, prefix, range, limit }: RangeLook): Finding[] {
  const count = signals.of(kind);
  const level = Math.min(range?.level ?? 0, PAUSE_MINUTES.length - 1);
  // After a pause a few people have to come before the evidence of the day counts again.
  if (level > 0 && (level > 1 ? (count?.hour ?? 0) : (count?.ten ?? 0)) < MIN_SENT_AGAIN) return [];
  // A range that people have reopened is judged by what came after that.
  const ageMs = range?.state === 'OPEN' ? attempt.at.getTime() - range.since.getTime() : Number.POSITIVE_INFINITY;
  const low = findLow(count, limit, MIN_SENT, ageMs);
  if (!low) return [];
  const pause = { prefix, level: level + 1, minutes: PAUSE_MINUTES[level] ?? 1440 };
  return [{ outcome: 'BLOCK', reason: { rule: 'range_conversion', prefix, limit, ...low }, pause }];
}

/** True while a range is paused. */
const isPaused = ({ state, until }: Pick<Range, 'state' | 'until'>, at: Date): boolean =>
  state === 'PAUSED' && until !== null && until > at;

const PROBE_EVERY_MS = 10 * MINUTE;
/** One probe for about this many stopped sends; and one an hour where there are fewer. */
const STOPPED_PER_PROBE = 19;
const PROBE_AT_LEAST_MS = 60 * MINUTE;

/** Returns the paused range that this send may probe: people must be able to prove that they are there. */
function findProbe({ attempt, signals }: Look): Range | null {
  const paused = PREFIXES.flatMap(([, digits]) => signals.ranges.get(rangeOf(attempt.number, digits)) ?? []).filter(
    (range) => isPaused(range, attempt.at),
  );
  const [range] = paused;
  if (!range) return null;
  const idleMs = attempt.at.getTime() - (range.probes.at(-1) ?? range.since).getTime();
  const isDue = idleMs >= PROBE_AT_LEAST_MS || (idleMs >= PROBE_EVERY_MS && range.stopped >= STOPPED_PER_PROBE);
  return isDue && paused.length === 1 ? range : null;
}

/**
 * Finds an outage: in the whole country messages are not delivered or fail, as they usually do not. Then nobody can
 * enter codes, and a low conversion says nothing about the ranges.
 */
function findOutage({ signals: { of, baseline } }: Look): Reason | null {
  const [country, range] = [of('country'), of('range4')];
  if (!country) return null;
  // Without the own range: numbers that do not exist fail as well, and must not excuse themselves.
  const sent = country.known.ten.sent - (range?.known.ten.sent ?? 0);
  if (sent < MIN_SENT) return null;
  const delivered = country.delivered - (range?.delivered ?? 0);
  const failed = country.failed - (range?.failed ?? 0);
  const reason = { rule: 'carrier_outage', window: '10m' } as const;
  if (wilson(failed, sent).low > 0.3) return { ...reason, value: failed / sent, limit: 0.3 };
  const limit = baseline.delivered / 2;
  return baseline.delivered > 0.3 && wilson(delivered, sent).high < limit
    ? { ...reason, value: delivered / sent, limit }
    : null;
}

function byCost({ attempt: { micros }, settings: { maxCostPerHour, maxCostPerDay }, signals }: Look): Finding[] {
  const count = signals.of('service');
  const over = (spent: number, cap: number | undefined, window: string): Finding[] =>
    cap !== undefined && spent + micros > cap * 1_000_000
      ? [stop('BLOCK', { rule: 'cost_cap', value: spent / 1_000_000, limit: cap, window })]
      : [];
  return [...over(count?.hourMicros ?? 0, maxCostPerHour, '1h'), ...over(count?.dayMicros ?? 0, maxCostPerDay, '24h')];
}
