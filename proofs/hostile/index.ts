import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/support/free-port.ts';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { type Fault, type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { openStage, type Stage } from '../lib/stage.ts';
import { ALWAYS_PROVEN, NO_LOOKUP_BUDGET, ONE_MAIL_QUEUE } from '../sabotage/in-database.ts';
import type { Answers, Attack } from './attack.ts';
import { type Attacker, startAttacker } from './attacker.ts';
import { ATTACKS } from './attacks.ts';
import { memoryMiB } from './memory.ts';
import { FROM_CONSOLE, PG, signIn } from './requests.ts';
import { type Planned, planAttacks } from './setup.ts';
import { startVictim, type Victim, type View } from './victim.ts';

type Size = {
  readonly warmUpMs: number;
  readonly quietMs: number;
  readonly attackMs: number;
  /** The time after the last attack until memory counts. */
  readonly restMs: number;
  /** The latest time after the last attack at which memory must be back. */
  readonly maxRestMs: number;
  /** Below this a p99 is never too high: three times a few milliseconds would be the noise of the machine. */
  readonly floorMs: number;
};

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { warmUpMs: 2000, quietMs: 3000, attackMs: 1000, restMs: 5000, maxRestMs: 5000, floorMs: 500 },
  quick: { warmUpMs: 5000, quietMs: 15_000, attackMs: 5000, restMs: 60_000, maxRestMs: 180_000, floorMs: 100 },
  full: { warmUpMs: 20_000, quietMs: 60_000, attackMs: 20_000, restMs: 60_000, maxRestMs: 180_000, floorMs: 100 },
};
const TIMES_QUIET = 3;
const MAX_MS = 1000;
/** Time after an attack in which its last effects still count. */
const AFTERMATH_MS = 500;
const CALM_WITHIN_MS = 30_000;
const REST_POLL_MS = 5000;
/** The mail server takes a second for each mail, and four at a time. */
const RESET_WITHIN_MS = 10_000;
/** Maximum connections of one account to the database that may wait for locks: its share of the pool of 20. */
const MAX_WAITING = 4;
/** Maximum time of a sign-in: that of seven hashes, one after the other. */
const SIGN_IN_MS = 500;
const MAX_MAILS_TO_ONE = 3;
const MEMORY_SHARE = 0.1;
/** Variation of the heap of a program of this size from one moment to the next. */
const MEMORY_ALLOWANCE_MIB = 32;

const P99_CLAIM = 'p99 of the victim stays within three times its quiet p99, or within the floor';
const SIGN_IN_CLAIM = 'a sign-in waits for no more than a few password hashes of others';
const LOCKS_CLAIM = 'an account waits for its own locks on no more than its share of the connections';
const RESET_CLAIM = "another tenant's link for a new password is handed over within ten seconds";
const OPEN_CLAIM = 'so it does during the attacks that are listed as open';

export const hostile: Proof = {
  promise: 'No client can slow down others: not an unauthenticated one, not a tenant, not a carrier.',
  sabotage: {
    fault: 'placeholders are found by an expression that takes cubic time',
    module: faultModule('placeholders'),
    breaks: [P99_CLAIM],
    mode: 'tiny',
  },
  notYet: {
    [OPEN_CLAIM]:
      'work of one account is not yet divided into slices between those of others: see `open` in the attacks',
  },
  timed: true,
  prove(run) {
    const ofSize = ATTACKS.filter(({ tiny }) => run.mode !== 'tiny' || tiny === true);
    return playAttacks(run, run.attack === null ? ofSize : attacksNamed(run.attack));
  },
};

function attacksNamed(text: string): Attack[] {
  const found = ATTACKS.filter(({ name }) => name.includes(text));
  if (found.length === 0) throw new Error(`no attack has "${text}" in its name`);
  return found;
}

/** A bound that is taken out, and the attack that shows it. */
type Unbounded = Fault & { readonly fault: string; readonly attack: string; readonly breaks: string };

