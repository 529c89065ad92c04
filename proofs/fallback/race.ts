import { setTimeout as delay } from 'node:timers/promises';
import { mobileOf } from '../campaigns.ts';
import { type Crew, startCrew } from '../kills.ts';
import { untilQuiet } from '../messages.ts';
import { type Look, waitPatiently } from '../patience.ts';
import { between, type Figures, type Findings, judge, type Run } from '../proof.ts';
import { openStage, type Stage } from '../stage.ts';
import { claimsOf, copiesOf } from './copies.ts';
import { openNetwork } from './network.ts';

const WORKERS = 2;
/** Longer than what a killed worker had in hand, or was taking back, stays its own. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 300;

/** A gateway, a carrier and an RCS network, and the people who are to be reached by one of the two. */
export type Race = AsyncDisposable & {
  readonly stage: Stage;
  readonly destinations: readonly string[];
  startCrew(): Promise<Crew>;
  /** Kills a worker so many times, each at most so long after the one before. */
  killOften(crew: Crew, kills: number, mostMs: number): Promise<void>;
  /** Waits until nothing follows any more, as `look` shows it, and judges what everybody has got. */
  conclude(crew: Crew, figures: Figures, look: () => Promise<Look>): Promise<Findings>;
};

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
    async killOften(crew, kills, mostMs) {
      for (let kill = 0; kill < kills; kill++) {
        await delay(between(run, 0, mostMs));
        await crew.killOne();
      }
    },
    async conclude(crew, figures, look) {
      await crew.settled();
      const decided = await waitPatiently(look, { patienceMs: PATIENCE_MS, lookMs: LOOK_MS });
      await untilQuiet(stage, PATIENCE_MS);
      const copies = await copiesOf(run, stage, rbm, destinations);
      const claims = { ...claimsOf(copies), 'all is decided': decided };
      return judge({ ...figures, ...copies, kills: crew.kills }, claims);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
