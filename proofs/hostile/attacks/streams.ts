import { type Attack, type Ground, MEANS } from '../attack.ts';
import { ask, fieldOf, PG, withKey } from '../requests.ts';
import { socketsOf } from '../sockets.ts';

const STREAM = `${PG}/inbox/conversations/stream`;
const EVENTS = 'text/event-stream';
const STREAMS = 700;

const openingOf = (path: string, accept: string, apiKey: string): string =>
  `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: ${accept}\r\nx-api-key: ${apiKey}\r\n\r\n`;

/** Opens streams with enough keys that their limits do not matter. */
async function withManyKeys(ground: Ground): Promise<(n: number) => string> {
  const keys: string[] = [];
  while (keys.length * MEANS.productionPerSecond < STREAMS) {
    const answer = await ask(ground, withKey(ground, 'POST', `${PG}/authentication`, { name: 'hostile' }));
    keys.push(String(fieldOf(answer, 'apiKey')));
  }
  return (n) => openingOf(STREAM, EVENTS, keys[n % keys.length] ?? '');
}

/** Responses that do not end, or that are not read. */
export const STREAM_ATTACKS: readonly Attack[] = [
  {
    name: 'seven hundred streams at once',
    player: 'production tenant',
    tiny: true,
    open: '2,000 connections a second, each with a key to check, are half a second of work',
    prepare: socketsOf({ count: STREAMS, first: withManyKeys }),
  },
  {
    name: 'streams that are opened and left',
    player: 'production tenant',
    prepare: socketsOf({
      count: MEANS.productionPerSecond,
      perSecond: MEANS.productionPerSecond,
      first: ({ tenant }) => openingOf(STREAM, EVENTS, tenant.apiKey),
      deaf: true,
    }),
  },
  {
    name: 'long lists that are not read',
    player: 'production tenant',
    prepare: socketsOf({
      count: MEANS.productionPerSecond,
      perSecond: MEANS.productionPerSecond,
      first: ({ tenant }) => openingOf(`${PG}/audit?limit=1000`, '*/*', tenant.apiKey).repeat(20),
      deaf: true,
    }),
  },
];
