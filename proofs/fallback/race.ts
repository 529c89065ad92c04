import { setTimeout as delay } from 'node:timers/promises';
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
const POLL_MS = 300;

/** A gateway, a carrier and an RCS network, and the recipients that are to be reached by one of the two. */
export type Race = AsyncDisposable & {
  readonly stage: Stage;
  readonly destinations: readonly string[];
  startCrew(): Promise<Crew>;
  /** Kills `kills` workers, each within `maxMs` of the one before. */
  killWorkers(crew: Crew, kills: number, maxMs: number): Promise<void>;
  /** Waits until `poll` says that nothing is pending, and judges what everybody has received. */
  conclude(crew: Crew, figures: Figures, look: () => Promise<PollResult>): Promise<Findings>;
};

/** Opens a race with this many recipients. */
export async function openRace(run: Run, people: number): Promise<Race> {
  await using opened = new AsyncDisposableStack();
  const stage = opened.use(
    await openStage(run, { gateway: 'api', script: { receiptDelayMs: 50 }, settings: { window: 100 } }),
  );
  const rbm = await openNetwork(run, stage);
  opened.defer(rbm.close);
  const destinations = Array.from({ length: people }, (_, n) => mobileOf(n));
  const all = opened.move();
  return {
    stage,
    destinations,
    startCrew: () => startCrew(run, stage, WORKERS),
    async killWorkers(crew, kills, maxMs) {
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
