import { gzipSync } from 'node:zlib';
import { type Attack, MEANS, withinLine } from '../attack.ts';
import { MS, PG, requestsAt, signIn, withKey } from '../requests.ts';

const MIB = 1024 * 1024;
const NUMBER = '+393331234567';
const BULK = '/services/sms/send';

const wide = (keys: number): string => `{${Array.from({ length: keys }, (_, i) => `"k${i}":1`).join()}}`;
const deep = (levels: number): string => `{"username":${'['.repeat(levels)}${']'.repeat(levels)},"password":"x"}`;
const repeated = (pair: string, times: number): string => `{${Array(times).fill(pair).join()}}`;

/** Sign-ins with one hostile body, as many as the line carries. */
const signIns = (name: string, make: () => string, more: Pick<Attack, 'tiny'> = {}): Attack => ({
  name: `sign-ins ${name}`,
  player: 'unauthenticated client',
  ...more,
  prepare: requestsAt(10, () => {
    const wire = signIn(make());
    return () => wire;
  }),
});

/** Requests of a trial key with one hostile body. */
const bodies = (name: string, path: string, make: () => string): Attack => ({
  name,
  player: 'trial tenant',
  prepare: requestsAt(MEANS.trialPerSecond, (ground) => {
    const wire = withKey(ground, 'POST', path, make());
    return () => wire;
  }),
});

/** Hostile JSON. */
export const JSON_ATTACKS: readonly Attack[] = [
  signIns('with 90,000 keys', () => wide(90_000), { tiny: true }),
  signIns('nested half a million deep', () => deep(500_000), { tiny: true }),
  signIns('with one key 60,000 times', () => repeated('"username":"a"', 60_000)),
  signIns('with a number of a million digits', () => `{"username":${'9'.repeat(1_000_000)}}`),
  signIns('with a name of a million characters', () => `{"username":"${'a'.repeat(1_000_000)}","password":"x"}`),
  signIns('with 170,000 escapes', () => `{"username":"${'\\u0041'.repeat(170_000)}","password":"x"}`),
  {
    name: 'sign-ins that are packed bombs',
    player: 'unauthenticated client',
    prepare: requestsAt(50, () => {
      const wire = signIn(gzipSync(Buffer.alloc(100 * MIB, 0x20)), { 'content-encoding': 'gzip' });
      return () => wire;
    }),
  },
  bodies('sends with 90,000 unknown keys', `${MS}/sms/send`, () => wide(90_000)),
  bodies('sends nested half a million deep', `${MS}/sms/send`, () => deep(500_000)),
  bodies('contacts whose fields are 90,000', `${PG}/contacts`, () => `{"customFields":${wide(90_000)}}`),
  {
    name: 'bulk sends with 49,000 wrong values',
    player: 'production tenant',
    tiny: true,
    prepare: requestsAt(withinLine(MEANS.productionPerSecond, 400_000), (ground) => {
      const destinations = Array<number>(49_000).fill(1.5);
      const wire = withKey(ground, 'POST', BULK, { messages: [{ destinations, sender: 'Acme', body: 'x' }] });
      return () => wire;
    }),
  },
  {
    name: 'bulk sends with 10,000 faulty messages',
    player: 'production tenant',
    prepare: requestsAt(withinLine(MEANS.productionPerSecond, 900_000), (ground) => {
      const message = { destinations: ['x'], sender: 'Acme', body: 'x', scheduling: 'yesterday' };
      const wire = withKey(ground, 'POST', BULK, { messages: Array(10_000).fill(message) });
      return () => wire;
    }),
  },
  {
    name: 'bulk sends to 10,000 numbers',
    player: 'production tenant',
    tiny: true,
    open: 'two at a time still share the event loop and the database with the victim: 150 to 200 ms',
    prepare: requestsAt(withinLine(MEANS.productionPerSecond, 200_000), (ground) => {
      const destinations = Array.from({ length: 10_000 }, (_, i) => `+3933${String(i).padStart(8, '0')}`);
      const messages = [{ destinations, sender: 'Acme', body: 'One of very many' }];
      const wire = withKey(ground, 'POST', BULK, { simulation: true, messages });
      return () => wire;
    }),
  },
  {
    name: 'campaigns to 50,000 numbers',
    player: 'production tenant',
    open: 'two at a time share the event loop and the database with the victim: 160 ms',
    prepare: requestsAt(withinLine(MEANS.productionPerSecond, 900_000), (ground) => {
      const wire = withKey(ground, 'POST', `${PG}/campaigns`, {
        name: 'Hostile',
        sendingMode: 'SMS',
        smsSender: 'ACME',
        smsBody: 'x',
        destinations: Array.from({ length: 50_000 }, (_, i) => `+3933${String(i).padStart(8, '0')}`),
        readyToSend: true,
      });
      return () => wire;
    }),
  },
  {
    name: 'repeats with new Idempotency-Keys and large bodies',
    player: 'production tenant',
    prepare: requestsAt(MEANS.productionPerSecond, (ground) => {
      const body = JSON.stringify({
        phoneNumber: NUMBER,
        message: 'x',
        simulation: true,
        padding: 'x'.repeat(100_000),
      });
      const { headers, ...wire } = withKey(ground, 'POST', `${MS}/sms/send`, body);
      return (n) => ({ ...wire, headers: { ...headers, 'idempotency-key': `hostile-${n}` } });
    }),
  },
];
