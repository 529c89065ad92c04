import { type Ledger, takenByDestination } from './lib/carrier.ts';
import { killPoints, NEXT_SUBMIT_MS, startCrew, untilSubmits } from './lib/kills.ts';
import { exportStatuses, listEverUnknown, listUnknownOutcomes, type StatusRecord, untilIdle } from './lib/messages.ts';
import { type PollResult, pollUntilDone } from './lib/poll.ts';
import { type Findings, judge, type Mode, oneOf, type Proof, type Run } from './lib/proof.ts';
import { openStage, type Stage } from './lib/stage.ts';
import { NO_PARKED_RECEIPTS } from './sabotage/in-database.ts';

type Size = { readonly messages: number; readonly kills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 600, kills: 1 },
  quick: { messages: 20_000, kills: 10 },
  full: { messages: 1_000_000, kills: 200 },
};
const WORKERS = 2;
const WINDOW = 50;
const STALL_TIMEOUT_MS = 20_000;
/** A parked receipt is tried again when it has waited twice as long as before; kills delay a response for seconds. */
const RETRY_TIMEOUT_MS = 60_000;
const RESPELL_INTERVAL_MS = 200;
const POLL_MS = 500;
const MAX_EXAMPLES = 5;
const DESTINATIONS_PER_REQUEST = 5000;
/** A text that makes two parts. */
const LONG = 'A text that needs two parts, each with a receipt of its own. '.repeat(4);
const LONG_SHARE = 0.1;

/** Last digits of a number, which choose the outcome at the sandbox; most are delivered. */
const ENDINGS = ['0001', '0002', '0003', '0004', '9901', '9902', '9903', '9904', '9907', '9911'];
const SPELLINGS = ['same', 'opposite', 'other-case', 'zero-padded'] as const;

export const receipts: Proof = {
  promise: 'Every receipt is matched to its own message, however its id is spelled and whenever it arrives.',
  sabotage: {
    fault: 'a receipt that matches no message on arrival is dropped',
    sql: NO_PARKED_RECEIPTS,
    breaks: ['no receipt is dropped'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using stage = await openStage(run, {
    gateway: 'api',
    script: {
      idFormat: oneOf(run, ['decimal', 'hex-lower', 'hex-upper', 'hex-padded']),
      responseDelayMs: 5,
      receiptDelayMs: 100,
      earlyReceiptShare: 0.2,
      doubleReceiptShare: 0.1,
      reorderReceiptShare: 0.1,
      reorderMs: 300,
      foreignReceiptShare: 0.05,
    },
    settings: { window: WINDOW },
  });
  const ids = await sendAll(run, stage, size.messages);
  const crew = await startCrew(run, stage, WORKERS);
  const respelling = startRespelling(run, stage);
  for (const point of killPoints(run, size.kills, size.messages)) {
    if (!(await untilSubmits(stage, point, NEXT_SUBMIT_MS))) break;
    await crew.killOne();
    run.log(`killed a worker at ${point} submits`);
  }
  await crew.allStarted();
  await untilIdle(stage, STALL_TIMEOUT_MS);
  await respelling.stop();

  const { withheld } = await stage.carrier.counts();
  const figures = { ...(await compare(run, stage, ids)), kills: crew.kills, withheld };
  return judge(figures, {
    'no receipt is dropped': figures.dropped === 0,
    'no receipt is matched to the wrong message': figures.misattributed === 0 && figures.missing === 0,
    'receipts that match no message stay parked': figures.foreignGone === 0,
    'nothing else stays parked': figures.parkedInVain === 0,
    'unknown <= kills x window, and what the carrier left open': figures.inDoubt <= crew.kills * WINDOW + withheld,
    'all kills took place': crew.kills === size.kills,
  });
}

/** Sends messages to numbers with mixed endings, so that neighbours end differently; some have two parts. */
async function sendAll(run: Run, { client }: Stage, messages: number): Promise<string[]> {
  const ids: string[] = [];
  for (let first = 0; first < messages; first += DESTINATIONS_PER_REQUEST) {
    const count = Math.min(DESTINATIONS_PER_REQUEST, messages - first);
    const destinations = Array.from({ length: count }, (_, n) => `+39${3_000_000 + first + n}${oneOf(run, ENDINGS)}`);
    const long = Math.round(count * LONG_SHARE);
    const { results } = await client.bulk({
      messages: [
        { destinations: destinations.slice(0, long), sender: 'Acme', body: LONG },
        { destinations: destinations.slice(long), sender: 'Acme', body: 'Short' },
      ],
    });
    ids.push(...results.flatMap(({ id }) => id ?? []));
  }
  return ids;
}

/** Makes the carrier change the spelling of its receipt ids at intervals, until stopped. */
function startRespelling(run: Run, { carrier }: Stage): { stop(): Promise<void> } {
  let last: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    last = carrier.script({ receiptIdBase: oneOf(run, SPELLINGS) });
  }, RESPELL_INTERVAL_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return last;
    },
  };
}

