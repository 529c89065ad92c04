import { useSyncExternalStore } from 'react';

/** Trouble between this page and the server: no network, no response, 503, or a slow response. */
export type Fault = 'offline' | 'away' | 'busy' | 'slow';

/** `changes`: number of requests with changes that wait for the server to come back or for its response. */
export type Connection = { readonly fault: Fault | null; readonly changes: number };

type Outage = 'away' | 'busy';

/** Time without a response after which a request counts as slow. */
const SLOW_MS = 8_000;
const PROBE_TIMEOUT_MS = 10_000;
/** The pauses between probes; the last one repeats. */
const PAUSES_MS = [1_000, 2_000, 3_000, 5_000];
/** Statuses of a proxy without a server behind it, or of a server without a database. */
const OUTAGES: readonly number[] = [502, 503, 504];
/** Path that needs the database and always gets a response, with 401 at worst. */
const PROBE = '/api/partner-gateway/v1/session';

let outage: Outage | null = null;
let watching: Promise<boolean> | null = null;
let slow = 0;
let changes = 0;
let shown: Connection = { fault: null, changes: 0 };
const listeners = new Set<() => void>();
let wake = (): void => undefined;

function faultNow(): Fault | null {
  if (outage !== null) return navigator.onLine ? outage : 'offline';
  return slow > 0 ? 'slow' : null;
}

function changed(): void {
  const next = { fault: faultNow(), changes };
  if (next.fault === shown.fault && next.changes === shown.changes) return;
  shown = next;
  for (const listener of listeners) listener();
}

/** Calls the listener at each change of the connection; returns a function that ends this. */
export function followConnection(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Returns true if the server responds as far as is known, even slowly. */
export const isReachable = (): boolean => outage === null;

export const useConnection = (): Connection => useSyncExternalStore(followConnection, () => shown);

/** Returns true if a status means that the server cannot do its work right now; 0 stands for no response. */
export const isOutageStatus = (status: number): boolean => status === 0 || OUTAGES.includes(status);

/**
 * Call it after a request without a response, or with a status of `isOutageStatus`. Polls the server for its state
 * until it responds. Resolves with true if there was an outage, with false if it responded immediately. Never rejects.
 */
export function untilBack(): Promise<boolean> {
  watching ??= watchOutage().finally(() => {
    watching = null;
  });
  return watching;
}

async function watchOutage(): Promise<boolean> {
  for (let turn = 0; ; turn += 1) {
    outage = await probe();
    changed();
    if (outage === null) return turn > 0;
    await pause(PAUSES_MS[Math.min(turn, PAUSES_MS.length - 1)] ?? 0);
  }
}

async function probe(): Promise<Outage | null> {
  try {
    const { status } = await fetch(PROBE, { cache: 'no-store', signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    if (!OUTAGES.includes(status)) return null;
    return status === 503 ? 'busy' : 'away';
  } catch {
    return 'away';
  }
}

/** Ends early when the browser has a network again. */
const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });

/** Follows the browser's network. Call it once, at the start. */
export function followNetwork(): void {
  globalThis.addEventListener('offline', () => void untilBack());
  globalThis.addEventListener('online', () => {
    changed();
    wake();
  });
  if (!navigator.onLine) void untilBack();
}

/** Passes a result on, and reports a slow connection while it takes longer than eight seconds. */
export async function saySlow<T>(work: Promise<T>): Promise<T> {
  let isSlow = false;
  const timer = setTimeout(() => {
    isSlow = true;
    slow += 1;
    changed();
    void untilBack();
  }, SLOW_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
    if (isSlow) slow -= 1;
    changed();
  }
}

/** Same as `saySlow` for a request that changes something, which counts as waiting until its response arrives. */
export async function sayWaiting<T>(work: Promise<T>): Promise<T> {
  changes += 1;
  changed();
  try {
    return await saySlow(work);
  } finally {
    changes -= 1;
    changed();
  }
}
