import { once } from 'node:events';
import net from 'node:net';
import { between, type Findings, judge, type Mode, oneOf, type Proof, type Run } from './proof.ts';
import type { Process } from './processes.ts';
import { openStage } from './stage.ts';

/** Requests of a client that is not on the list, and of one that is. */
type Size = { readonly forged: number; readonly honest: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { forged: 500, honest: 50 },
  quick: { forged: 2_000, honest: 200 },
  full: { forged: 20_000, honest: 2_000 },
};
const AT_ONCE = 16;
const SECURITY = '/api/partner-gateway/v1/account/security';
/** On the list; none of them can be dialled from here, so whoever comes from there comes through a proxy. */
const LISTED = ['203.0.113.9', '203.0.113.200', '2001:db8:a::7'];
const LIST = ['203.0.113.0/24', '2001:db8:a::/48'];
/** Two proxies in a row, which the gateway trusts. */
const PROXIES = ['127.0.1.1', '127.0.1.2'];
const TRUST_PROXY = '127.0.1.0/24';
/** Where others come from. */
const STRANGERS = ['127.9.9.1', '127.0.2.1', '127.200.1.1'];

export const allowlist: Proof = {
  promise: 'No header makes a request come from an address that it does not come from.',
  sabotage: {
    fault: 'every proxy is trusted',
    file: new URL('./sabotage/allowlist.ts', import.meta.url),
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
  const fronts: Fronts = { direct: portOf(stage.gateway), proxied: portOf(behind), apiKey };

  const refusals = await play(forged, () => forge(run, fronts));
  const passes = await play(honest, () => beHonest(run, fronts));
  const figures = { forged, passed: refusals.get(200) ?? 0, forbidden: refusals.get(403) ?? 0 };
  const malformed = refusals.get(400) ?? 0;
  return judge(
    { ...figures, malformed, honest, honestPassed: passes.get(200) ?? 0 },
    {
      'the list was set': status === 200,
      'no forged request was served': figures.passed === 0,
      'each was refused with 403, or with 400 as no HTTP':
        figures.forbidden + malformed === forged && malformed < forged / 4,
      'whoever is on the list was served': passes.get(200) === honest,
    },
  );
}

type Fronts = { readonly direct: number; readonly proxied: number; readonly apiKey: string };
type Request = { readonly from: string; readonly port: number; readonly octets: string };

const portOf = ({ ready }: Process): number => Number(new URL(String(ready['address'])).port);

/** How often each status was answered. */
async function play(count: number, make: () => Request): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  let left = count;
  const player = async (): Promise<void> => {
    while (left-- > 0) {
      const status = await send(make());
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, player));
  return statuses;
}

/** From a loopback address of one's choice; the status of the answer, 0 without one. */
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

/** A stranger who claims to come from a listed address: straight, or through one or both of the proxies. */
function forge(run: Run, { direct, proxied, apiKey }: Fronts): Request {
  const lie = lieOf(run);
  const from = oneOf(run, STRANGERS);
  const hops = between(run, 0, PROXIES.length);
  const octets = (headers: readonly string[]): string => preambleOf(run, hops) + requestOf(apiKey, headers);
  if (hops === 0) return { from, port: oneOf(run, [direct, proxied]), octets: octets([...lie.headers, PROTO]) };
  const path = [from, ...PROXIES].slice(0, hops);
  const chain = [...lie.forwardedFor, ...path].join(oneOf(run, [', ', ',', ' , ', ',\t']));
  const headers = [...lie.headers.filter((line) => !isForwardedFor(line)), `X-Forwarded-For: ${chain}`, PROTO];
  return { from: PROXIES[hops - 1] ?? '', port: proxied, octets: octets(headers) };
}

/** A listed client behind the proxies, however they write its address; what it claims itself does not matter. */
function beHonest(run: Run, { proxied, apiKey }: Fronts): Request {
  const client = oneOf(run, spellings(oneOf(run, LISTED)));
  const claims = between(run, 0, 1) === 0 ? [] : [oneOf(run, STRANGERS)];
  const hops = between(run, 1, PROXIES.length);
  const chain = [...claims, client, ...PROXIES.slice(0, hops - 1)].join(', ');
  const headers = [`X-Forwarded-For: ${chain}`, PROTO, `X-Real-IP: ${oneOf(run, STRANGERS)}`];
  return { from: PROXIES[hops - 1] ?? '', port: proxied, octets: requestOf(apiKey, headers) };
}

const PROTO = 'X-Forwarded-Proto: https';
const isForwardedFor = (line: string): boolean => /^x-forwarded-for:/i.test(line);

/** One address in the ways that programs write it. */
const spellings = (address: string): string[] =>
  address.includes(':')
    ? [address, address.toUpperCase(), `[${address}]`, `[${address}]:4711`]
    : [address, `${address}:4711`, `::ffff:${address}`, `::FFFF:${address}`, `[::ffff:${address}]:4711`];

const NAMES =
  'X-Forwarded-For x-forwarded-for X-FORWARDED-FOR X-Real-IP X-Client-IP True-Client-IP CF-Connecting-IP Fastly-Client-IP X-Cluster-Client-IP X-Original-Forwarded-For X-Remote-Addr Remote-Addr Client-IP X-Host X-Forwarded X-Envoy-External-Address'.split(
    ' ',
  );

/** Headers with a listed address in them, in every place where some program would look. */
function lieOf(run: Run): { headers: string[]; forwardedFor: string[] } {
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
  const headers = Array.from({ length: between(run, 1, 4) }, () => `${oneOf(run, NAMES)}: ${value}`);
  headers.push(`Forwarded: for="${address}";proto=https;by=${oneOf(run, PROXIES)}`);
  return { headers, forwardedFor: [...listed, ...trusted] };
}

/** The PROXY protocol, in words or in octets, before one request in eight; no HTTP to a server that does not speak it. */
function preambleOf(run: Run, hops: number): string {
  if (between(run, 0, 7) > 0) return '';
  if (hops % 2 === 0) return `PROXY TCP4 ${LISTED[0]} 127.0.0.1 4711 8080\r\n`;
  return `\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c${'\xcb\0\x71\x09\x7f\0\0\x01\x12\x67\x1f\x90'}`;
}
