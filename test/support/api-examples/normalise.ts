import { isRecord } from '../../../src/core/schema.ts';

/** The moment at which all recorded requests were sent. */
const NOW = Date.parse('2027-01-15T09:30:00.000Z');
const HOUR_MS = 3_600_000;
const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b/g;
const INSTANT = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\.\d{3}(?:Z|[+-]\d{4})/g;
const MADE_UP = 'pQ3nW7xK9sT1vZ5bC8dF2gH4jL6mR0yA-uE_iO7kX2w';

/** Values that are secret, or different in each program, recognised by their form. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/pg_live_[\w-]{43}/g, `pg_live_${MADE_UP}`],
  [/whsec_[\w+/=-]+/g, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  [/https:\/\/localhost:\d+/g, 'https://example.com'],
  [/http:\/\/(?:localhost|127\.0\.0\.1):\d+/g, 'http://127.0.0.1:8080'],
  [/127\.0\.0\.1%3A\d+/g, '127.0.0.1%3A8080'],
  [/(signature|state|nonce|code_challenge)=[\w%-]+/g, `$1=${MADE_UP}`],
  [/\b127\.0\.0\.1:\d+/g, '127.0.0.1:8080'],
  [/^[A-Z2-7]{32}$/g, 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'],
  [/secret=[A-Z2-7]+/g, 'secret=JBSWY3DPEHPK3PXP'],
  [/(callback\/|verification=)[0-9a-f]{64}/g, `$1${'5d1ab2c8e4f07396'.repeat(4)}`],
  [/wamid\.[\w+/=-]+/g, 'wamid.HBgLMzkzMzMxMjM0NTY3'],
];

/** Values that are secret, or different in each program, by the name of their member. */
const MEMBERS: Readonly<Record<string, unknown>> = {
  password: 'the password of the new user',
  pendingToken: MADE_UP,
  token: MADE_UP,
  link: `http://127.0.0.1:8080/invitation#${MADE_UP}`,
  mediaKey: MADE_UP,
  challenge: MADE_UP,
  browserSecret: MADE_UP,
  durationMs: 12,
  oldestSeconds: 0,
  ms: 12,
  version: '1.0.0',
  processId: 4711,
};

/**
 * Returns a function that replaces secrets, identifiers and times. Equal identifiers stay equal
 * over all its calls.
 */
export function createNormaliser(startedAt: number): (value: unknown) => unknown {
  const uuids = new Map<string, string>();
  const uuidOf = (uuid: string): string => {
    if (uuid.startsWith('01900000')) return uuid;
    const next = `01a1fd63-cf7c-7183-929b-${String(uuids.size + 1).padStart(12, '0')}`;
    if (!uuids.has(uuid)) uuids.set(uuid, next);
    return uuids.get(uuid) ?? next;
  };
  const instantOf = (text: string): string => {
    const hours = Math.round((Date.parse(text.replace(' ', 'T')) - startedAt) / HOUR_MS);
    const [date = '', time = ''] = new Date(NOW + hours * HOUR_MS).toISOString().split('T');
    return text.includes('T') ? `${date}T${time}` : `${date} ${time.slice(0, -1)}+0000`;
  };
  const textOf = (text: string): string =>
    PATTERNS.reduce((changed, [pattern, by]) => changed.replaceAll(pattern, by), text)
      .replaceAll(INSTANT, instantOf)
      .replaceAll(UUID, uuidOf);

  function normalise(value: unknown, member = ''): unknown {
    const madeUp = typeof MEMBERS[member] === typeof value ? MEMBERS[member] : undefined;
    if (typeof value === 'string' && value !== '') return madeUp ?? textOf(value);
    if (typeof value === 'number') return madeUp ?? value;
    if (Array.isArray(value))
      return member === 'recoveryCodes' ? value.map(codeOf) : value.map((each) => normalise(each));
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, normalise(each, name)]));
  }
  return (value) => normalise(value);
}

const codeOf = (_: unknown, index: number): string => `${String.fromCharCode(97 + index).repeat(4)}-2b3c-4d5e-6f7g`;
