import { compare, hasEnded } from '../lib/compare.ts';
import { destinationOf, exportStatuses, listEverUnknown, listUnknownOutcomes } from '../lib/messages.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { type Size, submitThroughKills } from './kills.ts';
import { openCustomerStage } from './stage.ts';
import { compareReceipts, countMessages, ordersTo, untilFetched } from './submit.ts';

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 1500, kills: 2, serverKills: 2 },
  quick: { messages: 8000, kills: 8, serverKills: 6 },
  full: { messages: 100_000, kills: 300, serverKills: 200 },
};
/** Window of a bind to the carrier. */
const WINDOW = 10;
const STALL_TIMEOUT_MS = 20_000;
const REGISTERED = 0x11;

const LOST = 'nothing that was acknowledged is lost';

export const crashOfCustomers: Proof = {
  promise:
    'A crash of the processes that serve SMPP, and of workers, loses and doubles no acknowledged message of a customer, and no receipt.',
  sabotage: {
    fault: 'a submit gets a response before its commit',
    // Customers over SMPP get a response before the commit, too.
    module: new URL('../sabotage/accept.ts', import.meta.url),
    breaks: [LOST],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using scene = await openCustomerStage(run, {
    gateway: 'api',
    script: {
      responseDelayMs: 10,
      reorderResponseShare: 0.3,
      reorderMs: 10,
      receiptDelayMs: 50,
      earlyReceiptShare: 0.1,
    },
    settings: { window: WINDOW, binds: 1 },
    binds: 4,
    window: 50,
    registered: REGISTERED,
  });
  const { stage, customer, accountId } = scene;
  const destinations = Array.from({ length: size.messages }, (_, n) => destinationOf(n));
  const orders = ordersTo(destinations, () => 'Through the crash');
  const plan = { size, orders, serversFallBy: 'accepted', stallTimeoutMs: STALL_TIMEOUT_MS } as const;
  const { ids, counts, allKilled } = await submitThroughKills(run, scene, plan);
  await untilFetched(stage, STALL_TIMEOUT_MS);

  const records = await exportStatuses(stage, ids, hasEnded, STALL_TIMEOUT_MS);
  const unknownOutcomes = await listUnknownOutcomes(stage);
  const everUnknown = await listEverUnknown(stage);
  const ledger = await stage.carrier.ledger();
  const bound = counts.kills * WINDOW;
  const figures = {
    ...compare({ ids, records, unknownOutcomes, everUnknown, ledger }),
    ...compareReceipts(records, customer.receipts),
    ...customer.counts,
    stored: await countMessages(stage, accountId),
    unknownBound: bound,
    ...counts,
  };
  return judge(figures, {
    [LOST]: figures.lost === 0 && ids.length === size.messages,
    'each reference makes one message': figures.stored === size.messages && new Set(ids).size === size.messages,
    'nothing is sent twice': figures.duplicates === 0,
    'unknown <= kills of workers x window': figures.inDoubt <= bound,
    'every unknown outcome is listed with its reason': figures.notListed === 0,
    'every receipt that was asked for reaches the customer': figures.noReceipt === 0,
    'no receipt contradicts the API': figures.wrongReceipt === 0 && figures.strangeReceipts === 0,
    'receipts of a message come in order': figures.outOfOrder === 0,
    'some messages were submitted again': figures.again > 0,
    'all kills took place': allKilled,
  });
}