const UNBOUNDED: Readonly<Record<string, Unbounded>> = {
  database: {
    fault: 'accounts take no turns at the database',
    module: faultModule('database'),
    attack: 'changes of a campaign that wait for one another',
    breaks: LOCKS_CLAIM,
  },
  passwords: {
    fault: 'any number of password hashes are computed at a time',
    module: faultModule('passwords'),
    attack: 'passwords that are set with ten keys',
    breaks: SIGN_IN_CLAIM,
  },
  pdus: {
    fault: 'PDUs do not count',
    module: faultModule('pdus'),
    attack: 'SMPP: enquire_link',
    breaks: 'a bind gets no more responses than its budget has PDUs',
  },
  'stray-pdus': {
    fault: 'PDUs do not count',
    module: faultModule('pdus'),
    attack: 'SMPP: responses to nothing',
    breaks: 'responses to nothing end a bind',
  },
  pipelining: {
    fault: 'all requests of a connection are handled at a time',
    module: faultModule('pipelining'),
    attack: 'pipelined requests without credentials',
    breaks: 'a connection that sends hundreds of requests at a time is closed',
  },
  mails: {
    fault: 'mails have no budgets and take no turns',
    sql: ONE_MAIL_QUEUE,
    attack: 'invitations of five keys to many addresses',
    breaks: RESET_CLAIM,
  },
  'look-ups': {
    fault: 'look-ups have no budget',
    sql: NO_LOOKUP_BUDGET,
    attack: 'sends to numbers that must be looked up',
    breaks: 'an account has no more numbers looked up than its plan allows',
  },
  'step-up': {
    fault: 'every session counts as proven',
    sql: ALWAYS_PROVEN,
    attack: 'changes with a session that was left open',
    breaks: 'a session that was left open changes no keys, users or webhooks',
  },
  'account-rate': {
    fault: 'an account has no limit besides those of its keys',
    module: faultModule('account-rate'),
    attack: 'all keys that a trial account gets, used together',
    breaks: 'all keys of an account together get no more than two of them',
  },
};

/** The proof with each bound taken out, and the attack that the bound holds off, alone. */
export const hostileFaults: Readonly<Record<string, Proof>> = Object.fromEntries(
  Object.entries(UNBOUNDED).map(([name, { attack, breaks, ...fault }]) => [
    `hostile --fault ${name}`,
    {
      ...hostile,
      isVariant: true,
      sabotage: { ...fault, breaks: [breaks], mode: 'tiny' },
      prove: (run: Run) =>
        playAttacks(
          run,
          ATTACKS.filter((each) => each.name === attack),
        ),
    } satisfies Proof,
  ]),
);

/** The module that puts a fault into the program. */
function faultModule(name: string): URL {
  const module = new URL('../sabotage/hostile.ts', import.meta.url);
  module.searchParams.set('fault', name);
  return module;
}

/** Plays these attacks one after the other, and judges what the victim saw. */
async function playAttacks(run: Run, attacks: readonly Attack[]): Promise<Findings> {
  const size = SIZES[run.mode];
  await using opened = new AsyncDisposableStack();
  const attacker = await startAttacker(run);
  opened.defer(async () => void (await attacker.stop()));
  const stage = opened.use(await openStage(run, { gateway: 'serve', environment: await environmentOf(run, attacker) }));
  const { apiKey, username, password } = await stage.newAccount({ plan: 'unlimited' });
  const { peerPorts, lookUpUrl } = attacker;
  const planned = await planAttacks(stage, { attacks, victimName: username, peerPorts, lookUpUrl });
  const victim = startVictim(String(stage.gateway.ready['address']), apiKey);
  opened.defer(() => victim.stop());

  await victim.during(delay(size.warmUpMs));
  const quiet = await victim.during(delay(size.quietMs));
  const memoryBefore = memoryMiB(stage.gateway.pid);
  run.log(`quiet: p99 ${quiet.p99Ms} ms, max ${quiet.maxMs} ms, ${memoryBefore} MiB`);
  const askForReset = await newResets(stage, apiKey);
  const signInOnce = (): Promise<number> => timeOfSignIn(stage, { username, password });
  const quietSignInMs = await signInOnce();
  const scene: Scene = {
    run,
    askForReset,
    signInOnce,
    quietSignInMs,
    stage,
    attacker,
    victim,
    size,
    bounds: boundsOf(quiet, size),
  };
  const played: Played[] = [];
  for (const each of planned) played.push(await playOne(scene, each));
  const { memoryAfter, restedMs } = await waitForMemory(scene, memoryBefore);
  const again = await victim.during(delay(size.quietMs));
  run.log(`quiet again: p99 ${again.p99Ms} ms, max ${again.maxMs} ms, ${memoryAfter} MiB after ${restedMs} ms`);
  return conclude(scene, played, { quiet, again, memoryBefore, memoryAfter, restedMs });
}

