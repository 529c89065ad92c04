import { killPoints, NEXT_SUBMIT_MS, startCrew, untilSubmits } from './lib/kills.ts';
import { destinationOf, exportStatuses, listEverUnknown, sendEach, untilIdle } from './lib/messages.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from './lib/proof.ts';
import { openStage, type Stage } from './lib/stage.ts';

type Size = { readonly messages: number; readonly kills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 600, kills: 4 },
  quick: { messages: 4000, kills: 20 },
  full: { messages: 50_000, kills: 500 },
};
const WORKERS = 2;
const WINDOW = 10;
const STALL_TIMEOUT_MS = 20_000;
/** The promise: a receipt settles its message within a minute. */
const SETTLED_WITHIN_MS = 60_000;
/**
 * This many of ten consecutive messages go to the same number, so that a crash leaves several of them in doubt
 * together.
 */
const SHARED_PER_TEN = 3;

export const settle: Proof = {
  promise: 'A late receipt settles the message in doubt that it belongs to, and never another one.',
  sabotage: {
    fault: 'a receipt settles the first message in doubt to its number, even if there are several',
    file: new URL('./sabotage/settle.ts', import.meta.url),
    breaks: ['nothing is settled wrongly'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using stage = await openStage(run, {
    gateway: 'api',
    script: { responseDelayMs: 10, receiptDelayMs: 300, reorderReceiptShare: 0.5, reorderMs: 150 },
    settings: { window: WINDOW },
  });
  const texts = Array.from({ length: size.messages }, (_, n) => `No ${n}`);
  const ids = await sendEach(
    stage,
    texts.map((body, n) => ({ destination: numberFor(n), body })),
  );
  const crew = await startCrew(run, stage, WORKERS);
  for (const point of killPoints(run, size.kills, size.messages)) {
    if (!(await untilSubmits(stage, point, NEXT_SUBMIT_MS))) break;
    await crew.killOne();
  }
  run.log(`${crew.kills} workers were killed; waiting for receipts`);
  await crew.allStarted();
  await untilIdle(stage, STALL_TIMEOUT_MS);
  const figures = { ...(await compare(stage, ids, texts)), kills: crew.kills };
  return judge(figures, {
    'messages that the carrier took are settled within a minute, unless ambiguous': figures.settledShare >= 0.99,
    'nothing is settled wrongly': figures.settledWrongly === 0,
    'some messages could be settled and some were ambiguous': figures.settleable > 0 && figures.contested > 0,
    'all kills took place': crew.kills === size.kills,
  });
}

const numberFor = (n: number): string => destinationOf(n % 10 < SHARED_PER_TEN ? n - (n % 10) : n);

/** Compares by text: each message has its own, and the carrier's ledger holds the id under which it took that text. */
async function compare(stage: Stage, ids: readonly string[], texts: readonly string[]) {
  const { submits } = await stage.carrier.ledger();
  const carrierIds = new Map(submits.flatMap(({ status, text, id }) => (status === 'ESME_ROK' ? [[text, id]] : [])));
  const wasInDoubt = await listEverUnknown(stage);
  const inDoubt = ids.flatMap((id, n) =>
    wasInDoubt.has(id) ? [{ id, number: numberFor(n), carrierId: carrierIds.get(texts[n] ?? '') }] : [],
  );
  const atNumber = Map.groupBy(inDoubt, ({ number }) => number);
  const contested = inDoubt.filter(({ number }) => (atNumber.get(number)?.length ?? 0) > 1);
  const settleable = inDoubt.filter((one) => one.carrierId && !contested.includes(one));
  const wanted = new Set(settleable.map(({ id }) => id));
  const records = await exportStatuses(
    stage,
    inDoubt.map(({ id }) => id),
    ({ messageId, deliveryStatus }) => !wanted.has(messageId) || deliveryStatus === 'DELIVERED',
    SETTLED_WITHIN_MS,
  );
  const settled = new Set(records.flatMap((r) => (r.deliveryStatus === 'UNKNOWN' ? [] : [r.messageId])));
  const named = await listCarrierIds(stage, [...settled]);
  const wrong = inDoubt.filter(({ id, carrierId }) => settled.has(id) && named.get(id) !== carrierId);
  return {
    messages: ids.length,
    inDoubt: inDoubt.length,
    takenByCarrier: inDoubt.filter(({ carrierId }) => carrierId).length,
    contested: contested.length,
    settleable: settleable.length,
    settledShare: settleable.filter(({ id }) => settled.has(id)).length / Math.max(1, settleable.length),
    settledWrongly: wrong.length,
    stillUnknown: inDoubt.length - settled.size,
  };
}

async function listCarrierIds({ pool }: Stage, ids: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ id: string; carrierId: string }>(
    'SELECT id, carrier_id AS "carrierId" FROM message_state WHERE id = ANY($1::uuid[])',
    [ids],
  );
  return new Map(rows.map(({ id, carrierId }) => [id, carrierId]));
}
