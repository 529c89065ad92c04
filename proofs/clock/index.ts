import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { mobileOf, sendCampaign } from '../lib/campaigns.ts';
import { takenByDestination } from '../lib/carrier.ts';
import { untilIdle } from '../lib/messages.ts';
import { pollUntilDone } from '../lib/poll.ts';
import { between, type Findings, judge, type Mode, oneOf, type Proof, type Run } from '../lib/proof.ts';
import { openStage, type Stage } from '../lib/stage.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/platform/lib/time.ts';

type Size = { readonly schedules: number; readonly jumps: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { schedules: 60, jumps: 4 },
  quick: { schedules: 200, jumps: 12 },
  full: { schedules: 1000, jumps: 100 },
};
/** Every fifth schedule is a campaign, the others are single messages. */
const CAMPAIGN_INTERVAL = 5;
const SPREAD_MS = 24 * HOUR_MS;
const POLL_MS = 300;
/** No schedule is due before this time has passed. */
const SOONEST_MS = 30_000;
/** A schedule that was missed by more than this waits for a decision. */
const MISSED_AFTER_MS = 60 * MINUTE_MS;
/** Jumps of the clock: a correction, an hour of daylight saving time, or a wrong day. */
const JUMPS: readonly ((run: Run, now: number) => number)[] = [
  (run) => between(run, MINUTE_MS, 59 * MINUTE_MS),
  (run) => oneOf(run, [-HOUR_MS, HOUR_MS]),
  (run, now) => between(run, 0, SPREAD_MS) - now,
];
/** The first jump: late enough that schedules have been missed, and that some are due that have not. */
const firstJump = (run: Run): number => between(run, 3 * HOUR_MS, SPREAD_MS - HOUR_MS);
/** How wrong the gateway's own clock is compared with the database's, which alone decides what is due. */
const GATEWAY_CLOCKS: readonly ((run: Run) => number)[] = [
  () => 0,
  (run) => oneOf(run, [-HOUR_MS, HOUR_MS]),
  (run) => between(run, -SPREAD_MS, SPREAD_MS),
];
/** A jump takes effect within this time; schedules due within this time of a limit may fall on either side of it. */
const SETTLING_MS = 4000;
/** On a busy machine what is due may take longer: as long as some of it fires within this time. */
const STALL_TIMEOUT_MS = 20_000;

export const clock: Proof = {
  promise: 'Whatever the clock does, a schedule fires once and not early, or waits for a decision if it was missed.',
  sabotage: {
    fault: 'whatever is due is sent, however late',
    file: new URL('../sabotage/clock.ts', import.meta.url),
    breaks: ['no schedule fires that was missed by more than an hour'],
    mode: 'tiny',
  },
  prove,
};

/** A message and its due time, by the clock as it is now. */
type Schedule = {
  readonly number: string;
  due: number;
  firedAt: number | null;
  /**
   * Whether it was missed at any check: a campaign waits for a decision from then on, whatever the clock does
   * afterwards.
   */
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
  const counts = { schedules: schedules.length, jumps: 0, early: 0, wronglySent: 0, notSent: 0, waitingWrongly: 0 };
  let jumpedMs = 0;
  for (; counts.jumps < size.jumps; counts.jumps++) {
    const jumpMs = counts.jumps === 0 ? firstJump(run) : oneOf(run, JUMPS)(run, jumpedMs);
    jumpedMs += jumpMs;
    const jump = { at: Date.now(), ms: jumpMs };
    await moveClock(stage, jumpMs);
    await writeFile(gatewayClock, String(oneOf(run, GATEWAY_CLOCKS)(run)));
    for (const schedule of schedules) schedule.due -= jumpMs;
    await delay(SETTLING_MS);
    await untilFired(stage, schedules, jump);
    await observe(stage, schedules, jump, counts);
  }
  await untilIdle(stage, SETTLING_MS);
  const taken = takenByDestination(await stage.carrier.ledger());
  const twice = [...taken.values()].filter((submits) => submits.length > 1).length;
  const fired = schedules.filter(({ firedAt }) => firedAt !== null).length;
  const missed = schedules.filter(({ wasMissed }) => wasMissed).length;
  const figures = { ...counts, fired, missed, twice };
  return judge(figures, {
    'no schedule fires twice': twice === 0,
    'no schedule fires early': counts.early === 0,
    'no schedule fires that was missed by more than an hour': counts.wronglySent === 0,
    'every other schedule fires': counts.notSent === 0,
    'no campaign waits for a decision unless it was missed': counts.waitingWrongly === 0,
    'some fired and some were missed': fired > 0 && missed > 0,
  });
}