const STATUS_OF: Readonly<Record<string, string>> = {
  DELIVRD: 'DELIVERED',
  UNDELIV: 'UNDELIVERABLE',
  EXPIRED: 'EXPIRED',
  REJECTD: 'REJECTED',
  FAILED: 'UNDELIVERABLE',
};

/**
 * The status of each destination by the receipts in the ledger: the final state that all its parts share, or ACCEPTED
 * while there is none.
 */
function expectedStatuses(ledger: Ledger): Map<string, string> {
  const receiptsById = Map.groupBy(
    ledger.receipts.filter(({ id, result }) => id !== '' && result === 'acked'),
    ({ id }) => id,
  );
  const ends = (id: string | null): string[] =>
    (receiptsById.get(id ?? '') ?? []).flatMap(({ text }) => STATUS_OF[text] ?? []);
  return new Map(
    [...takenByDestination(ledger)].map(([destination, submits]) => {
      const states = submits.map(({ id }) => ends(id)[0]);
      const [first] = states;
      const parts = submits[0]?.concat?.total ?? 1;
      const whole = states.filter((state) => state === 'DELIVERED').length === parts;
      return [destination, first === undefined || (first === 'DELIVERED' && !whole) ? 'ACCEPTED' : first];
    }),
  );
}

/**
 * The status of each number by receipts with foreign ids. For a message in doubt, such a receipt looks like a
 * late one of this message, so the carrier's status counts, whichever message it meant.
 */
const foreignStatuses = (ledger: Ledger): Map<string, string> =>
  new Map(
    ledger.receipts
      .filter(({ id, result }) => id === '' && result === 'acked')
      .map(({ source, text }) => [`+${source}`, STATUS_OF[text] ?? 'ACCEPTED']),
  );

async function compare(run: Run, stage: Stage, ids: readonly string[]) {
  const ledger = await stage.carrier.ledger();
  const expected = expectedStatuses(ledger);
  const unknown = new Set((await listUnknownOutcomes(stage)).map(({ messageId }) => messageId));
  const inDoubt = await listEverUnknown(stage);
  const foreign = foreignStatuses(ledger);
  const isRight = ({ messageId, destination, deliveryStatus }: StatusRecord): boolean =>
    unknown.has(messageId) ||
    deliveryStatus === expected.get(destination) ||
    (inDoubt.has(messageId) && foreign.get(destination) === deliveryStatus);
  const records = await exportStatuses(stage, ids, isRight, STALL_TIMEOUT_MS);
  const wrong = records.filter((record) => !isRight(record));
  for (const { messageId, destination, deliveryStatus } of wrong.slice(0, MAX_EXAMPLES))
    run.log(`${messageId} to ${destination} is ${deliveryStatus}, but ${expected.get(destination)} at the carrier`);
  const doubtful = records.filter(({ messageId }) => inDoubt.has(messageId)).map(({ destination }) => destination);
  return {
    messages: ids.length,
    receipts: ledger.receipts.length,
    missing: ids.length - records.length,
    dropped: wrong.filter(({ deliveryStatus }) => deliveryStatus === 'ACCEPTED').length,
    misattributed: wrong.filter(({ deliveryStatus }) => deliveryStatus !== 'ACCEPTED').length,
    inDoubt: inDoubt.size,
    unknown: unknown.size,
    ...(await compareParked(stage, ledger, new Set(doubtful))),
  };
}

/**
 * Compares the parked receipts with those for messages that are not ours, which must all be parked. For a number whose
 * message is in doubt, either is right: a receipt with a foreign id looks like a late one of this message, so it may be
 * parked or not. A receipt that came before the response is parked until its next retry, so this polls while the number
 * of such receipts goes down.
 */
async function compareParked(stage: Stage, ledger: Ledger, doubtful: ReadonlySet<string>) {
  const [inDoubt, sure] = partition(ledger.receipts, ({ source }) => doubtful.has(`+${source}`));
  const foreign = new Set(sure.filter(({ id }) => id === '').map(({ receiptId }) => receiptId));
  const mayBeParked = new Set([...foreign, ...inDoubt.map(({ receiptId }) => receiptId)]);
  let parked: readonly string[][] = [];
  const inVain = (): number => parked.filter((ids) => !ids.some((id) => mayBeParked.has(id))).length;
  const poll = async (): Promise<PollResult> => {
    parked = await listParked(stage);
    return { done: inVain() === 0, progress: inVain() };
  };
  await pollUntilDone(poll, { stallTimeoutMs: RETRY_TIMEOUT_MS, pollMs: POLL_MS });
  const parkedIds = new Set(parked.flat());
  return {
    foreign: foreign.size,
    foreignGone: [...foreign].filter((id) => !parkedIds.has(id)).length,
    parkedInVain: inVain(),
  };
}

/** Returns the ids of each parked receipt: those of the carrier in each spelling, and ours where it returned it. */
async function listParked({ pool }: Stage): Promise<string[][]> {
  const { rows } = await pool.query<{ ids: string[] }>(`SELECT receipt->'carrierIds' AS ids FROM receipt_unmatched`);
  return rows.map(({ ids }) => ids);
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  const { yes = [], no = [] } = Object.groupBy(items, (item) => (test(item) ? 'yes' : 'no'));
  return [yes, no];
}
