import type { Kind } from './connection.ts';

/**
 * One setting of a connection as a form field; its texts are `setting.<kind>.<name>` and `settingHint.<kind>.<name>`.
 */
export type Field = {
  readonly name: string;
  /** `list`: values separated by commas or spaces; `key`: the text of a JSON file. */
  readonly type: 'text' | 'figure' | 'switch' | 'choice' | 'list' | 'secret' | 'key';
  readonly options?: readonly string[];
  /** The default if the field is left empty. */
  readonly fallback?: string | number | boolean;
  readonly isRequired?: boolean;
};

/** The settings of docs/carriers.md, in the order of the form. */
export type KindFields = {
  /** The settings needed to sign in. */
  readonly access: readonly Field[];
  readonly secret: readonly Field[];
  /** Other settings agreed with the carrier. */
  readonly main: readonly Field[];
  /** Settings that few carriers need. */
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

/** The initial values of the form: those of `known` that differ from the default. */
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

/** The values to send: empty fields are left out, or `null` (reset to the default) if they had a value `before`. */
export function filledOf(fields: readonly Field[], values: Values, before?: Values): Record<string, unknown> {
  const changed = fields.filter(({ name }) => before === undefined || before[name] !== values[name]);
  const read = changed.map((field): [string, unknown] => [field.name, readOne(field, values[field.name] ?? '')]);
  return Object.fromEntries(read.flatMap(([name, value]) => (value !== null || before ? [[name, value]] : [])));
}

const NUMBERS = ['interfaceVersion'];

/**
 * The value of a field; null if it is empty. Invalid numbers and JSON are sent unchanged, so that the server reports
 * the error.
 */
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
