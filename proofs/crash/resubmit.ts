import { takenByDestination } from '../lib/carrier.ts';
import { killPoints, NEXT_SUBMIT_MS, startCrew, untilSubmits } from '../lib/kills.ts';
import { destinationOf, exportStatuses, untilIdle } from '../lib/messages.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { openStage, type Stage } from '../lib/stage.ts';
import { NO_DUPLICATE_FLAG } from '../sabotage/in-database.ts';

type Size = { readonly messages: number; readonly kills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 300, kills: 3 },
  quick: { messages: 4000, kills: 15 },
  full: { messages: 50_000, kills: 500 },
};
const CLIENTS = 32;
const WORKERS = 2;
const WINDOW = 10;
/** Long enough for the windows to be full whenever a worker is killed, also on a busy machine. */
const RESPONSE_DELAY_MS = 50;
const STALL_TIMEOUT_MS = 20_000;

export const resubmit: Proof = {
  promise: 'On a route that resubmits unknown outcomes nothing is lost, and every possible duplicate is flagged.',
  sabotage: {
    fault: 'resubmitted messages are not flagged',
    sql: NO_DUPLICATE_FLAG,
    breaks: ['every message sent twice is flagged'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using stage = await openStage(run, {
    gateway: 'api',
    script: { responseDelayMs: RESPONSE_DELAY_MS, receiptDelayMs: 200 },
    settings: { window: WINDOW },
    onUnknown: 'resubmit',
  });
  const ids = await sendSingles(stage, size.messages);
  const crew = await startCrew(run, stage, WORKERS);
  for (const point of killPoints(run, size.kills, size.messages)) {
    if (!(await untilSubmits(stage, point, NEXT_SUBMIT_MS))) break;
    await crew.killOne();
  }
  await crew.allStarted();
  await untilIdle(stage, STALL_TIMEOUT_MS);
  const { withheld } = await stage.carrier.counts();
  const bound = crew.kills * WINDOW + withheld;
  const figures = { ...(await compareResubmitted(stage, ids)), kills: crew.kills, withheld, bound };
  return judge(figures, {
    'nothing is lost': figures.lost === 0,
    'every message sent twice is flagged': figures.notFlagged === 0,
    'no more messages are flagged than were in doubt': figures.flagged <= figures.bound,
    'some messages were sent twice': figures.duplicates > 0,
    'all kills took place': crew.kills === size.kills,
  });
}

/** Sends single messages: only these are ever resubmitted. */
async function sendSingles({ client }: Stage, count: number): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  async function send(): Promise<void> {
    for (let n = next++; n < count; n = next++) {
      const { messageId } = await client.send({ phoneNumber: destinationOf(n), message: 'Your code is 123456' });
      if (messageId !== null) ids.push(messageId);
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, send));
  return ids;
}

/** Compares what the gateway says of messages on a route that resubmits with the carrier's ledger. */
async function compareResubmitted(stage: Stage, ids: readonly string[]) {
  const records = await exportStatuses(stage, ids, (r) => r.deliveryStatus === 'DELIVERED', STALL_TIMEOUT_MS);
  const taken = takenByDestination(await stage.carrier.ledger());
  const doubled = records.filter(({ destination }) => (taken.get(destination)?.length ?? 0) > 1);
  const flagged = await listFlagged(stage);
  // After a second crash in its window a message is held rather than sent a third time.
  const unknown = records.filter(({ deliveryStatus }) => deliveryStatus === 'UNKNOWN');
  const delivered = records.filter((r) => r.deliveryStatus === 'DELIVERED' && taken.has(r.destination));
  return {
    messages: ids.length,
    delivered: delivered.length,
    unknown: unknown.length,
    lost: ids.length - delivered.length - unknown.length,
    duplicates: doubled.length,
    flagged: flagged.size,
    notFlagged: doubled.filter(({ messageId }) => !flagged.has(messageId)).length,
  };
}

async function listFlagged({ pool }: Stage): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM message_state WHERE possible_duplicate');
  return new Set(rows.map(({ id }) => id));
}
