import { setTimeout as delay } from 'node:timers/promises';
import type { SubmitEntry } from '../../src/simulators/smsc/ledger-entries.ts';
import { mobileOf, sendCampaign } from '../lib/campaigns.ts';
import { compare, hasEnded } from '../lib/compare.ts';
import { exportStatuses, listEverUnknown, listUnknownOutcomes, sendBulk, untilIdle } from '../lib/messages.ts';
import { type Figures, type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { openStage, type Stage } from '../lib/stage.ts';
import { type Attempt, measure, type Phase, refusedShare, type Share } from './measure.ts';
import { type Networks, openNetworks } from './networks.ts';

/** What the carriers allow per second, one limit after the other. The gateway is not told. */
const LIMITS = [80, 20, 200, 80] as const;
/** The limit that lets the rest through in the end. */
const NONE = 0;
/** The time for which a limit holds, and how long the gateway may look for it. */
type Size = { readonly seconds: number; readonly settlingSeconds: number };
const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { seconds: 13, settlingSeconds: 8 },
  quick: { seconds: 30, settlingSeconds: 12 },
  full: { seconds: 300, settlingSeconds: 12 },
};
const STALL_TIMEOUT_MS = 30_000;

/** The text of one message in four, which makes three parts. */
const THREE_PARTS = 'The parts of a long text must reach the carrier in their order. '.repeat(6);
const PARTS_OF_FOUR = 6;

export const throttle: Proof = {
  promise:
    'Every carrier is sent as much as it takes, whatever its limit is and becomes, and hardly anything is refused.',
  sabotage: {
    fault: 'refusals do not change the rate',
    file: new URL('../sabotage/throttle.ts', import.meta.url),
    breaks: ['few attempts are refused'],
    mode: 'tiny',
  },
  timed: true,
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const { seconds } = SIZES[run.mode];
  await using stage = await openStage(run, {
    gateway: 'serve',
    script: { tps: LIMITS[0], receiptDelayMs: 50 },
    settings: { window: 50 },
  });
  await using networks = await openNetworks(stage);
  await setLimits(stage, networks, LIMITS[0]);
  const count = Math.ceil(LIMITS.reduce((sum, limit) => sum + limit, 0) * seconds * 1.1);
  const groupsOfFour = Math.ceil(count / PARTS_OF_FOUR);
  const people = Array.from({ length: count }, (_, n) => mobileOf(n));
  const ids = [
    ...(await sendBulk(stage, numbers(0, groupsOfFour), THREE_PARTS)),
    ...(await sendBulk(stage, numbers(groupsOfFour, 3 * groupsOfFour), 'Short')),
  ];
  await sendCampaign(stage.client, people, networks.whatsappCampaign);
  await sendCampaign(stage.client, people, networks.rcsCampaign);
  const phases = await runPhases(run, stage, networks);
  await setLimits(stage, networks, NONE);
  await untilIdle(stage, STALL_TIMEOUT_MS);

  const records = await exportStatuses(stage, ids, hasEnded, STALL_TIMEOUT_MS);
  const ledger = await stage.carrier.ledger();
  const known = { unknownOutcomes: await listUnknownOutcomes(stage), everUnknown: await listEverUnknown(stage) };
  const figures = compare({ ids, records, ...known, ledger });
  const taken = { whatsapp: countWhatsapp(networks), rcs: countRcs(networks) };
  const rates = ratesOf(phases, attemptsOf(ledger.submits, networks));
  // Next to other tests the processes get little CPU time: the smallest run allows for that.
  const [least, most] = run.mode === 'tiny' ? [0.5, 0.4] : [0.9, 0.1];
  return judge(
    { ...figures, ...figuresOf(rates), partsOutOfOrder: countOutOfOrder(ledger.submits) },
    {
      'nothing is lost':
        figures.lost + figures.inDoubt === 0 && taken.whatsapp.people === count && taken.rcs.people === count,
      'nothing is sent twice':
        figures.duplicates === 0 && taken.whatsapp.messages === count && taken.rcs.messages === count,
      'parts arrive in order': countOutOfOrder(ledger.submits) === 0,
      'each carrier takes nearly as much as its limit allows': rates.every(({ shares }) =>
        shares.every(({ share }) => share.taken >= least),
      ),
      'few attempts are refused': rates.every(
        ({ refused, shares }) => refused <= most && shares.every(({ share }) => share.refused <= most),
      ),
    },
  );
}

