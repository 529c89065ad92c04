import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../test/support/until.ts';
import { findCampaignProgress, listMessages, mobileOf, sendCampaign } from '../lib/campaigns.ts';
import { compare, hasEnded } from '../lib/compare.ts';
import { type Crew, killPoints, killPostgres, NEXT_SUBMIT_MS, startCrew, untilSubmits } from '../lib/kills.ts';
import { exportStatuses, listEverUnknown, listUnknownOutcomes, untilIdle } from '../lib/messages.ts';
import { between, type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { openStage, type Stage } from '../lib/stage.ts';

type Size = {
  readonly recipients: number;
  /** Recipients per second, so that messages are made during the whole run. */
  readonly rate: number;
  /** Kills while recipients are made, and kills while messages are sent. */
  readonly earlyKills: number;
  readonly kills: number;
  /** Number of times that all workers are killed in the middle of a step. */
  readonly stepKills: number;
  readonly postgresKills: number;
};

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { recipients: 600, rate: 100, earlyKills: 1, kills: 2, stepKills: 1, postgresKills: 0 },
  quick: { recipients: 8000, rate: 400, earlyKills: 5, kills: 6, stepKills: 2, postgresKills: 2 },
  full: { recipients: 100_000, rate: 800, earlyKills: 40, kills: 260, stepKills: 20, postgresKills: 20 },
};
const WINDOW = 10;
const WORKERS = 2;
const STALL_TIMEOUT_MS = 20_000;
/** Workers are killed within this time, that is, during the first steps of the campaign or of a worker. */
const FIRST_STEPS_MS = 300;
/** Time that a step takes to count its messages while workers are killed in the middle of it. */
const COUNTING_SECONDS = 0.5;
const STEP_TIMEOUT_MS = 60_000;

export const crashCampaign: Proof = {
  promise: 'However often workers and PostgreSQL crash, every recipient of a campaign gets exactly one message.',
  sabotage: {
    fault: 'a campaign step is several transactions',
    module: new URL('../sabotage/crash-campaign.ts', import.meta.url),
    breaks: ['no recipient has more than one message'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using stage = await openStage(run, {
    gateway: 'api',
    script: { responseDelayMs: 10, receiptDelayMs: 50, earlyReceiptShare: 0.1 },
    settings: { window: WINDOW, binds: 1 },
  });
  const destinations = Array.from({ length: size.recipients }, (_, n) => mobileOf(n));
  const crew = await startCrew(run, stage, WORKERS);
  await slowDownSteps(stage);
  const id = await sendCampaign(stage.client, destinations, { rate: size.rate });
  run.log(`a campaign to ${destinations.length} is confirmed`);
  await killEarly(run, crew, size.earlyKills);
  await killInSteps(stage, crew, size.stepKills);
  const postgresKills = await killSending(run, stage, crew, size);
  await crew.allStarted();
  await untilIdle(stage, STALL_TIMEOUT_MS);

  const messages = await listMessages(stage, id);
  const ids = messages.map((message) => message.id);
  const records = await exportStatuses(stage, ids, hasEnded, STALL_TIMEOUT_MS);
  const ledger = await stage.carrier.ledger();
  const evidence = {
    ids,
    records,
    unknownOutcomes: await listUnknownOutcomes(stage),
    everUnknown: await listEverUnknown(stage),
    ledger,
  };
  const made = new Set(messages.map(({ destination }) => destination));
  const counted = await findCampaignProgress(stage, id);
  const bound = (crew.kills + postgresKills * WORKERS) * WINDOW;
  const figures = {
    recipients: counted?.recipients ?? 0,
    skipped: counted?.skipped ?? 0,
    forgotten: destinations.filter((to) => !made.has(to)).length,
    twice: messages.length - made.size,
    ...compare(evidence),
    unknownBound: bound,
    kills: crew.kills,
    postgresKills,
  };
  return judge(figures, {
    'every number became a recipient once': figures.recipients === size.recipients && figures.skipped === 0,
    'every recipient has a message': figures.forgotten === 0,
    'no recipient has more than one message': figures.twice === 0,
    'no message is lost': figures.lost === 0,
    'no message is sent twice': figures.duplicates === 0,
    'unknown <= kills x window': figures.inDoubt <= bound,
    'every unknown outcome is listed with its reason': figures.notListed === 0,
    'all kills took place': crew.kills === killsOf(size) && postgresKills === size.postgresKills,
  });
}

const killsOf = ({ earlyKills, kills, stepKills }: Size): number => earlyKills + kills + stepKills * WORKERS;

/** Kills workers during their first steps, in which recipients and messages are made. */
async function killEarly(run: Run, crew: Crew, kills: number): Promise<void> {
  for (let n = 0; n < kills; n++) {
    await delay(between(run, 0, FIRST_STEPS_MS));
    await crew.killOne();
  }
}

/** Slows down the statement of a step that counts the messages which it has created, until `killInSteps` has finished. */
async function slowDownSteps({ pool }: Stage): Promise<void> {
  await pool.query(
    `CREATE FUNCTION count_slowly() RETURNS trigger LANGUAGE plpgsql AS
       'BEGIN PERFORM pg_sleep(${COUNTING_SECONDS}); RETURN NEW; END'`,
  );
  await pool.query(
    `CREATE TRIGGER slow_step BEFORE UPDATE ON campaign_run FOR EACH ROW
       WHEN (NEW.messages > OLD.messages) EXECUTE FUNCTION count_slowly()`,
  );
}

/**
 * Kills all workers while one of them is in the middle of a step: it has created messages, and not yet recorded how far
 * it has come.
 */
async function killInSteps({ pool }: Stage, crew: Crew, kills: number): Promise<void> {
  const isCounting = async (): Promise<boolean> => {
    const { rows } = await pool.query(
      `SELECT FROM pg_stat_activity WHERE application_name LIKE 'heliograph%' AND wait_event = 'PgSleep'`,
    );
    return rows.length > 0;
  };
  for (let n = 0; n < kills; n++) {
    await until('a worker in the middle of a step', isCounting, STEP_TIMEOUT_MS);
    await Promise.all(Array.from({ length: WORKERS }, () => crew.killOne()));
    await until('the end of that step', async () => !(await isCounting()), STEP_TIMEOUT_MS);
  }
  await pool.query('DROP TRIGGER slow_step ON campaign_run');
}

/**
 * Kills workers, and at some of the points PostgreSQL, while messages are sent. Returns the number of PostgreSQL kills.
 */
async function killSending(run: Run, stage: Stage, crew: Crew, size: Size): Promise<number> {
  const ofPostgres = new Set(killPoints(run, size.postgresKills, size.recipients));
  const points = [...killPoints(run, size.kills, size.recipients), ...ofPostgres].sort((a, b) => a - b);
  let postgresKills = 0;
  for (const point of points) {
    if (!(await untilSubmits(stage, point, NEXT_SUBMIT_MS))) break;
    if (ofPostgres.delete(point)) {
      // A worker that is starting exits if it finds no database.
      await crew.allStarted();
      await killPostgres(run, stage, crew);
      postgresKills++;
    } else await crew.killOne();
  }
  return postgresKills;
}
