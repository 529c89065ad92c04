import { type Manner, type Received, type Receiver, startReceiver } from '../../test/support/http/receiver.ts';
import { oneOf, type RandomSource } from '../lib/proof.ts';

/**
 * Behaviour of an account's receiver: `good` acknowledges every event, `flaky` two out of three and each event at the
 * latest the sixth time, `hostile` none.
 */
export const BEHAVIOURS = ['good', 'flaky', 'hostile'] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

/** An event that was received, and whether it was acknowledged. */
export type ReceivedEvent = {
  readonly behaviour: Behaviour;
  readonly acknowledged: boolean;
  readonly request: Received;
};

/** An event that one of several endpoints of an account received. */
export type SeveralEvent = Omit<ReceivedEvent, 'behaviour'> & { readonly endpoint: string };

export type Receivers = AsyncDisposable & {
  readonly port: number;
  readonly urlOf: (behaviour: Behaviour) => string;
  /** Everything received, in the order of arrival. */
  readonly received: readonly ReceivedEvent[];
  /** The ids of the accepted events. */
  readonly accepted: ReadonlySet<string>;
  readonly urlOfEndpoint: (name: string) => string;
  /** Everything that came to the endpoints of the account with several, in the order of arrival. */
  readonly several: readonly SeveralEvent[];
  /** The events that the living ones of them have accepted, by endpoint and id. */
  readonly acceptedBySeveral: ReadonlySet<string>;
  /** From now on the hostile receiver returns 410 Gone. */
  goAway(): void;
};

/** No body without an end is among these, endless or one byte at a time: the 200 before it acknowledges. */
const BAD_MANNERS: readonly Manner[] = ['silent', 'close', 'drip headers', 'header bomb', 'garbage'];
/** The beginning of the paths of an account's several endpoints. */
const SEVERAL = '/several/';
const REFUSALS = [
  { status: 500 },
  { status: 503, headers: { 'retry-after': '0' } },
  { status: 301, headers: { location: '/good' } },
  { manner: 'close' },
] as const;

/** Fewer than the attempts after which an event is dead, or one run in 500 would end with an event that only bad luck killed. */
const MAX_REFUSALS = 5;

/**
 * Starts the receivers of a run, on one port. Each takes a moment, so that something is in progress when a worker is
 * killed.
 */
export async function startReceivers(run: RandomSource): Promise<Receivers> {
  const receiver: Receiver = await startReceiver();
  const received: ReceivedEvent[] = [];
  const several: SeveralEvent[] = [];
  // Kept up to date: the conditions of a run are looked at 50 times a second, and there are hundreds of thousands.
  const accepted = new Set<string>();
  const acceptedBySeveral = new Set<string>();
  const refusals = new Map<string, number>();
  let gone = false;

  function isAcknowledged(behaviour: Behaviour, { path, headers }: Received): boolean {
    if (behaviour !== 'flaky') return behaviour === 'good';
    const id = `${path} ${headers['webhook-id']}`;
    const refused = refusals.get(id) ?? 0;
    if (refused >= MAX_REFUSALS || run.random.next() > 1 / 3) return true;
    refusals.set(id, refused + 1);
    return false;
  }

  receiver.answer((request) => {
    if (request.path.startsWith(SEVERAL)) return answerOfEndpoint(request);
    const behaviour = BEHAVIOURS.find((one) => request.path === `/${one}`) ?? 'hostile';
    const acknowledged = isAcknowledged(behaviour, request);
    received.push({ behaviour, acknowledged, request });
    if (acknowledged) accepted.add(String(request.headers['webhook-id']));
    if (acknowledged) return { delayMs: 5 };
    if (behaviour === 'flaky') return oneOf(run, REFUSALS);
    return gone ? { status: 410 } : { manner: oneOf(run, BAD_MANNERS) };
  });
  function answerOfEndpoint(request: Received) {
    const endpoint = request.path.slice(SEVERAL.length);
    const acknowledged = endpoint !== 'dead' && isAcknowledged('flaky', request);
    several.push({ endpoint, acknowledged, request });
    if (acknowledged) acceptedBySeveral.add(`${endpoint}/${request.headers['webhook-id']}`);
    if (acknowledged) return { delayMs: 5 };
    if (endpoint !== 'dead') return oneOf(run, REFUSALS);
    return gone ? { status: 410 } : { status: 500 };
  }
  return {
    port: receiver.port,
    urlOf: (behaviour) => `${receiver.url}/${behaviour}`,
    urlOfEndpoint: (name) => `${receiver.url}${SEVERAL}${name}`,
    received,
    accepted,
    several,
    acceptedBySeveral,
    goAway() {
      gone = true;
    },
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}
