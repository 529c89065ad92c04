import { lookup } from 'node:dns/promises';
import net from 'node:net';
import type { Carrier } from '../../carriers/carrier.ts';
import { kindOf } from './kinds/kinds.ts';
import type { ConnectionKind } from './sql.ts';

/** `null`: it did not come to that. */
export type TriedStep = {
  readonly name: 'resolve' | 'connect' | 'bind';
  readonly ok: boolean | null;
  /** What was found, or what went wrong; of the last step in the words of the carrier. */
  readonly detail: string;
  readonly durationMs: number;
};

export type Tried = { readonly ok: boolean; readonly detail: string; readonly steps: TriedStep[] };

const CONNECT_MS = 5000;
const BIND_MS = 10_000;
const STOP_MS = 2000;

/**
 * Connects once, from here, with one link, and says what the carrier answered: looks up its name, opens a connection to
 * its port, then signs in as the program would. Settings and secret are as they are stored (`checkLinks`). Takes no
 * message, and never rejects. Within 20 seconds.
 */
export async function tryConnection(links: {
  readonly kind: ConnectionKind;
  readonly settings: object;
  readonly secret: string;
}): Promise<Tried> {
  const { addressOf, createCarrier, forTest } = kindOf(links);
  const { host, port } = addressOf(links.settings);
  const steps = await inOrder([
    ['resolve', () => resolve(host)],
    ['connect', () => connect(host, port)],
    ['bind', () => signIn(createCarrier(forTest(links.settings), links.secret))],
  ]);
  const failed = steps.find(({ ok }) => ok === false);
  return { ok: failed === undefined, detail: failed?.detail ?? 'up', steps };
}

type Work = readonly [name: TriedStep['name'], work: () => Promise<string>];

/** Up to the first that fails. */
async function inOrder(works: readonly Work[]): Promise<TriedStep[]> {
  const steps: TriedStep[] = [];
  for (const [name, work] of works) {
    const after = steps.some(({ ok }) => ok !== true);
    steps.push(after ? { name, ok: null, detail: 'not tried', durationMs: 0 } : await step(name, work));
  }
  return steps;
}

async function step(...[name, work]: Work): Promise<TriedStep> {
  const started = performance.now();
  const done = (ok: boolean, detail: string) => ({
    name,
    ok,
    detail,
    durationMs: Math.round(performance.now() - started),
  });
  return work().then(
    (detail) => done(true, detail),
    (error: unknown) => done(false, error instanceof Error ? error.message : String(error)),
  );
}

async function resolve(host: string): Promise<string> {
  const addresses = await lookup(host, { all: true });
  return addresses.map(({ address }) => address).join(', ');
}

function connect(host: string, port: number): Promise<string> {
  return new Promise((done, fail) => {
    const socket = net.connect({ host, port, timeout: CONNECT_MS });
    const end = (): void => void socket.destroy();
    socket.once('connect', () => done(`port ${port} is open`)).once('connect', end);
    socket.once('timeout', () => fail(new Error(`no answer from port ${port} within ${CONNECT_MS / 1000} s`)));
    socket.once('timeout', end).once('error', fail);
  });
}

/** Until the carrier lets us in, or says why it does not. */
async function signIn(carrier: Carrier): Promise<string> {
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>();
  const timer = setTimeout(settle, BIND_MS);
  let heard = `no answer within ${BIND_MS / 1000} s`;
  const refuse = (): Promise<void> => Promise.reject(new Error('this is a test'));
  carrier.start({
    receipt: refuse,
    inbound: refuse,
    changed() {
      const { up, fault } = carrier.state();
      if (up || fault !== null) settle();
    },
    failed(reason) {
      heard = reason;
      settle();
    },
    log: () => undefined,
  });
  await settled;
  clearTimeout(timer);
  const { up, fault } = carrier.state();
  await carrier.stop(STOP_MS);
  if (!up) throw new Error(fault ?? heard);
  return 'the carrier lets us in';
}
