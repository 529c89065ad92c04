import { measure, numbers } from '../fair.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { openStage } from '../lib/stage.ts';
import { freePort } from '../../test/support/free-port.ts';
import { openCustomer } from './stage.ts';

type Size = { readonly queued: number; readonly singles: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { queued: 10_000, singles: 20 },
  quick: { queued: 30_000, singles: 200 },
  full: { queued: 300_000, singles: 1000 },
};
/** The rate of the connection to the carrier. */
const TPS = 200;
const QUEUED_SHARE = 0.1;
/** Submits of the first customer are under way all the time, over several binds. */
const FLOOD = { binds: 8, window: 200, registered: 0 };
const CALM = { binds: 1, window: 10, registered: 0 };
const NOT_QUEUED = 'no single send of another customer lets a tenth of the queue go first';

export const fairToCustomers: Proof = {
  promise: 'A customer who submits by SMPP as fast as possible does not slow down the messages of another one.',
  sabotage: {
    fault: 'all messages are queued in the order in which they arrive',
    file: new URL('../sabotage/customers-fair.ts', import.meta.url),
    breaks: [NOT_QUEUED],
    mode: 'tiny',
  },
  timed: true,
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const { queued, singles } = SIZES[run.mode];
  const port = await freePort();
  await using opened = new AsyncDisposableStack();
  const stage = opened.use(
    await openStage(run, {
      gateway: 'serve',
      script: { receiptDelayMs: 50 },
      settings: { tps: TPS, window: 50 },
      environment: { SMPP_PORT: String(port) },
    }),
  );
  const { customer: greedy } = await openCustomer(stage, opened, { ...FLOOD, port: () => port });
  const { customer: calm } = await openCustomer(stage, opened, { ...CALM, port: () => port });
  const answerTimes: number[] = [];
  const send = async (destination: string): Promise<void> => {
    const begun = performance.now();
    await calm.submit({ reference: destination, destination, text: 'Your code is 123456' });
    answerTimes.push(performance.now() - begun);
  };
  const idle = await measure(run, stage, send, numbers(0, singles));
  run.log(`alone: p50 ${idle.p50} ms, p99 ${idle.p99} ms`);
  const flood = numbers(singles, queued).map((destination) =>
    greedy.submit({ reference: destination, destination, text: 'One of very many' }),
  );
  await Promise.race(flood);
  answerTimes.length = 0;
  const busy = await measure(run, stage, send, numbers(singles + queued, singles));
  run.log(`next to them: p50 ${busy.p50} ms, p99 ${busy.p99} ms`);
  const { submits } = await stage.carrier.counts();
  await Promise.all(flood);
  const figures = {
    queued,
    singles,
    stillQueued: queued + 2 * singles - submits,
    idleP99Ms: idle.p99,
    busyP99Ms: busy.p99,
    busyMaxMs: busy.max,
    slowestAnswerMs: Math.round(Math.max(0, ...answerTimes)),
    wentFirst: busy.wentFirst,
    notSent: idle.notSent + busy.notSent,
    throttled: greedy.counts.throttled,
  };
  return judge(figures, {
    [NOT_QUEUED]: busy.notSent === 0 && busy.wentFirst < QUEUED_SHARE * queued,
    'every single send reaches the carrier': figures.notSent === 0,
    'the queue never ran empty': figures.stillQueued > 0,
  });
}
