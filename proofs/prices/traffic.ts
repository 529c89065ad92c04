import { between, type Run } from '../lib/proof.ts';
import { type Asked, type Row, rowFor } from './list.ts';
import { REFUSED, UNDELIVERED } from './networks.ts';

/** Content of messages, with everything that the price depends on. */
type Kind = {
  readonly channel: Asked['channel'];
  /** The categories in which the network bills it: at home, and to people in another country than the business. */
  readonly categories: readonly string[];
  readonly abroad?: readonly string[];
  /** Parts of an SMS, or segments of an RCS text. */
  readonly units: number;
  /** The fields of the request that hold the content; the text alone on SMS. */
  readonly content: string | object;
};

const REPLY = { reply: { text: 'Yes', postbackData: 'y' } };
/** 250 bytes in UTF-8. */
const LONG_RCS = { type: 'TEXT', text: 'é'.repeat(125) };
const template = (name: string, more: object = {}): object => ({ template: { name, language: 'en', ...more } });
const CODE = { variables: ['123456', '123456'] };

const SMS: readonly Kind[] = [
  { channel: 'SMS', categories: [], units: 1, content: 'One part' },
  { channel: 'SMS', categories: [], units: 3, content: 'a'.repeat(400) },
  { channel: 'SMS', categories: [], units: 2, content: 'я'.repeat(100) },
];
const RCS: readonly Kind[] = [
  { channel: 'RCS', categories: ['basic', 'rich'], units: 1, content: { body: { type: 'TEXT', text: 'Short' } } },
  { channel: 'RCS', categories: ['single', 'rich'], units: 2, content: { body: LONG_RCS } },
  {
    channel: 'RCS',
    categories: ['single', 'rich'],
    units: 1,
    content: { body: { type: 'TEXT', text: 'Short', suggestions: [REPLY] } },
  },
  {
    channel: 'RCS',
    categories: ['single', 'rich-media'],
    units: 1,
    content: { body: { type: 'CARD', card: { title: 'Hello' } } },
  },
];
const WHATSAPP: readonly Kind[] = [
  { channel: 'WHATSAPP', categories: ['marketing'], units: 1, content: template('marketing') },
  { channel: 'WHATSAPP', categories: ['utility'], units: 1, content: template('utility') },
  {
    channel: 'WHATSAPP',
    categories: ['authentication'],
    abroad: ['authentication-international', 'authentication'],
    units: 1,
    content: template('authentication', CODE),
  },
  { channel: 'WHATSAPP', categories: ['service'], units: 1, content: { body: { type: 'TEXT', text: 'Hello' } } },
];

/** The first digits of the people on WhatsApp, with the windows that what they wrote has opened. */
const PEOPLE = [
  { prefix: '351911', windows: [], writes: null },
  { prefix: '351912', windows: ['IN_WINDOW'], writes: {} },
  {
    prefix: '351913',
    windows: ['FREE_ENTRY', 'IN_WINDOW'],
    writes: { referral: { source_type: 'ad', source_id: '7' } },
  },
  { prefix: '628121', windows: [], writes: null },
] as const;
const PEOPLE_OF_EACH = 20;
/** Seven more digits make a valid mobile number of each. */
const SMS_PREFIXES = ['39320', '39347', '44771', '62812'];
const RCS_PREFIXES = ['35191', '39333', '1212'];
const HOME = '+351';

/** A message to send, with the price that it must have. */
export type Planned = {
  /** The client's id. */
  readonly clientId: string;
  /** The place of the account that sends it: 1 has prices of its own. */
  readonly account: 0 | 1;
  readonly channel: Asked['channel'];
  readonly destination: string;
  readonly content: Kind['content'];
  /** True if it is scheduled for a time after the next change of prices, and cancelled before. */
  readonly isLater: boolean;
  readonly row: Row;
  readonly micros: number;
};

/** The time of messages that are for later: after the next change of prices. */
export const LATER = new Date(Date.now() + 2 * 86_400_000);
/** Every so many rounds of all combinations, SMS are for later. */
const LATER_EVERY = 8;
const LATER_ROUND = 3;
const UNDELIVERED_SHARE = 0.08;
const REFUSED_SHARE = 0.04;

type Combination = { readonly account: 0 | 1; readonly kind: Kind; readonly place: number };

const COMBINATIONS: readonly Combination[] = ([0, 1] as const).flatMap((account) => [
  ...combine(account, SMS, SMS_PREFIXES.length),
  ...combine(account, RCS, RCS_PREFIXES.length),
  ...combine(account, WHATSAPP, PEOPLE.length),
]);

function combine(account: 0 | 1, kinds: readonly Kind[], places: number): Combination[] {
  return kinds.flatMap((kind) => Array.from({ length: places }, (_, place) => ({ account, kind, place })));
}

/** Plans mixed messages: each combination of account, content and place comes in turn. */
export function planTraffic(run: Run, messages: number): Planned[] {
  const numbers = createNumbers();
  return Array.from({ length: messages }, (_, n) => {
    const { account, kind, place } = COMBINATIONS[n % COMBINATIONS.length] as Combination;
    const { channel, units, content } = kind;
    const round = Math.floor(n / COMBINATIONS.length);
    const isLater = channel === 'SMS' && round % LATER_EVERY === LATER_ROUND;
    const person = channel === 'WHATSAPP' ? PEOPLE[place] : undefined;
    const prefix = (channel === 'SMS' ? SMS_PREFIXES : RCS_PREFIXES)[place] ?? '';
    const destination = person
      ? personOf(person.prefix, between(run, 0, PEOPLE_OF_EACH - 1))
      : numbers.next(prefix, isLater ? '' : endingOf(run));
    const row = rowFor({
      isOwn: account === 1,
      channel,
      destination,
      categories: kind.abroad && !destination.startsWith(HOME) ? kind.abroad : kind.categories,
      windows: person?.windows ?? [],
      at: isLater ? LATER : new Date(),
    });
    const isPerUnit = row.perPart ?? channel === 'SMS';
    const micros = row.unitMicros * (isPerUnit ? units : 1);
    return { clientId: `p${n}`, account, channel, destination, content, isLater, row, micros };
  });
}

function endingOf(run: Run): string {
  if (run.random.chance(REFUSED_SHARE)) return REFUSED;
  return run.random.chance(UNDELIVERED_SHARE) ? UNDELIVERED : '';
}

/** Counts numbers up, each prefix and each ending for itself, so that each number occurs once. */
function createNumbers() {
  const counts = new Map<string, number>();
  return {
    next(prefix: string, ending: string): string {
      const n = counts.get(prefix + ending) ?? 0;
      counts.set(prefix + ending, n + 1);
      return ending === ''
        ? `+${prefix}${200 + Math.floor(n / 9000)}${String(n % 9000).padStart(4, '0')}`
        : `+${prefix}${200 + n}${ending}`;
    },
  };
}

/** The nth person with a prefix: one of them is never reached, and one is refused. */
function personOf(prefix: string, n: number): string {
  const ending = n === 0 ? UNDELIVERED : n === 1 ? REFUSED : String(1000 + n);
  return `+${prefix}${String(n).padStart(12 - prefix.length - ending.length, '0')}${ending}`;
}

/** The people who have written, with what their messages have besides the text. */
export const WRITERS = PEOPLE.flatMap(({ prefix, writes }) =>
  writes === null
    ? []
    : Array.from({ length: PEOPLE_OF_EACH }, (_, n) => ({ from: personOf(prefix, n), more: writes })),
);
