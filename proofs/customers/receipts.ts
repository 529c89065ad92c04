import { STATUS } from '../../src/carriers/smpp/status.ts';
import { hasEnded } from '../lib/compare.ts';
import { exportStatuses, listUnknownOutcomes } from '../lib/messages.ts';
import { type Findings, judge, type Mode, oneOf, type Proof, type Run } from '../lib/proof.ts';
import { type Size, submitThroughKills } from './kills.ts';
import { openCustomerStage } from './stage.ts';
import { compareReceipts, ordersTo, untilFetched } from './submit.ts';

const SIZES: Readonly<Record<Mode, Size & { readonly cuts: number }>> = {
  tiny: { messages: 600, kills: 1, doorKills: 1, cuts: 3 },
  quick: { messages: 10_000, kills: 4, doorKills: 4, cuts: 30 },
  full: { messages: 200_000, kills: 100, doorKills: 100, cuts: 1000 },
};
const STALL_TIMEOUT_MS = 30_000;
/** All final states, and intermediate notifications. */
const REGISTERED = 0x11;
/** The share of receipts that the customer cannot take now. */
const REFUSED_SHARE = 0.05;
/** A text of two parts, in message_payload. */
const LONG = 'A text that needs two parts, each with a receipt of its own. '.repeat(5);
const LONG_EVERY = 10;
/** Last digits of a number, which choose the outcome at the sandbox. */
const ENDINGS = ['0001', '0002', '0003', '0004', '9901', '9902', '9903', '9904', '9911'];

const ALL_ARRIVE = 'every receipt that was asked for reaches the customer';

export const receiptsOfCustomers: Proof = {
  promise: 'Every receipt that a customer asked for is kept until it arrives, even if processes are killed.',
  sabotage: {
    fault: 'a receipt is forgotten when it is sent, not when it is answered',
    file: new URL('../sabotage/customers-receipts.ts', import.meta.url),
    breaks: [ALL_ARRIVE],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using scene = await openCustomerStage(run, {
    gateway: 'api',
    script: {
      responseDelayMs: 5,
      receiptDelayMs: 100,
      earlyReceiptShare: 0.2,
      doubleReceiptShare: 0.1,
      reorderReceiptShare: 0.1,
      reorderMs: 300,
    },
    settings: { window: 20, binds: 1 },
    binds: 3,
    window: 20,
    registered: REGISTERED,
    answer: () => (run.random.chance(REFUSED_SHARE) ? STATUS.ESME_RX_T_APPN : STATUS.ESME_ROK),
  });
  const { stage, customer } = scene;
  const destinations = Array.from({ length: size.messages }, (_, n) => `+39${3_000_000 + n}${oneOf(run, ENDINGS)}`);
  const orders = ordersTo(destinations, (n) => (n % LONG_EVERY === 0 ? LONG : 'Short'));
  const { cuts } = size;
  const plan = { size, orders, doorsFallBy: 'taken', cuts, stallTimeoutMs: STALL_TIMEOUT_MS } as const;
  const { ids, counts, allKilled } = await submitThroughKills(run, scene, plan);
  const isFetched = await untilFetched(stage, STALL_TIMEOUT_MS);

  const records = await exportStatuses(stage, ids, hasEnded, STALL_TIMEOUT_MS);
  const figures = {
    messages: ids.length,
    ...compareReceipts(records, customer.receipts),
    ...customer.counts,
    unknown: (await listUnknownOutcomes(stage)).length,
    notEnded: records.filter((record) => !hasEnded(record)).length,
    ...counts,
  };
  return judge(figures, {
    [ALL_ARRIVE]: figures.noReceipt === 0 && isFetched,
    'no receipt contradicts the API': figures.wrongReceipt === 0 && figures.strangeReceipts === 0,
    'receipts of a message come in order': figures.outOfOrder === 0,
    'every message ends': records.length === size.messages && figures.notEnded === 0,
    'some receipts were refused and sent again': figures.refusedReceipts > 0 && figures.receiptsTwice > 0,
    'all kills took place': allKilled,
  });
}
