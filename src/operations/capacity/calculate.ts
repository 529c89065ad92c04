import {
  ARCHIVE_MIN_OCTETS_A_DAY,
  CONNECTIONS_PER_PROCESS,
  COSTS,
  type Cost,
  GATEWAY_OCTETS_PER_PROCESS,
  PAST_DAY_INDEX_OCTETS,
  type Range,
  WAL_ON_DISK_OCTETS,
} from './figures.ts';

/** What an installation has to carry. Shares are from 0 to 1; what is neither bulk nor campaign is sent one by one. */
export type Demand = {
  readonly perDay: number;
  readonly peakPerSecond: number;
  readonly shareBulk: number;
  readonly shareCampaigns: number;
  /** Parts of an SMS on average, at least 1. */
  readonly parts: number;
  /** Webhook events for each message: two where the account has a webhook. */
  readonly eventsPerMessage: number;
  readonly inboundPerDay: number;
  /** RETENTION_DAYS. */
  readonly keepDays: number;
};

/** Each range is what the smallest and the largest measured figures lead to; octets, seconds and CPU cores. */
export type Capacity = {
  readonly gatewayCores: Range;
  readonly postgresCores: Range;
  /** Cores to have for both: the upper figures, and as much again, so that half of them are free at the peak. */
  readonly coresToHave: number;
  readonly gatewayProcesses: number;
  readonly gatewayMemoryOctets: number;
  /** The indexes of today's and yesterday's messages, which PostgreSQL needs to keep in memory. */
  readonly hotIndexOctets: number;
  readonly connections: number;
  readonly walOctetsPerDay: Range;
  readonly walOctetsPerSecond: Range;
  readonly dataOctets: Range;
  /** Disk to have for the data: the upper figure, half as much again, and room for the write-ahead log. */
  readonly diskToHaveOctets: number;
  /** One base backup: a whole copy of the data. */
  readonly backupOctets: Range;
  /** What is archived in a day for restoring to any time. */
  readonly archiveOctetsPerDay: Range;
  readonly setup: Setup;
};

/** A set-up of docs/deployment.md. */
export type Setup = 'one machine' | 'two to five machines' | 'cells';

/** Half of the cores are free at the peak: batches wait for a core otherwise, and a standby that takes over needs them. */
const HEADROOM = 2;
/** Vacuum, exports, new indexes and a week in which more is sent than usual. */
const DISK_HEADROOM = 1.5;
/** Above this many cores in all, what is left is judgement: nothing was measured on more than two. */
const MAX_CORES_OF_ONE_MACHINE = 8;
const MAX_CORES_OF_ONE_SERVER = 32;
/** checkpoint_timeout of the built-in server, and what docs/runbooks/scale-out.md asks for. */
const CHECKPOINTS_PER_DAY = 96;
const SECONDS_PER_DAY = 86_400;
const PAGE_OCTETS = 8192;
/** An entry of the index of carriers' ids, on pages that are two thirds full as random inserts leave them. */
const CARRIER_INDEX_OCTETS = 60;
const NONE: Cost = {
  gatewayMicros: [0, 0],
  postgresMicros: [0, 0],
  walOctets: [0, 0],
  diskOctets: [0, 0],
  indexOctets: 0,
  source: '',
};

/**
 * Calculates what a demand takes, from the figures that were measured for one message. More of anything never takes less.
 * Above two cores nothing was measured, so the result for more is an extrapolation.
 */
