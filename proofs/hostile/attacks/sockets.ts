import { type Attack, MEANS, withinLine } from '../attack.ts';
import { FROM_CONSOLE, PG } from '../requests.ts';
import { halfSent, headOf, type SocketPlan, socketsOf } from '../sockets.ts';

const MIB = 1024 * 1024;
const KIB = 1024;
/** Pipelined requests that fill one read of a socket. */
const PIPELINED = 900;
const HOST = 'host: 127.0.0.1\r\n';

const sockets = (name: string, plan: SocketPlan, more: Pick<Attack, 'tiny' | 'meets'> = {}): Attack => ({
  name,
  player: 'unauthenticated client',
  ...more,
  prepare: socketsOf(plan),
});

const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\n${HOST}${headers}\r\n`;

/** A ClientHello of TLS, which a port for plain HTTP reads as a broken request. */
const CLIENT_HELLO = Buffer.concat([Buffer.from('16030102000100', 'hex'), Buffer.alloc(512, 0xa5)]);

const chunkedSignIn = [
  `POST ${PG}/session HTTP/1.1`,
  'host: 127.0.0.1',
  'transfer-encoding: chunked',
  ...Object.entries(FROM_CONSOLE).map(([name, value]) => `${name}: ${value}`),
  '\r\n',
].join('\r\n');

/** Sockets that hold something, or open and close. */
export const SOCKET_ATTACKS: readonly Attack[] = [
  sockets('sockets that send nothing', { count: MEANS.sockets }, { tiny: true }),
  sockets(
    'pipelined requests without credentials',
    { count: 50, perSecond: withinLine(200, 64 * KIB), first: () => get(`${PG}/contacts`).repeat(PIPELINED) },
    {
      tiny: true,
      meets: {
        claim: 'a connection that sends hundreds of requests at a time is closed',
        holds: ({ closed = 0 }) => closed > 0,
      },
    },
  ),
  sockets('pipelined probes', {
    count: 50,
    perSecond: withinLine(200, 64 * KIB),
    first: () => get('/health/live').repeat(PIPELINED),
  }),
  sockets('connections that close at once', { count: 100, perSecond: 500, brief: true }, { tiny: true }),
  sockets('TLS on the port for HTTP', { count: 100, perSecond: 300, first: () => CLIENT_HELLO }),
  sockets('random bytes', {
    count: 100,
    perSecond: 300,
    first: () => Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7919) & 255)),
  }),
  sockets('dripping headers', {
    count: 1500,
    perSecond: withinLine(500, 100 * KIB),
    first: () => get('/health/live', `x-long: ${'x'.repeat(100 * KIB)}`).slice(0, -4),
    drip: { everyMs: 1000, octets: 'x' },
  }),
  sockets('dripping sign-ins', {
    count: 2000,
    perSecond: 500,
    first: () => headOf('POST', `${PG}/session`, 4000, FROM_CONSOLE),
    drip: { everyMs: 1000, octets: ' ' },
  }),
  sockets(
    'half-sent sign-ins of 1 MiB',
    { count: 1000, perSecond: withinLine(500, MIB), first: () => halfSent(`${PG}/session`, MIB, FROM_CONSOLE) },
    { tiny: true },
  ),
  sockets(
    'half-sent callbacks of 4 MiB to unknown connections',
    {
      count: 500,
      perSecond: withinLine(500, 4 * MIB),
      first: () => halfSent('/api/callbacks/whatsapp/nobody', 4 * MIB),
    },
    { tiny: true },
  ),
  sockets('half-sent callbacks of 3 MiB to a connection', {
    count: 500,
    perSecond: withinLine(500, 3 * MIB),
    first: ({ callbacks }) =>
      halfSent(callbacks.whatsapp.path, 3 * MIB, {
        'content-type': 'application/json',
        'x-hub-signature-256': `sha256=${'0'.repeat(64)}`,
      }),
  }),
  sockets('half-sent uploads without a key', {
    count: 500,
    perSecond: withinLine(500, MIB),
    first: () => halfSent(`${PG}/contacts/upload`, MIB, { 'content-type': 'multipart/form-data; boundary=end' }),
  }),
  sockets('bodies in chunks of one byte', {
    count: 50,
    perSecond: withinLine(100, 600 * KIB),
    first: () => chunkedSignIn + '1\r\n \r\n'.repeat(100_000),
  }),
  sockets('a thousand requests on one line', {
    count: 20,
    perSecond: 20,
    first: () => get('/health/live').repeat(1000),
  }),
  sockets('requests of two thousand headers', {
    count: 100,
    perSecond: withinLine(200, 40 * KIB),
    first: () => get('/health/live', Array.from({ length: 2000 }, (_, i) => `x-${i}: ${i}\r\n`).join('')),
  }),
  sockets('paths of a hundred thousand characters', {
    count: 100,
    perSecond: withinLine(200, 100 * KIB),
    first: () => get(`/${'%2e%2e/'.repeat(14_000)}`),
  }),
  sockets(
    'large responses that are not read',
    { count: 200, perSecond: 50, first: () => get('/openapi.json').repeat(100), deaf: true },
    { tiny: true },
  ),
  sockets('upgrades to other protocols', {
    count: 200,
    perSecond: 200,
    first: () => get('/', 'connection: upgrade\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n'),
  }),
];
