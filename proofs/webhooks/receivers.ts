import { type Manner, type Received, type Receiver, startReceiver } from '../../test/support/receiver.ts';
import { type Chance, oneOf } from '../proof.ts';

/** How the receiver of an account is: `good` acknowledges, `flaky` two times in three, `hostile` never. */
export const TEMPERS = ['good', 'flaky', 'hostile'] as const;
export type Temper = (typeof TEMPERS)[number];

/** A callback that came in, and whether it was acknowledged. */
export type Told = { readonly temper: Temper; readonly acknowledged: boolean; readonly request: Received };

export type Receivers = AsyncDisposable & {
  readonly port: number;
  readonly urlOf: (temper: Temper) => string;
  /** In the order of their arrival. */
  readonly told: readonly Told[];
  /** From now on the hostile one says that it is gone. */
  leave(): void;
};

/** Not among them: a body without end. Of that the first 16 KiB count, and its 200 acknowledges. */
const BAD_MANNERS: readonly Manner[] = ['silent', 'close', 'drip', 'drip headers', 'header bomb', 'garbage'];
const REFUSALS = [
  { status: 500 },
  { status: 503, headers: { 'retry-after': '0' } },
  { status: 301, headers: { location: '/good' } },
  { manner: 'close' },
] as const;

/** The receivers of a run, on one port. Each takes a moment, so that something is under way when a worker is killed. */
export async function startReceivers(run: Chance): Promise<Receivers> {
  const receiver: Receiver = await startReceiver();
  const told: Told[] = [];
  let gone = false;
  receiver.answer((request) => {
    const temper = TEMPERS.find((one) => request.path === `/${one}`) ?? 'hostile';
    const acknowledged = temper === 'good' || (temper === 'flaky' && run.random.next() > 1 / 3);
    told.push({ temper, acknowledged, request });
    if (acknowledged) return { delayMs: 5 };
    if (temper === 'flaky') return oneOf(run, REFUSALS);
    return gone ? { status: 410 } : { manner: oneOf(run, BAD_MANNERS) };
  });
  return {
    port: receiver.port,
    urlOf: (temper) => `${receiver.url}/${temper}`,
    told,
    leave() {
      gone = true;
    },
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}
