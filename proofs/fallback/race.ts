import { setTimeout as delay } from 'node:timers/promises';
import type { SandboxRbm } from '../../src/sandbox/rbm-server.ts';
import { mobileOf } from '../lib/campaigns.ts';
import { type Crew, startCrew } from '../lib/kills.ts';
import { untilIdle } from '../lib/messages.ts';
import { type PollResult, pollUntilDone } from '../lib/poll.ts';
import { between, type Figures, type Findings, judge, type Run } from '../lib/proof.ts';
import { openStage, type Stage } from '../lib/stage.ts';
import { claimsOf, countCopies } from './copies.ts';
import { openNetwork } from './network.ts';

const WORKERS = 2;
/** Longer than the time for which a killed worker keeps what it was sending or revoking. */
const STALL_TIMEOUT_MS = 60_000;
/**
 * The RCS network takes this share of the messages per second, a tenth of what the gateway sends it: most messages wait
 * for many times the time that they have on their channel.
 */
const TAKEN_PER_SECOND = 1 / 30;
const MIN_TPS = 10;
const MAX_TPS = 300;
const POLL_MS = 300;
const FIRST_POLL_MS = 10;
/** The first worker is killed once this share of the recipients has reached the RCS network. */
const SHARE_BEFORE_KILLS = 0.1;

/** A gateway, a carrier and an RCS network, and the recipients that are to be reached by one of the two. */
export type Race = AsyncDisposable & {
  readonly stage: Stage;
  readonly destinations: readonly string[];
  startCrew(): Promise<Crew>;
  /**
   * Kills `kills` workers, each within `maxMs` of the one before. The first is killed after a share of the messages has
   * reached the RCS network: a kill before that could leave every recipient of a small run in doubt, and prove nothing.
   */
  killWorkers(crew: Crew, kills: number, maxMs: number): Promise<void>;
  /** Waits until `poll` reports that nothing is pending, and judges the messages that all recipients have received. */
  conclude(crew: Crew, figures: Figures, look: () => Promise<PollResult>): Promise<Findings>;
};

/** Opens a race with this many recipients. */
export async function openRace(run: Run, people: number): Promise<Race> {
  await using opened = new AsyncDisposableStack();
  const stage = opened.use(
    await openStage(run, { gateway: 'api', script: { receiptDelayMs: 50 }, settings: { window: 100 } }),
  );
  const tps = Math.min(MAX_TPS, Math.max(MIN_TPS, Math.ceil(people * TAKEN_PER_SECOND)));
  const rbm = await openNetwork(run, stage, { tps });
  opened.defer(rbm.close);
  const destinations = Array.from({ length: people }, (_, n) => mobileOf(n));
  const all = opened.move();
  return {
    stage,
    destinations,
    startCrew: () => startCrew(run, stage, WORKERS),
    async killWorkers(crew, kills, maxMs) {
      await untilSubmitted(rbm, Math.ceil(people * SHARE_BEFORE_KILLS));
      for (let kill = 0; kill < kills; kill++) {
        await delay(between(run, 0, maxMs));
        await crew.killOne();
      }
    },
    async conclude(crew, figures, look) {
      await crew.allStarted();
      const decided = await pollUntilDone(look, { stallTimeoutMs: STALL_TIMEOUT_MS, pollMs: POLL_MS });
      await untilIdle(stage, STALL_TIMEOUT_MS);
      const copies = await countCopies(run, stage, rbm, destinations);
      const claims = { ...claimsOf(copies), 'every fallback is decided': decided };
      return judge({ ...figures, ...copies, kills: crew.kills }, claims);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Waits until the RCS network has taken `count` messages. Throws when it takes no more. */
async function untilSubmitted({ ledger }: SandboxRbm, count: number): Promise<void> {
  const poll = (): PollResult => {
    const { length } = ledger.messages();
    return { done: length >= count, progress: length };
  };
  if (!(await pollUntilDone(poll, { stallTimeoutMs: STALL_TIMEOUT_MS, pollMs: FIRST_POLL_MS })))
    throw new Error(`the RCS network has not taken ${String(count)} messages`);
}
