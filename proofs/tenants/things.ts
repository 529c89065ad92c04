import { randomBytes, randomInt, randomUUIDv7 } from 'node:crypto';
import { BULK, SEND } from '../../src/testing/client.ts';
import type { Party } from './party.ts';

/** The id of a thing, as requests name it. */
export type Thing = string | number;

/** How a party makes a thing of its own, and an id that has the same form and is nobody's. */
type Maker = { make(party: Party): Promise<Thing>; unknown(): Thing };

const PG = '/api/partner-gateway/v1';
/** Above what any table's sequence gives out. */
const UNKNOWN_ID = 9_000_000_000;
const unknownNumber = (): number => UNKNOWN_ID + randomInt(900_000_000);
const unknownWord = (): string => `unknown-${randomBytes(8).toString('hex')}`;

/** Sends a request that must work, and reads a field of its answer. */
async function made({ client }: Party, path: string, body: object, field: string): Promise<Thing> {
  const { status, body: answer } = await client.request('POST', path, { body });
  const value: unknown = typeof answer === 'object' && answer !== null ? Reflect.get(answer, field) : undefined;
  if (status >= 300 || (typeof value !== 'string' && typeof value !== 'number'))
    throw new Error(`POST ${path} answered ${status}: ${JSON.stringify(answer)}`);
  return value;
}

const word = ({ token }: Party): string => `${token}-${randomBytes(6).toString('hex')}`;

/** In the future, so that it waits and can be cancelled. */
const scheduled = (party: Party) => ({
  destination: '+393331234567',
  sender: party.token.toUpperCase(),
  body: `A text of ${party.token}`,
  scheduledDate: new Date(Date.now() + 3_600_000).toISOString(),
});

/** Every kind of thing that an id can name. */
export const MAKERS = {
  key: { make: (p) => made(p, `${PG}/authentication`, { name: word(p) }, 'id'), unknown: unknownNumber },
  keyValue: {
    make: (p) => made(p, `${PG}/authentication`, { name: word(p) }, 'apiKey'),
    unknown: () => `pg_live_${randomBytes(32).toString('base64url')}`,
  },
  message: { make: (p) => made(p, SEND, scheduled(p), 'messageId'), unknown: () => randomUUIDv7() },
  clientId: {
    async make(p) {
      const messageId = word(p);
      await made(p, SEND, { ...scheduled(p), messageId }, 'messageId');
      return messageId;
    },
    unknown: unknownWord,
  },
  globalId: {
    async make(p) {
      const globalId = word(p);
      const messages = [{ destinations: ['+393331234567'], sender: p.token, body: `Bulk of ${p.token}` }];
      await made(p, BULK, { globalId, messages }, 'globalId');
      return globalId;
    },
    unknown: unknownWord,
  },
} as const satisfies Readonly<Record<string, Maker>>;

export type ThingName = keyof typeof MAKERS;
