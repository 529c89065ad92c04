import type { Kind } from './connection.ts';

/** One setting of a connection as a form asks for it; its words are `setting.<kind>.<name>` and `settingHint.…`. */
export type Field = {
  readonly name: string;
  /** `list`: words with commas or spaces between them; `key`: the text of a file of JSON. */
  readonly type: 'text' | 'figure' | 'switch' | 'choice' | 'list' | 'secret' | 'key';
  readonly options?: readonly string[];
  /** What counts when it is left empty. */
  readonly fallback?: string | number | boolean;
  readonly isRequired?: boolean;
};

/** docs/carriers.md, in the order in which a form asks for them. */
export type KindFields = {
  /** What one needs to get in. */
  readonly access: readonly Field[];
  readonly secret: readonly Field[];
  /** What is agreed with a carrier besides. */
  readonly main: readonly Field[];
  /** What few carriers ask for. */
  readonly more: readonly Field[];
};

const text = (name: string, fallback?: string): Field => ({
  name,
  type: 'text',
  ...(fallback !== undefined && { fallback }),
});
const needed = (name: string): Field => ({ name, type: 'text', isRequired: true });
const figure = (name: string, fallback: number): Field => ({ name, type: 'figure', fallback });
const onOff = (name: string, fallback: boolean): Field => ({ name, type: 'switch', fallback });
const oneOf = (name: string, options: readonly string[], fallback = ''): Field => ({
  name,
  type: 'choice',
  options,
  fallback,
});
const secret = (name: string, isRequired = true): Field => ({ name, type: 'secret', isRequired });

const SMPP: KindFields = {
  access: [needed('host'), figure('port', 2775), needed('systemId')],
  secret: [secret('password')],
  main: [
    onOff('tls', false),
    oneOf('bind', ['trx', 'tx+rx', 'tx', 'rx'], 'trx'),
    figure('binds', 1),
    figure('window', 10),
    figure('tps', 0),
  ],
  more: [
    text('systemType'),
    oneOf('interfaceVersion', ['51', '52', '80'], '52'),
    text('addressRange'),
    text('serviceType'),
    oneOf('defaultAlphabet', ['gsm', 'latin1', 'ascii', 'utf8'], 'gsm'),
    figure('gsmDataCoding', 0),
    oneOf('longMode', ['udh8', 'udh16', 'sar', 'payload'], 'udh8'),
    oneOf('validity', ['absolute', 'relative', 'empty'], 'absolute'),
    figure('enquireSeconds', 30),
    figure('submitTimeoutSeconds', 60),
    figure('bindTimeoutSeconds', 30),
    figure('throttlePauseMs', 1000),
    text('tlsServername'),
    text('tlsCa'),
    figure('dlrOffsetMinutes', 0),
    onOff('plusPrefix', false),
    onOff('dlrWithoutEsmClass', true),
    onOff('acceptedMeansDelivered', false),
    onOff('tlsInsecure', false),
  ],
};

const WHATSAPP: KindFields = {
  access: [needed('wabaId'), { name: 'phoneNumberIds', type: 'list', isRequired: true }],
  secret: [secret('accessToken'), secret('appSecret'), secret('verifyToken', false)],
  main: [text('appId'), figure('tps', 80)],
  more: [
    text('baseUrl', 'https://graph.facebook.com'),
    text('apiVersion', 'v23.0'),
    figure('concurrency', 50),
    figure('submitTimeoutSeconds', 30),
    figure('connectTimeoutSeconds', 10),
    figure('throttlePauseMs', 1000),
    { name: 'mediaHosts', type: 'list', fallback: 'lookaside.fbsbx.com' },
  ],
};

const TRAFFIC = ['AUTHENTICATION', 'TRANSACTION', 'PROMOTION', 'SERVICEREQUEST', 'ACKNOWLEDGEMENT'];

const RCS: KindFields = {
  access: [],
  secret: [{ name: 'serviceAccount', type: 'key', isRequired: true }, secret('clientToken', false)],
  main: [
    text('baseUrl', 'https://rcsbusinessmessaging.googleapis.com'),
    oneOf('trafficType', TRAFFIC),
    figure('tps', 0),
  ],
  more: [
    figure('concurrency', 50),
    figure('defaultTtlSeconds', 1_296_000),
    figure('requestTimeoutSeconds', 20),
    figure('connectTimeoutSeconds', 10),
    figure('resends', 2),
    figure('throttlePauseMs', 1000),
    figure('faultPauseSeconds', 30),
    figure('reachableCacheSeconds', 86_400),
    figure('unreachableCacheSeconds', 21_600),
    figure('batchMinimum', 500),
    figure('capabilityConcurrency', 10),
  ],
};

export const FIELDS: Readonly<Record<Kind, KindFields>> = { smpp: SMPP, whatsapp: WHATSAPP, rcs: RCS };

/** All settings of a kind. */
export const settingsOf = (kind: Kind): readonly Field[] => [
  ...FIELDS[kind].access,
  ...FIELDS[kind].main,
  ...FIELDS[kind].more,
];

export type Values = Record<string, string | boolean>;

const EMPTY: Values = {};

/** What stands in the fields of a form: `known` where it says something else than the default. */
export function initialOf(fields: readonly Field[], known: Readonly<Record<string, unknown>> = EMPTY): Values {
  return Object.fromEntries(fields.map((field) => [field.name, shown(field, known[field.name])]));
}

function shown({ type, fallback }: Field, known: unknown): string | boolean {
  if (type === 'switch') return Boolean(known ?? fallback);
  if (Array.isArray(known)) return known.join(', ');
  const word = wordOf(known);
  if (type === 'choice') return word || wordOf(fallback);
  return word === wordOf(fallback) ? '' : word;
}

const wordOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

/** What is sent of them: nothing of what is left empty, or `null` (back to the default) when something stood there. */
export function filledOf(fields: readonly Field[], values: Values, before?: Values): Record<string, unknown> {
  const changed = fields.filter(({ name }) => before === undefined || before[name] !== values[name]);
  const read = changed.map((field): [string, unknown] => [field.name, readOne(field, values[field.name] ?? '')]);
  return Object.fromEntries(read.flatMap(([name, value]) => (value !== null || before ? [[name, value]] : [])));
}

const NUMBERS = ['interfaceVersion'];

/** null: left empty. What is no number, and no JSON, is sent as it is: the server says what is wrong with it. */
function readOne({ name, type }: Field, value: string | boolean): unknown {
  if (typeof value === 'boolean') return value;
  const written = value.trim();
  if (written === '') return null;
  if (type === 'list') return written.split(/[\s,]+/).filter(Boolean);
  if (type === 'figure' || NUMBERS.includes(name)) return Number.isNaN(Number(written)) ? written : Number(written);
  return type === 'key' ? parse(written) : written;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}
