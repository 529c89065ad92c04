import { once } from 'node:events';
import net from 'node:net';
import { between, type Findings, judge, type Mode, oneOf, type Proof, type Run } from './lib/proof.ts';
import type { Process } from './lib/processes.ts';
import { openStage } from './lib/stage.ts';

/** The number of requests from clients that are not on the list, and from clients that are. */
type Size = { readonly forged: number; readonly honest: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { forged: 500, honest: 50 },
  quick: { forged: 2_000, honest: 200 },
  full: { forged: 20_000, honest: 2_000 },
};
const CONCURRENCY = 16;
const SECURITY = '/api/partner-gateway/v1/account/security';
/**
 * Addresses on the list. This machine cannot connect from any of them, so requests from them always come through a
 * proxy.
 */
const LISTED = ['203.0.113.9', '203.0.113.200', '2001:db8:a::7'];
const LIST = ['203.0.113.0/24', '2001:db8:a::/48'];
/** Two proxies in a row, both trusted by the gateway. */
const PROXIES = ['127.0.1.1', '127.0.1.2'];
const TRUST_PROXY = '127.0.1.0/24';
/** Addresses that are neither on the list nor trusted proxies. */
const STRANGERS = ['127.9.9.1', '127.0.2.1', '127.200.1.1'];

