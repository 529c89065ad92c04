import { lookup } from 'node:dns/promises';
import net, { type LookupFunction } from 'node:net';
import type { Carrier } from '../../carriers/carrier.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { guardedLookup } from '../../platform/outbound/connect.ts';
import type { Guard } from '../../platform/outbound/guard.ts';
import type { CarrierContext, Kind } from './kinds/kind.ts';
import { type ConnectionKind, kindOf } from './kinds/kinds.ts';
import type { SetupStep } from './kinds/setup.ts';
import { secretOf } from './save.ts';
import { checkSetup } from './set-up.ts';
import type { Connection } from './sql.ts';

export type ProbeStep = {
  readonly name: 'resolve' | 'connect' | 'bind' | 'exchange' | SetupStep['name'];
  /** Null when an earlier step failed. */
  readonly ok: boolean | null;
  /** The result or the error; the carrier's own words for the last step. */
  readonly detail: string;
  readonly durationMs: number;
};

export type ProbeResult = { readonly ok: boolean; readonly detail: string; readonly steps: ProbeStep[] };

const CONNECT_MS = 5000;
const BIND_MS = 10_000;
const STOP_MS = 2000;

/**
 * Tests a connection once, from this machine and with one link: resolves the host name, opens a connection to the port,
 * then signs in as a worker would. Settings and secret are as `validateSetup` returns them. No message is sent. Where
 * the protocol is described by settings, then shows a request and a response, secrets hidden. Never rejects, and takes
 * at most 30 seconds.
 */
export async function probeConnection(
  connection: { readonly kind: ConnectionKind; readonly settings: object; readonly secret: string },
  context: CarrierContext,
): Promise<ProbeResult> {
  const { addressOf, createCarrier, forTest, isGuarded, showExchange } = kindOf(connection);
  const { host, port } = addressOf(connection.settings);
  const guard = isGuarded ? context.guard : null;
  const steps = await inOrder([
    ['resolve', () => resolve(host, guard)],
    ['connect', () => connect(host, port, guard === null ? undefined : guardedLookup(guard))],
    ['bind', () => signIn(createCarrier(forTest(connection.settings), connection.secret, context))],
  ]);
  const shown = showExchange === null ? [] : [await exchange(showExchange, connection, context)];
  const failed = steps.find(({ ok }) => ok === false);
  return { ok: failed === undefined, detail: failed?.detail ?? 'up', steps: [...steps, ...shown] };
}

/**
 * `probeConnection` for a stored connection. Once it is up, also checks the set-up at the carrier; takes at most 50
 * seconds.
 */
export async function probeStored(
  connection: Connection,
  key: SecretKey,
  context: CarrierContext,
): Promise<ProbeResult> {
  const probed = await probeConnection({ ...connection, secret: secretOf(connection, key) }, context);
  if (!probed.ok) return probed;
  const started = performance.now();
  const checked = await checkSetup(connection, key);
  const durationMs = Math.round(performance.now() - started);
  const failed = checked.find(({ ok }) => !ok);
  return {
    ok: failed === undefined,
    detail: failed?.detail ?? probed.detail,
    steps: [...probed.steps, ...checked.map((one) => ({ ...one, durationMs }))],
  };
}

type Work = readonly [name: ProbeStep['name'], work: () => Promise<string>];

/** Runs the steps one after the other, up to the first that fails. */
async function inOrder(works: readonly Work[]): Promise<ProbeStep[]> {
  const steps: ProbeStep[] = [];
  for (const [name, work] of works) {
    const after = steps.some(({ ok }) => ok !== true);
    steps.push(after ? { name, ok: null, detail: 'not tried', durationMs: 0 } : await step(name, work));
  }
  return steps;
}

async function step(...[name, work]: Work): Promise<ProbeStep> {
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

/** Shows a request and a response, without judging them: the step before did that. */
async function exchange(
  show: NonNullable<Kind['showExchange']>,
  { settings, secret }: { readonly settings: object; readonly secret: string },
  context: CarrierContext,
): Promise<ProbeStep> {
  return step('exchange', async () => {
    const { request, answer } = await show(settings, secret, context);
    return `A message would be sent like this:\n${request}\n\nThe carrier's response to a test request:\n${answer}`;
  });
}

async function resolve(host: string, guard: Guard | null): Promise<string> {
  if (guard !== null) return (await guard.resolveAllowed(host)).join(', ');
  const addresses = await lookup(host, { all: true });
  return addresses.map(({ address }) => address).join(', ');
}

/** Dials the addresses that `allowed` returns for a name: a name server may answer differently than a moment before. */
function connect(host: string, port: number, allowed: LookupFunction | undefined): Promise<string> {
  return new Promise((done, fail) => {
    const socket = net.connect({ host, port, timeout: CONNECT_MS, ...(allowed && { lookup: allowed }) });
    const end = (): void => void socket.destroy();
    socket.once('connect', () => done(`port ${port} is open`)).once('connect', end);
    socket.once('timeout', () => fail(new Error(`no answer from port ${port} within ${CONNECT_MS / 1000} s`)));
    socket.once('timeout', end).once('error', fail);
  });
}

/** Starts the carrier and waits until it is up or reports an error. */
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
  return 'the carrier accepts the sign-in';
}
