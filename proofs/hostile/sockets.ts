import net from 'node:net';
import { type Attack, type Ground, MEANS } from './attack.ts';
import { everyTick } from './requests.ts';

type Octets = Buffer | string;

export type SocketPlan = {
  /** Set if they connect to the port for customers over SMPP. */
  readonly smpp?: true;
  /** Number of sockets kept open; one that the gateway closes is opened again. */
  readonly count: number;
  /** Maximum number opened per second. */
  readonly perSecond?: number;
  /** First bytes of each socket, or of the n-th. */
  readonly first?: (ground: Ground) => Octets | Promise<(n: number) => Octets>;
  /** Bytes that each repeats. */
  readonly drip?: { readonly everyMs: number; readonly octets: string };
  /** Set if no response is read. */
  readonly deaf?: true;
  /** Closes each at once with a reset. */
  readonly brief?: true;
};

const TICK_MS = 20;
const MIN_DRIP_TICK_MS = 100;

/** An attack of sockets that are opened and mostly left alone. */
export const socketsOf =
  (plan: SocketPlan): Attack['prepare'] =>
  async (ground) => {
    const first = (await plan.first?.(ground)) ?? '';
    const firstOf = typeof first === 'function' ? first : () => first;
    return (over) => keepOpen(ground, plan, firstOf, over);
  };

async function keepOpen(
  ground: Ground,
  plan: SocketPlan,
  firstOf: (n: number) => Octets,
  over: AbortSignal,
): Promise<void> {
  const { count, perSecond = MEANS.socketsPerSecond } = plan;
  const open = new Set<net.Socket>();
  let opened = 0;
  const dripping = plan.drip && startDrip(open, plan.drip);
  await everyTick(TICK_MS, over, (elapsedMs) => {
    const due = Math.ceil((elapsedMs * perSecond) / 1000);
    // One that was closed is replaced, but never faster than the rate.
    if (due - opened > perSecond) opened = due - perSecond;
    for (; opened < due && open.size < count; opened++) openOne(ground, plan, firstOf(opened), open);
  });
  clearInterval(dripping);
  // What is closed from now on was not closed by the gateway.
  for (const socket of open) socket.removeAllListeners('close').resetAndDestroy();
}

function openOne(ground: Ground, plan: SocketPlan, first: Octets, open: Set<net.Socket>): void {
  const port = plan.smpp ? ground.smppPort : ground.port;
  const socket = net.connect({ port, host: '127.0.0.1', localAddress: ground.address });
  open.add(socket);
  socket.on('error', () => undefined);
  socket.once('close', () => {
    open.delete(socket);
    ground.count('closed');
  });
  socket.once('connect', () => {
    ground.count('opened');
    if (plan.brief) socket.resetAndDestroy();
  });
  if (first.length > 0) socket.write(first);
  if (plan.deaf) socket.pause();
  else socket.once('data', (answer) => ground.count(Number(answer.toString('latin1', 9, 12)) || 0));
}

/** Writes to each socket once in `everyMs`, to a part of them at a time. */
function startDrip(open: ReadonlySet<net.Socket>, { everyMs, octets }: NonNullable<SocketPlan['drip']>) {
  const ticks = Math.max(1, Math.floor(everyMs / MIN_DRIP_TICK_MS));
  let tick = 0;
  return setInterval(() => {
    tick++;
    let n = 0;
    for (const socket of open) if (n++ % ticks === tick % ticks && !socket.pending) socket.write(octets);
  }, everyMs / ticks);
}

/** The head of a request with a body of this length. */
export const headOf = (
  method: string,
  path: string,
  length: number,
  headers: Readonly<Record<string, string>> = {},
): string => {
  const lines = Object.entries({ host: '127.0.0.1', 'content-length': String(length), ...headers });
  return `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
};

/** A request without the last byte of its body. */
export const halfSent = (
  path: string,
  length: number,
  headers: Readonly<Record<string, string>> = { 'content-type': 'application/json' },
): Buffer => Buffer.concat([Buffer.from(headOf('POST', path, length, headers)), Buffer.alloc(length - 1, '{')]);