/**
 * Waits until memory is back where it was. Unreachable objects still belong to the process until V8 collects them, which
 * it puts off for a minute or two while there is little to do.
 */
async function waitForMemory({ stage, size }: Scene, memoryBefore: number) {
  const start = performance.now();
  await delay(size.restMs);
  for (;;) {
    const memoryAfter = memoryMiB(stage.gateway.pid);
    const restedMs = Math.round(performance.now() - start);
    if (isBack(memoryBefore, memoryAfter) || restedMs >= size.maxRestMs) return { memoryAfter, restedMs };
    await delay(REST_POLL_MS);
  }
}

async function environmentOf(run: Run, { receiverPorts, smtpUrl }: Attacker): Promise<Record<string, string>> {
  const caFile = join(run.folder, 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  return {
    // As installed, not as in the other proofs.
    DATABASE_POOL: '20',
    WEBHOOK_ALLOW_CIDRS: '127.0.0.1',
    WEBHOOK_PORTS: Object.values(receiverPorts).join(),
    WEBHOOK_CA_FILE: caFile,
    SMPP_PORT: String(await freePort()),
    SMTP_URL: smtpUrl,
    MAIL_FROM: 'messages@example.com',
  };
}

type Bounds = { readonly p99Ms: number; readonly maxMs: number };

/** On a machine that is busy with something else, a second may be less than three times the quiet p99. */
const boundsOf = ({ p99Ms }: View, { floorMs }: Size): Bounds => ({
  p99Ms: Math.max(TIMES_QUIET * p99Ms, floorMs),
  maxMs: Math.max(TIMES_QUIET * p99Ms, MAX_MS),
});

type Scene = {
  readonly run: Run;
  readonly stage: Stage;
  readonly attacker: Attacker;
  readonly victim: Victim;
  readonly askForReset: () => Promise<string>;
  /** Signs the victim in; returns how long that took. */
  readonly signInOnce: () => Promise<number>;
  readonly quietSignInMs: number;
  readonly size: Size;
  readonly bounds: Bounds;
};

/** Effects of an attack on the victim and on the gateway. */
type Played = {
  readonly attack: Attack;
  readonly isOpen: boolean;
  readonly answers: Answers;
  /** Duration of a sign-in meanwhile; null if the attack is not about hashes. */
  readonly signInMs: number | null;
  /** The most connections that waited for a lock at a time; null if the attack is not about locks. */
  readonly waiting: number | null;
  readonly view: View;
  readonly reached: boolean;
  readonly mail: MailView | null;
};

/** Time until a link for a new password was handed over, and the highest number of mails in one mailbox. */
type MailView = { readonly resetMs: number; readonly most: number };

/** Makes a function with which another person of the victim's account asks for a new password, and returns their address. */
async function newResets({ gateway }: Stage, apiKey: string): Promise<() => Promise<string>> {
  const url = `${String(gateway.ready['address'])}${PG}`;
  const post = async (path: string, body: object, headers: Readonly<Record<string, string>>): Promise<void> => {
    const { ok, status } = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!ok) throw new Error(`POST ${path} returned ${status}`);
  };
  let people = 0;
  return async () => {
    const username = `forgetful-${people++}@example.com`;
    const withApiKey = { 'x-api-key': apiKey, 'content-type': 'application/json' };
    await post('/users', { username, password: randomUUID(), role: 'viewer' }, withApiKey);
    await post('/password-reset', { username }, FROM_CONSOLE);
    return username;
  };
}