const numbers = (first: number, count: number): string[] =>
  Array.from({ length: count }, (_, n) => mobileOf(first + n));

async function setLimits({ carrier }: Stage, { graph, rbm }: Networks, tps: number): Promise<void> {
  graph.script.tps = tps;
  rbm.script.tps = tps;
  await carrier.script({ tps });
}

/** Lets each limit hold for its time. Returns when it held, without the time to find it. */
async function runPhases(run: Run, stage: Stage, networks: Networks): Promise<Phase[]> {
  const { seconds, settlingSeconds } = SIZES[run.mode];
  const phases: Phase[] = [];
  for (const limit of LIMITS) {
    run.log(`the carriers allow ${limit} per second`);
    await setLimits(stage, networks, limit);
    const from = Date.now() + settlingSeconds * 1000;
    await delay(seconds * 1000);
    phases.push({ limit, from, to: Date.now() });
  }
  return phases;
}

type Attempts = Readonly<Record<'smpp' | 'whatsapp' | 'rcs', readonly Attempt[]>>;

const attemptsOf = (submits: readonly SubmitEntry[], { graph, rbm }: Networks): Attempts => ({
  smpp: submits.map(({ at, status }) => ({ at, accepted: status === 'ESME_ROK' })),
  whatsapp: graph.ledger.messages().map(({ at, code }) => ({ at, accepted: code === 0 })),
  rcs: rbm.ledger.messages().map(({ at, status }) => ({ at, accepted: status === 'OK' })),
});

type Rates = {
  readonly name: string;
  /** The share of all attempts that was refused, the search for each limit included. */
  readonly refused: number;
  readonly shares: readonly { readonly limit: number; readonly share: Share }[];
};

const ratesOf = (phases: readonly Phase[], attempts: Attempts): Rates[] =>
  Object.entries(attempts).map(([name, own]) => ({
    name,
    refused: refusedShare(own),
    shares: phases.map((phase) => ({ limit: phase.limit, share: measure(own, phase) })),
  }));

function figuresOf(rates: readonly Rates[]): Figures {
  const entries = rates.flatMap(({ name, refused, shares }) => [
    [`${name}Refused`, refused] as const,
    ...shares.flatMap(({ limit, share }, i) => [
      [`${name}${i + 1}At${limit}`, share.taken] as const,
      [`${name}${i + 1}At${limit}Refused`, share.refused] as const,
    ]),
  ]);
  return Object.fromEntries(entries);
}

/** How many messages a network took, and from how many people. */
const countPeople = (destinations: readonly string[]) => ({
  messages: destinations.length,
  people: new Set(destinations).size,
});

const countWhatsapp = ({ graph }: Networks) =>
  countPeople(graph.ledger.messages().flatMap(({ code, to }) => (code === 0 ? [to] : [])));

const countRcs = ({ rbm }: Networks) =>
  countPeople(rbm.ledger.messages().flatMap(({ status, destination }) => (status === 'OK' ? [destination] : [])));

/** Counts messages whose parts were taken out of order. */
function countOutOfOrder(submits: readonly SubmitEntry[]): number {
  const parts = submits.filter(({ status, concat }) => status === 'ESME_ROK' && concat !== null);
  const messages = Map.groupBy(parts, ({ destination }) => destination);
  return [...messages.values()].filter((taken) => taken.some(({ concat }, i) => concat?.seq !== i + 1)).length;
}
