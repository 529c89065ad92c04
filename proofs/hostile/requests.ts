import { Client, type Dispatcher, Pool } from 'undici';
import type { Attack, Ground } from './attack.ts';

/** A request as it is sent. */
export type Wire = {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
};

export const PG = '/api/partner-gateway/v1';
export const MS = '/api/message-server';

const TICK_MS = 20;
/** Requests without a response at which an attacker stops sending more. */
const AT_ONCE = 32;

type Options = {
  readonly atOnce?: number;
  /** The address to connect from; that of the attacker if absent. */
  readonly from?: (ground: Ground) => string;
};

/** An attack of requests at a steady rate. `make` is called once; what it returns makes the n-th request. */
export const requestsAt =
  (
    perSecond: number,
    make: (ground: Ground) => ((n: number) => Wire) | Promise<(n: number) => Wire>,
    options: Options = {},
  ): Attack['prepare'] =>
  async (ground) => {
    const wireOf = await make(ground);
    return (over) => sendSteadily(ground, perSecond, wireOf, over, options);
  };

async function sendSteadily(
  ground: Ground,
  perSecond: number,
  wireOf: (n: number) => Wire,
  over: AbortSignal,
  { atOnce = AT_ONCE, from }: Options,
): Promise<void> {
  const pool = new Pool(ground.origin, {
    connections: atOnce,
    pipelining: 1,
    localAddress: from?.(ground) ?? ground.address,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  let sent = 0;
  let open = 0;
  const send = async (): Promise<void> => {
    open++;
    ground.count(await statusOf(pool, wireOf(sent++)));
    open--;
  };
  await everyTick(TICK_MS, over, (elapsedMs) => {
    const due = Math.ceil((elapsedMs * perSecond) / 1000);
    // What could not be sent in time is not sent later: that would be a higher rate.
    if (due - sent > perSecond) sent = due - perSecond;
    while (sent < due && open < atOnce) void send();
  });
  await pool.destroy();
}

/** Sends a request and reads the whole response; returns its status. */
async function statusOf(pool: Pool, wire: Wire): Promise<number | 'closed'> {
  try {
    const { statusCode, body } = await pool.request({ ...requestOf(wire), body: wire.body ?? null });
    await body.dump({ limit: Number.MAX_SAFE_INTEGER });
    return statusCode;
  } catch {
    return 'closed';
  }
}

const requestOf = ({ method, path, headers = {} }: Wire) => ({ method, path, headers });

/** Calls `work` at once and then every `everyMs`, with the time since the start, until `over`. */
export async function everyTick(everyMs: number, over: AbortSignal, work: (elapsedMs: number) => void): Promise<void> {
  const start = performance.now();
  const { promise, resolve } = Promise.withResolvers<void>();
  const tick = (): void => work(performance.now() - start);
  const timer = setInterval(tick, everyMs);
  if (over.aborted) resolve();
  else over.addEventListener('abort', () => resolve(), { once: true });
  tick();
  await promise;
  clearInterval(timer);
}

/** Sends one request of the attacker's account while an attack is prepared; returns the response, which must be 2xx. */
export async function ask({ origin, address }: Ground, { method, path, headers = {}, body }: Wire): Promise<Answer> {
  const client = new Client(origin, { localAddress: address });
  const answer = await client.request({ method, path, headers, body: body ?? null });
  const text = await answer.body.text();
  await client.close();
  if (answer.statusCode >= 300)
    throw new Error(`${method} ${path} returned ${answer.statusCode}: ${text.slice(0, 500)}`);
  return { headers: answer.headers, body: text === '' ? null : JSON.parse(text) };
}

type Answer = { readonly headers: Dispatcher.ResponseData['headers']; readonly body: unknown };

/** Reads a field of the body of a response. */
export const fieldOf = ({ body }: Answer, name: string): unknown =>
  typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;

const JSON_TYPE = { 'content-type': 'application/json' };

/** A request with a body of JSON and the key of the attacker's account. */
export const withKey = ({ tenant }: Ground, method: string, path: string, body?: string | object): Wire =>
  body === undefined
    ? { method, path, headers: { 'x-api-key': tenant.apiKey } }
    : { method, path, headers: { 'x-api-key': tenant.apiKey, ...JSON_TYPE }, body: textOf(body) };

const textOf = (body: string | object): string => (typeof body === 'string' ? body : JSON.stringify(body));

/** The headers that a page of the console sends. Anyone can send them. */
export const FROM_CONSOLE = { ...JSON_TYPE, 'x-heliograph-console': '1', 'sec-fetch-site': 'same-origin' };

/** A sign-in with this body. */
export const signIn = (body: string | object | Buffer, headers = {}): Wire => ({
  method: 'POST',
  path: `${PG}/session`,
  headers: { ...FROM_CONSOLE, ...headers },
  body: Buffer.isBuffer(body) ? body : textOf(body),
});
