import { compareResubmitted } from '../crash/resubmit.ts';
import { killPoints, NEXT_SUBMIT_MS, startCrew, untilSubmits } from '../lib/kills.ts';
import { destinationOf, untilIdle } from '../lib/messages.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { openCustomerStage } from './stage.ts';
import { countMessages, ordersTo, submitAll } from './submit.ts';

type Size = { readonly messages: number; readonly kills: number; readonly doorKills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 400, kills: 3, doorKills: 1 },
  quick: { messages: 4000, kills: 12, doorKills: 4 },
  full: { messages: 50_000, kills: 300, doorKills: 100 },
};
const WORKERS = 2;
const DOORS = 2;
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
    doors: DOORS,
    binds: 4,
    window: 20,
    registered: 1,
  });
  const { stage, doors, customer, accountId } = scene;
  const crew = await startCrew(run, stage, WORKERS);
  const destinations = Array.from({ length: size.messages }, (_, n) => destinationOf(n));
  const submission = submitAll(
    customer,
    ordersTo(destinations, () => 'Your code is 123456'),
  );
  const killDoors = async (): Promise<void> => {
    for (const point of killPoints(run, size.doorKills, size.messages)) {
      await submission.untilAccepted(point);
      await doors.killOne();
    }
  };
  const killWorkers = async (): Promise<void> => {
    for (const point of killPoints(run, size.kills, size.messages)) {
      if (!(await untilSubmits(stage, point, NEXT_SUBMIT_MS))) break;
      await crew.killOne();
    }
  };
  await Promise.all([submission.all, killDoors(), killWorkers()]);
  await Promise.all([crew.allStarted(), doors.allStarted()]);
  await untilIdle(stage, STALL_TIMEOUT_MS);
  const figures = {
    ...(await compareResubmitted(stage, [...submission.ids.values()])),
    ...customer.counts,
    stored: await countMessages(stage, accountId),
    kills: crew.kills,
    doorKills: doors.kills,
    bound: crew.kills * WINDOW,
  };
  return judge(figures, {
    'nothing is lost': figures.lost === 0 && figures.messages === size.messages,
    'each reference makes one message': figures.stored === size.messages,
    [FLAGGED]: figures.notFlagged === 0,
    'no more messages are flagged than were in doubt': figures.flagged <= figures.bound,
    'some messages were sent twice': figures.duplicates > 0,
    'all kills took place': crew.kills === size.kills && doors.kills === size.doorKills,
  });
}
