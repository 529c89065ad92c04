import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { mobileOf, sendCampaign } from './campaigns.ts';
import { takenByDestination } from './carrier.ts';
import { untilQuiet } from './messages.ts';
import { between, type Findings, judge, type Mode, oneOf, type Proof, type Run } from './proof.ts';
import { openStage, type Stage } from './stage.ts';

type Size = { readonly schedules: number; readonly jumps: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { schedules: 20, jumps: 3 },
  quick: { schedules: 200, jumps: 12 },
  full: { schedules: 1000, jumps: 100 },
};
/** One in so many is a campaign, the others are single messages. */
const CAMPAIGN_EVERY = 5;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SPREAD_MS = 24 * HOUR_MS;
/** Missed by more than this, a schedule asks. */
const ASKS_AFTER_MS = 60 * MINUTE_MS;
/** From a time of the clock to another: a correction, an hour of daylight saving, or a day set wrongly. */
const JUMPS: readonly ((run: Run, now: number) => number)[] = [
  (run) => between(run, MINUTE_MS, 59 * MINUTE_MS),
  (run) => oneOf(run, [-HOUR_MS, HOUR_MS]),
  (run, now) => between(run, 0, SPREAD_MS) - now,
];
/** How wrong the gateway's own clock is meanwhile, beside the database's: what is due is not for it to say. */
const GATEWAY_CLOCKS: readonly ((run: Run) => number)[] = [
  () => 0,
  (run) => oneOf(run, [-HOUR_MS, HOUR_MS]),
  (run) => between(run, -SPREAD_MS, SPREAD_MS),
];
/** A jump takes effect within this time; schedules that fall due within it of a limit may be on either side of it. */
const SETTLING_MS = 4000;

export const clock: Proof = {
  promise: 'Whatever the clock does, a schedule fires once, not before its time, or asks when it was missed.',
  sabotage: {
    fault: 'what is due is sent, however long ago that was',
    file: new URL('./sabotage/clock.ts', import.meta.url),
  },
  prove,
};

/** A message and its time, on the clock as it stands. */
type Schedule = {
  readonly number: string;
  due: number;
  firedAt: number | null;
  /** Whether it was missed at any look: a campaign asks then, whatever the clock does afterwards. */
  wasMissed: boolean;
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  const gatewayClock = join(run.folder, 'clock');
  await writeFile(gatewayClock, '0');
  await using stage = await openStage(run, {
    gateway: 'serve',
    settings: { window: 100 },
    environment: { TZ: 'Europe/Rome', PROOF_CLOCK: gatewayClock },
    preload: [new URL('./moved-clock.ts', import.meta.url)],
  });
  const schedules = await sendScheduled(run, stage, size.schedules);
  const counts = { schedules: schedules.length, jumps: 0, early: 0, wronglySent: 0, notSent: 0, askedInVain: 0 };
  let jumpedMs = 0;
  for (; counts.jumps < size.jumps; counts.jumps++) {
    const jumpMs = oneOf(run, JUMPS)(run, jumpedMs);
    jumpedMs += jumpMs;
    const jumpedAt = Date.now();
    await moveClock(stage, jumpMs);
    await writeFile(gatewayClock, String(oneOf(run, GATEWAY_CLOCKS)(run)));
    for (const schedule of schedules) schedule.due -= jumpMs;
    await delay(SETTLING_MS);
    await observe(stage, schedules, jumpedAt, counts);
  }
  await untilQuiet(stage, SETTLING_MS);
  const taken = takenByDestination(await stage.carrier.ledger());
  const twice = [...taken.values()].filter((submits) => submits.length > 1).length;
  const fired = schedules.filter(({ firedAt }) => firedAt !== null).length;
  const missed = schedules.filter((s) => s.firedAt === null && s.due < Date.now() - ASKS_AFTER_MS).length;
  const figures = { ...counts, fired, missed, twice };
  return judge(figures, {
    'none fires twice': twice === 0,
    'none fires before its time': counts.early === 0,
    'none fires that was missed by more than an hour': counts.wronglySent === 0,
    'each other one fires': counts.notSent === 0,
    'no campaign asks that was not missed': counts.askedInVain === 0,
    'some fired and some were missed': fired > 0 && missed > 0,
  });
}

async function sendScheduled(run: Run, { client }: Stage, count: number): Promise<Schedule[]> {
  const began = Date.now();
  const schedules = Array.from({ length: count }, (_, n) => ({
    number: mobileOf(n),
    due: began + between(run, 30_000, SPREAD_MS),
    firedAt: null,
    wasMissed: false,
  }));
  const campaigns = schedules.filter((_, n) => n % CAMPAIGN_EVERY === 0);
  for (const schedule of campaigns) {
    // Making them takes its time.
    schedule.due += Date.now() - began;
    await sendCampaign(client, [schedule.number], { scheduledDate: new Date(schedule.due).toISOString() });
  }
  const others = schedules.filter((_, n) => n % CAMPAIGN_EVERY !== 0);
  for (const schedule of others) schedule.due += Date.now() - began;
  const messages = others.map(({ number, due }) => ({
    destinations: [number],
    sender: 'Acme',
    body: 'On time',
    scheduling: new Date(due).toISOString(),
  }));
  const { accepted } = await client.bulk({ messages });
  if (accepted !== others.length) throw new Error(`${accepted} of ${others.length} schedules were accepted`);
  return schedules;
}

/**
 * Sets the clock forward by moving every stored time back by as much: to the program it is the same, and it needs no
 * other rights than those of the database.
 */
async function moveClock({ pool }: Stage, ms: number): Promise<void> {
  const by = [`${ms} milliseconds`];
  await pool.query('UPDATE message SET scheduled_at = scheduled_at - $1::interval', by);
  await pool.query('UPDATE message_deadline SET due_at = due_at - $1::interval', by);
  await pool.query('UPDATE campaign SET scheduled_at = scheduled_at - $1::interval', by);
  await pool.query('UPDATE campaign_job SET due_at = due_at - $1::interval', by);
  await pool.query('UPDATE dispatch_chunk SET available_at = available_at - $1::interval', by);
}

/** The numbers of campaigns that wait for a person. */
async function listAsking({ pool }: Stage): Promise<Set<string>> {
  const { rows } = await pool.query<{ number: string }>(
    'SELECT unnest(numbers) AS number FROM campaign WHERE paused_at IS NOT NULL',
  );
  return new Set(rows.map(({ number }) => number));
}

type Counts = { early: number; wronglySent: number; notSent: number; askedInVain: number };

/** Looks what the carrier got since the jump, and what it should have got. */
async function observe(stage: Stage, schedules: readonly Schedule[], jumpedAt: number, counts: Counts): Promise<void> {
  const taken = takenByDestination(await stage.carrier.ledger());
  const asking = await listAsking(stage);
  const now = Date.now();
  for (const schedule of schedules.filter(({ firedAt }) => firedAt === null)) {
    const at = taken.get(schedule.number)?.[0]?.at ?? null;
    const isMissed = schedule.due < jumpedAt - ASKS_AFTER_MS;
    schedule.wasMissed ||= schedule.due < now - ASKS_AFTER_MS;
    if (at === null && asking.has(schedule.number)) {
      if (!schedule.wasMissed) counts.askedInVain++;
    } else if (at === null) {
      if (!isMissed && schedule.due < now - SETTLING_MS) counts.notSent++;
    } else if (at < schedule.due) counts.early++;
    else if (isMissed && schedule.due < jumpedAt - ASKS_AFTER_MS - SETTLING_MS) counts.wronglySent++;
    schedule.firedAt = at;
  }
}