export const allowlist: Proof = {
  promise: 'No header can make a request appear to come from another address.',
  sabotage: {
    fault: 'every proxy is trusted',
    file: new URL('./sabotage/allowlist.ts', import.meta.url),
    breaks: ['no forged request was served'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const { forged, honest } = SIZES[run.mode];
  await using stage = await openStage(run, { gateway: 'api' });
  const behind = await stage.startApi({ TRUST_PROXY });
  const { apiKey, client } = await stage.newAccount({ plan: 'unlimited' });
  const list = { ipAllowList: LIST, enforced: true, force: true };
  const { status } = await client.request('PUT', SECURITY, { body: list });
  const fronts: Targets = { direct: portOf(stage.gateway), proxied: portOf(behind), apiKey };

  const refusals = await sendAll(forged, () => forgedRequest(run, fronts));
  const passes = await sendAll(honest, () => honestRequest(run, fronts));
  const figures = { forged, passed: refusals.get(200) ?? 0, forbidden: refusals.get(403) ?? 0 };
  const malformed = refusals.get(400) ?? 0;
  return judge(
    { ...figures, malformed, honest, honestPassed: passes.get(200) ?? 0 },
    {
      'the allow list was stored': status === 200,
      'no forged request was served': figures.passed === 0,
      'each was refused with 403, or with 400 if it is not valid HTTP':
        figures.forbidden + malformed === forged && malformed < forged / 4,
      'every request from a listed address was served': passes.get(200) === honest,
    },
  );
}

type Targets = { readonly direct: number; readonly proxied: number; readonly apiKey: string };
type Request = { readonly from: string; readonly port: number; readonly octets: string };

const portOf = ({ ready }: Process): number => Number(new URL(String(ready['address'])).port);

/** Sends `count` requests, CONCURRENCY at a time; returns how often each status was answered. */
async function sendAll(count: number, make: () => Request): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  let left = count;
  const player = async (): Promise<void> => {
    while (left-- > 0) {
      const status = await send(make());
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, player));
  return statuses;
}

/** Sends a request from the given loopback address; returns the status of the answer, 0 if there is none. */
async function send({ from, port, octets }: Request): Promise<number> {
  const socket = net.connect({ port, host: '127.0.0.1', localAddress: from });
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  socket.write(octets, 'latin1');
  await once(socket, 'close');
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
}

function requestOf(apiKey: string, headers: readonly string[]): string {
  const lines = [`GET ${SECURITY} HTTP/1.1`, 'Host: gateway', 'Connection: close', `X-API-Key: ${apiKey}`, ...headers];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** A request from an unlisted client that claims a listed address: sent directly, or through one or both proxies. */
function forgedRequest(run: Run, { direct, proxied, apiKey }: Targets): Request {
  const lie = forgedHeaders(run);
  const from = oneOf(run, STRANGERS);
  const hops = between(run, 0, PROXIES.length);
  const octets = (headers: readonly string[]): string => preambleOf(run, hops) + requestOf(apiKey, headers);
  if (hops === 0) return { from, port: oneOf(run, [direct, proxied]), octets: octets([...lie.headers, PROTO]) };
  const path = [from, ...PROXIES].slice(0, hops);
  const chain = [...lie.forwardedFor, ...path].join(oneOf(run, [', ', ',', ' , ', ',\t']));
  const headers = [...lie.headers.filter((line) => !isForwardedFor(line)), `X-Forwarded-For: ${chain}`, PROTO];
  return { from: PROXIES[hops - 1] ?? '', port: proxied, octets: octets(headers) };
}

/**
 * A request from a listed client behind the proxies, in any spelling of its address, with a claim of its own that must
 * not matter.
 */
function honestRequest(run: Run, { proxied, apiKey }: Targets): Request {
  const client = oneOf(run, spellings(oneOf(run, LISTED)));
  const claims = between(run, 0, 1) === 0 ? [] : [oneOf(run, STRANGERS)];
  const hops = between(run, 1, PROXIES.length);
  const chain = [...claims, client, ...PROXIES.slice(0, hops - 1)].join(', ');
  const headers = [`X-Forwarded-For: ${chain}`, PROTO, `X-Real-IP: ${oneOf(run, STRANGERS)}`];
  return { from: PROXIES[hops - 1] ?? '', port: proxied, octets: requestOf(apiKey, headers) };
}

const PROTO = 'X-Forwarded-Proto: https';
const isForwardedFor = (line: string): boolean => /^x-forwarded-for:/i.test(line);

/** The spellings of one address that programs use. */
const spellings = (address: string): string[] =>
  address.includes(':')
    ? [address, address.toUpperCase(), `[${address}]`, `[${address}]:4711`]
    : [address, `${address}:4711`, `::ffff:${address}`, `::FFFF:${address}`, `[::ffff:${address}]:4711`];

const HEADER_NAMES =
  'X-Forwarded-For x-forwarded-for X-FORWARDED-FOR X-Real-IP X-Client-IP True-Client-IP CF-Connecting-IP Fastly-Client-IP X-Cluster-Client-IP X-Original-Forwarded-For X-Remote-Addr Remote-Addr Client-IP X-Host X-Forwarded X-Envoy-External-Address'.split(
    ' ',
  );

/** Headers that hold a listed address in every place where some program would look for one. */
function forgedHeaders(run: Run): { headers: string[]; forwardedFor: string[] } {
  const address = oneOf(run, spellings(oneOf(run, LISTED)));
  const odd = oneOf(run, [
    address,
    `"${address}"`,
    ` ${address}`,
    `${address},`,
    `,${address}`,
    `${address};`,
    `for=${address}`,
  ]);
  const listed = Array.from({ length: between(run, 1, 3) }, () => odd);
  const trusted = between(run, 0, 1) === 0 ? [] : [oneOf(run, PROXIES)];
  const value = [...listed, ...trusted].join(oneOf(run, [', ', ',', ' ']));
  const headers = Array.from({ length: between(run, 1, 4) }, () => `${oneOf(run, HEADER_NAMES)}: ${value}`);
  headers.push(`Forwarded: for="${address}";proto=https;by=${oneOf(run, PROXIES)}`);
  return { headers, forwardedFor: [...listed, ...trusted] };
}

/**
 * A PROXY protocol header, as text or binary, before one request in eight. To a server that does not speak it, this is
 * not HTTP.
 */
function preambleOf(run: Run, hops: number): string {
  if (between(run, 0, 7) > 0) return '';
  if (hops % 2 === 0) return `PROXY TCP4 ${LISTED[0]} 127.0.0.1 4711 8080\r\n`;
  return `\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c${'\xcb\0\x71\x09\x7f\0\0\x01\x12\x67\x1f\x90'}`;
}