export function calculateCapacity(demand: Demand): Capacity {
  const sent = costOfMessage(demand);
  const inboundPerMessage = demand.perDay > 0 ? demand.inboundPerDay / demand.perDay : 0;
  const atPeak = add(sent, times(COSTS.inbound, inboundPerMessage));
  const gatewayCores = scale(atPeak.gatewayMicros, demand.peakPerSecond / 1e6);
  const postgresCores = scale(atPeak.postgresMicros, demand.peakPerSecond / 1e6);
  const perDay = add(times(sent, demand.perDay), times(COSTS.inbound, demand.inboundPerDay));
  const walOctetsPerDay = addRange(perDay.walOctets, [0, wholePages(demand)]);
  const dataOctets = scale(perDay.diskOctets, demand.keepDays);
  const gatewayProcesses = Math.max(1, Math.ceil(gatewayCores[1] * HEADROOM));
  return {
    gatewayCores,
    postgresCores,
    coresToHave: Math.max(2, Math.ceil((gatewayCores[1] + postgresCores[1]) * HEADROOM)),
    gatewayProcesses,
    gatewayMemoryOctets: gatewayProcesses * GATEWAY_OCTETS_PER_PROCESS,
    hotIndexOctets: perDay.indexOctets * 2,
    connections: gatewayProcesses * CONNECTIONS_PER_PROCESS,
    walOctetsPerDay,
    walOctetsPerSecond: scale(atPeak.walOctets, demand.peakPerSecond),
    dataOctets,
    diskToHaveOctets: dataOctets[1] * DISK_HEADROOM + WAL_ON_DISK_OCTETS,
    backupOctets: dataOctets,
    archiveOctetsPerDay: [
      Math.max(walOctetsPerDay[0], ARCHIVE_MIN_OCTETS_A_DAY),
      walOctetsPerDay[1] + ARCHIVE_MIN_OCTETS_A_DAY,
    ],
    setup: setupFor((gatewayCores[1] + postgresCores[1]) * HEADROOM, postgresCores[1] * HEADROOM),
  };
}

/** One message on average: how it is sent, its further parts, and its events. */
function costOfMessage({ shareBulk, shareCampaigns, parts, eventsPerMessage }: Demand): Cost {
  const shareSingle = Math.max(0, 1 - shareBulk - shareCampaigns);
  return [
    times(COSTS.single, shareSingle),
    times(COSTS.bulk, shareBulk),
    times(COSTS.campaign, shareCampaigns),
    times(COSTS.furtherPart, parts - 1),
    times(COSTS.webhookEvent, eventsPerMessage),
    { ...NONE, diskOctets: [PAST_DAY_INDEX_OCTETS, PAST_DAY_INDEX_OCTETS] as Range },
  ].reduce(add, NONE);
}

/**
 * An upper bound of the octets that PostgreSQL logs a day beside the changes: after each checkpoint, the first change of a
 * page writes the whole page. What is new is on a few pages, but each carrier's id changes a page of its index at random.
 */
function wholePages({ perDay, parts }: Demand): number {
  const pagesAtTheEnd = (perDay * parts * CARRIER_INDEX_OCTETS) / PAGE_OCTETS;
  const betweenCheckpoints = (perDay * parts) / CHECKPOINTS_PER_DAY;
  return CHECKPOINTS_PER_DAY * Math.min(pagesAtTheEnd / 2, betweenCheckpoints) * PAGE_OCTETS;
}

function setupFor(allCores: number, postgresCores: number): Setup {
  if (postgresCores > MAX_CORES_OF_ONE_SERVER) return 'cells';
  return allCores > MAX_CORES_OF_ONE_MACHINE ? 'two to five machines' : 'one machine';
}

/** The peak that is assumed when none is named: a fifth of the day's messages within one hour. */
export const usualPeak = (perDay: number): number => perDay / (SECONDS_PER_DAY / 24) / 5;

const scale = ([low, high]: Range, factor: number): Range => [low * factor, high * factor];
const addRange = (a: Range, b: Range): Range => [a[0] + b[0], a[1] + b[1]];
const combine = (a: Cost, of: (name: RangeName) => Range, indexOctets: number): Cost => ({
  ...a,
  gatewayMicros: of('gatewayMicros'),
  postgresMicros: of('postgresMicros'),
  walOctets: of('walOctets'),
  diskOctets: of('diskOctets'),
  indexOctets,
});
const times = (cost: Cost, factor: number): Cost =>
  combine(cost, (name) => scale(cost[name], factor), cost.indexOctets * factor);
const add = (a: Cost, b: Cost): Cost => combine(a, (name) => addRange(a[name], b[name]), a.indexOctets + b.indexOctets);
type RangeName = 'gatewayMicros' | 'postgresMicros' | 'walOctets' | 'diskOctets';