async function timeOfSignIn({ gateway }: Stage, credentials: object): Promise<number> {
  const start = performance.now();
  const { path, method, headers = {}, body } = signIn(credentials);
  const response = await fetch(`${String(gateway.ready['address'])}${path}`, { method, headers, body: String(body) });
  if (!response.ok) throw new Error(`a sign-in got ${response.status}: ${await response.text()}`);
  return Math.round(performance.now() - start);
}

const SAMPLE_MS = 20;

/** Returns the most connections of the gateway that waited for a lock at a time, until `over` is settled. */
async function mostWaiting({ pool }: Stage, over: Promise<unknown>): Promise<number> {
  let isOver = false;
  let most = 0;
  void over.finally(() => (isOver = true));
  while (!isOver) {
    const { rows } = await pool.query(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'heliograph'",
    );
    most = Math.max(most, rows[0].n);
    await delay(SAMPLE_MS);
  }
  return most;
}

/** Makes the sessions of the attacker an hour old. */
const ageSessions = ({ pool }: Stage, accountId: number) =>
  pool.query("UPDATE user_session SET proven_at = now() - interval '1 hour' WHERE account_id = $1", [accountId]);

async function viewMail({ attacker, askForReset }: Scene): Promise<MailView> {
  const to = await askForReset();
  const start = performance.now();
  const { came, most = 0 } = await attacker.mailTo(to);
  return { resetMs: came === 1 ? Math.round(performance.now() - start) : Number.POSITIVE_INFINITY, most };
}

async function playOne(scene: Scene, { attack, ground }: Planned): Promise<Played> {
  const { run, stage, attacker, victim, size, bounds } = scene;
  const { name, player, open } = attack;
  await attacker.prepare(name, ground);
  if (attack.hasOldSessions) await ageSessions(stage, ground.tenant.accountId);
  const memoryBefore = memoryMiB(stage.gateway.pid);
  const playing = attacker.play(size.attackMs);
  const signingIn = attack.hashes ? delay(size.attackMs / 2).then(scene.signInOnce) : null;
  const sampling = attack.locks ? mostWaiting(stage, playing) : null;
  const view = await victim.during(playing, AFTERMATH_MS);
  const [answers, signInMs, waiting] = await Promise.all([playing, signingIn, sampling]);
  const mail = attack.mails ? await viewMail(scene) : null;
  const calmMs = await victim.untilCalm(bounds.p99Ms, CALM_WITHIN_MS);
  const memoryAfter = memoryMiB(stage.gateway.pid);
  const faults = faultsOf(view, bounds);
  const reached = Object.keys(answers).length > 0;
  const played = { attack, isOpen: open !== undefined, view, answers, signInMs, waiting, reached, mail };
  run.log(
    `${faults.length > 0 ? 'BROKEN ' : ''}${name} (${player}): p99 ${view.p99Ms} ms, max ${view.maxMs} ms, ` +
      `${view.serverErrors} x 5xx, ${view.refused} not 200, calm after ${Math.round(calmMs)} ms, ` +
      `${memoryBefore} → ${memoryAfter} MiB, responses ${JSON.stringify(answers)}` +
      (signInMs === null ? '' : `, a sign-in took ${signInMs} ms`) +
      (waiting === null ? '' : `, ${waiting} connections waited for a lock`) +
      (mail ? `, a link for a new password after ${mail.resetMs} ms, ${mail.most} mails to one mailbox` : ''),
  );
  return played;
}

const faultsOf = ({ p99Ms, maxMs, serverErrors, refused }: View, bounds: Bounds): string[] =>
  Object.entries({
    p99: p99Ms > bounds.p99Ms,
    max: maxMs > bounds.maxMs,
    '5xx': serverErrors > 0,
    refused: refused > 0,
  }).flatMap(([fault, is]) => (is ? [fault] : []));

const isBack = (before: number, after: number): boolean => after <= before * (1 + MEMORY_SHARE) + MEMORY_ALLOWANCE_MIB;

