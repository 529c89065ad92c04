import { compareResubmitted } from '../crash/resubmit.ts';
import { destinationOf } from '../lib/messages.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { type Size, submitThroughKills } from './kills.ts';
import { openCustomerStage } from './stage.ts';
import { countMessages, ordersTo } from './submit.ts';

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 400, kills: 3, doorKills: 1 },
  quick: { messages: 4000, kills: 12, doorKills: 4 },
  full: { messages: 50_000, kills: 300, doorKills: 100 },
};
const WINDOW = 10;
/** Long enough for the windows to be full whenever a worker is killed, also on a busy machine. */
const RESPONSE_DELAY_MS = 50;
const STALL_TIMEOUT_MS = 20_000;
const FLAGGED = 'every message sent twice is flagged';

export const resubmitOfCustomers: Proof = {
  promise:
    'On a route that resubmits unknown outcomes nothing of a customer by SMPP is lost, and every possible duplicate is flagged.',
  sabotage: {
    fault: 'resubmitted messages are not flagged',
    file: new URL('../sabotage/customers-resubmit.ts', import.meta.url),
    breaks: [FLAGGED],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using scene = await openCustomerStage(run, {
    gateway: 'api',
    script: { responseDelayMs: RESPONSE_DELAY_MS, receiptDelayMs: 200 },
    settings: { window: WINDOW },
    onUnknown: 'resubmit',
    binds: 4,
    window: 20,
    registered: 1,
  });
  const { stage, customer, accountId } = scene;
  const destinations = Array.from({ length: size.messages }, (_, n) => destinationOf(n));
  const orders = ordersTo(destinations, () => 'Your code is 123456');
  const plan = { size, orders, doorsFallBy: 'accepted', stallTimeoutMs: STALL_TIMEOUT_MS } as const;
  const { ids, counts, allKilled } = await submitThroughKills(run, scene, plan);
  const figures = {
    ...(await compareResubmitted(stage, ids)),
    ...customer.counts,
    stored: await countMessages(stage, accountId),
    ...counts,
    bound: counts.kills * WINDOW,
  };
  return judge(figures, {
    'nothing is lost': figures.lost === 0 && figures.messages === size.messages,
    'each reference makes one message': figures.stored === size.messages,
    [FLAGGED]: figures.notFlagged === 0,
    'no more messages are flagged than were in doubt': figures.flagged <= figures.bound,
    'some messages were sent twice': figures.duplicates > 0,
    'all kills took place': allKilled,
  });
}