async function sendScheduled(run: Run, { client }: Stage, count: number): Promise<Schedule[]> {
  const began = Date.now();
  // One in each part of the day, so that some are due in any hour.
  const partMs = (SPREAD_MS - SOONEST_MS) / count;
  const schedules = Array.from({ length: count }, (_, n) => ({
    number: mobileOf(n),
    due: began + SOONEST_MS + Math.floor(n * partMs) + between(run, 0, Math.floor(partMs)),
    firedAt: null,
    wasMissed: false,
  }));
  const campaigns = schedules.filter((_, n) => n % CAMPAIGN_INTERVAL === 0);
  for (const schedule of campaigns) {
    // Creating the campaigns takes time.
    schedule.due += Date.now() - began;
    await sendCampaign(client, [schedule.number], { scheduledDate: new Date(schedule.due).toISOString() });
  }
  const others = schedules.filter((_, n) => n % CAMPAIGN_INTERVAL !== 0);
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
 * Moves the clock forward by moving every stored time back: to the program it is the same, and it needs only database
 * rights.
 */
async function moveClock({ pool }: Stage, ms: number): Promise<void> {
  const by = [`${ms} milliseconds`];
  await pool.query('UPDATE message SET scheduled_at = scheduled_at - $1::interval', by);
  await pool.query('UPDATE message_deadline SET due_at = due_at - $1::interval', by);
  await pool.query('UPDATE campaign SET scheduled_at = scheduled_at - $1::interval', by);
  await pool.query('UPDATE campaign_job SET due_at = due_at - $1::interval', by);
  await pool.query('UPDATE dispatch_chunk SET available_at = available_at - $1::interval', by);
}

/** Lists the numbers of campaigns that wait for a decision. */
async function listWaiting({ pool }: Stage): Promise<Set<string>> {
  const { rows } = await pool.query<{ number: string }>(
    'SELECT unnest(numbers) AS number FROM campaign WHERE paused_at IS NOT NULL',
  );
  return new Set(rows.map(({ number }) => number));
}

type Counts = { early: number; wronglySent: number; notSent: number; waitingWrongly: number };

/** A jump of the clock: when, and by how much. */
type Jump = { readonly at: number; readonly ms: number };

/** When each number was sent to, and which wait for a decision. */
async function readFirings(stage: Stage) {
  const taken = takenByDestination(await stage.carrier.ledger());
  const waiting = await listWaiting(stage);
  return {
    firedAt: (number: string) => taken.get(number)?.[0]?.at ?? null,
    waits: (number: string) => waiting.has(number),
  };
}

/** Waits until everything that is due has fired, or nothing more does. */
const untilFired = (stage: Stage, schedules: readonly Schedule[], jump: Jump): Promise<boolean> =>
  pollUntilDone(
    async () => {
      const { firedAt, waits } = await readFirings(stage);
      const late = schedules.filter((one) => isLate(one, jump) && firedAt(one.number) === null && !waits(one.number));
      return { done: late.length === 0, progress: late.length };
    },
    { stallTimeoutMs: STALL_TIMEOUT_MS, pollMs: POLL_MS },
  );

/** Whether a schedule should have fired since the jump, if not before. */
const isLate = ({ due }: Schedule, jump: Jump): boolean =>
  due >= jump.at - MISSED_AFTER_MS && due < Date.now() - SETTLING_MS;

/** Compares what the carrier has received since the jump with what it should have. */
async function observe(stage: Stage, schedules: readonly Schedule[], jump: Jump, counts: Counts): Promise<void> {
  const { firedAt, waits } = await readFirings(stage);
  for (const schedule of schedules.filter((one) => one.firedAt === null)) {
    const at = firedAt(schedule.number);
    if (at === null) observeUnfired(schedule, waits(schedule.number), jump, counts);
    else observeFired(schedule, at, jump, counts);
  }
}

function observeUnfired(schedule: Schedule, waits: boolean, jump: Jump, counts: Counts): void {
  schedule.wasMissed ||= schedule.due < Date.now() - MISSED_AFTER_MS;
  if (waits && !schedule.wasMissed) counts.waitingWrongly++;
  if (!waits && isLate(schedule, jump)) counts.notSent++;
}

function observeFired(schedule: Schedule, at: number, jump: Jump, counts: Counts): void {
  const isRight = (due: number): boolean => at >= due && due >= jump.at - MISSED_AFTER_MS - SETTLING_MS;
  // By the clock as it was before: a message that was due then may reach the carrier after the jump.
  const wasRight = at < jump.at + SETTLING_MS && isRight(schedule.due + jump.ms);
  if (!isRight(schedule.due) && !wasRight) counts[at < schedule.due ? 'early' : 'wronglySent']++;
  schedule.firedAt = at;
}