type Rest = {
  readonly quiet: View;
  readonly again: View;
  readonly memoryBefore: number;
  readonly memoryAfter: number;
  readonly restedMs: number;
};

function conclude(scene: Scene, played: readonly Played[], rest: Rest): Findings {
  const { run, stage, bounds } = scene;
  const { quiet, again, memoryBefore, memoryAfter, restedMs } = rest;
  const views = [...played.map(({ view }) => view), again];
  const judged = [...played.filter(({ isOpen }) => !isOpen).map(({ view }) => view), again];
  const worst = (of: (view: View) => number): number => Math.max(...judged.map(of));
  const sum = (of: (view: View) => number): number => views.reduce((total, view) => total + of(view), 0);
  const mails = played.flatMap(({ mail }) => mail ?? []);
  const figures = {
    attacks: played.length,
    openAttacks: played.length + 1 - judged.length,
    attacksThatBroke: played.filter(({ view }) => faultsOf(view, bounds).length > 0).length,
    victimRequests: sum(({ requests }) => requests),
    quietP99Ms: quiet.p99Ms,
    quietAgainP99Ms: again.p99Ms,
    worstP99Ms: worst(({ p99Ms }) => p99Ms),
    worstMs: worst(({ maxMs }) => maxMs),
    serverErrors: sum(({ serverErrors }) => serverErrors),
    refused: sum(({ refused }) => refused),
    quietSignInMs: scene.quietSignInMs,
    mostWaiting: Math.max(0, ...played.map(({ waiting }) => waiting ?? 0)),
    slowestSignInMs: Math.max(0, ...played.map(({ signInMs }) => signInMs ?? 0)),
    slowestResetMs: Math.max(0, ...mails.map(({ resetMs }) => resetMs)),
    mostMailsToOne: Math.max(0, ...mails.map(({ most }) => most)),
    memoryBeforeMiB: memoryBefore,
    memoryGrowthMiB: memoryAfter - memoryBefore,
    restedSeconds: Math.round(restedMs / 1000),
  };
  return judge(figures, {
    [P99_CLAIM]: figures.worstP99Ms <= bounds.p99Ms,
    'no request of the victim takes more than a second, or three times the quiet p99': figures.worstMs <= bounds.maxMs,
    [OPEN_CLAIM]: views.every(({ p99Ms, maxMs }) => p99Ms <= bounds.p99Ms && maxMs <= bounds.maxMs),
    'the victim gets no server error': figures.serverErrors === 0,
    'every request of the victim gets a 200': figures.refused === 0,
    'a mailbox gets at most three mails of an attack': figures.mostMailsToOne <= MAX_MAILS_TO_ONE,
    [LOCKS_CLAIM]: figures.mostWaiting <= MAX_WAITING,
    [RESET_CLAIM]: figures.slowestResetMs <= RESET_WITHIN_MS,
    [SIGN_IN_CLAIM]: figures.slowestSignInMs <= Math.max(TIMES_QUIET * scene.quietSignInMs, SIGN_IN_MS),
    // The few seconds of `tiny` are too short for the garbage collector to return what it may need again.
    'memory is back within 10 % and 32 MiB, at the latest after three minutes':
      run.mode === 'tiny' || isBack(memoryBefore, memoryAfter),
    ...meetings(played, scene),
    'every attack reached the gateway': played.every(({ reached }) => reached),
    'the gateway keeps running': stage.gateway.running(),
  });
}

/** The claims of bounds on what came of the attacks; those of attacks that were not played hold. */
function meetings(played: readonly Played[], { size }: Scene): Record<string, boolean> {
  const broken = new Set(
    played.flatMap(({ attack: { meets }, answers }) =>
      meets === undefined || meets.holds(answers, size.attackMs / 1000) ? [] : [meets.claim],
    ),
  );
  const claims = ATTACKS.flatMap(({ meets }) => (meets === undefined ? [] : [meets.claim]));
  return Object.fromEntries(claims.map((claim) => [claim, !broken.has(claim)]));
}
