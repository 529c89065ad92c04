import { cStringValue, decodeTlvs, encodeTlvs, NO_TLVS, readText, type Tlvs, uint8, uint16 } from '../smpp/wire.ts';
import { compileText, variablesIn } from './http-sms/template.ts';

/** Forms of the value of a parameter: a C-octet string, octets in hexadecimal, or a big-endian unsigned integer. */
export const TLV_TYPES = ['cstring', 'octets', 'int8', 'int16', 'int32'] as const;
export type TlvType = (typeof TLV_TYPES)[number];

export const MAX_MESSAGE_TLVS = 10;
export const MAX_TLV_OCTETS = 255;

export const TAG_FORM = '0x[0-9A-Fa-f]{4}';

/** Parameters that the gateway writes or reads itself: texts, long texts, ids and states of receipts. */
const OWN_TAGS: ReadonlySet<number> = new Set([0x001e, 0x020c, 0x020e, 0x020f, 0x0423, 0x0424, 0x0425, 0x0427]);

/** Returns the tag in a text such as 0x1400; null if it is none, or one that the gateway uses itself. */
export function tagOf(text: string): number | null {
  const tag = new RegExp(`^${TAG_FORM}$`).test(text) ? Number(text) : 0;
  return tag === 0 || OWN_TAGS.has(tag) ? null : tag;
}

/** Writes a tag, as in 0x1400. */
export const nameOfTag = (tag: number): string => `0x${tag.toString(16).padStart(4, '0')}`;

const INTEGER_OCTETS = { int8: 1, int16: 2, int32: 4 } as const;

/** Encodes a value; null if it does not have the form of its type or is too long. */
export function encodeTlvValue(type: TlvType, value: string): Uint8Array | null {
  if (type === 'octets')
    return /^([0-9A-Fa-f]{2})*$/.test(value) && value.length <= 2 * MAX_TLV_OCTETS ? Buffer.from(value, 'hex') : null;
  if (type === 'cstring')
    return /^[\x20-\x7e]*$/.test(value) && value.length < MAX_TLV_OCTETS ? cStringValue(value) : null;
  const octets = INTEGER_OCTETS[type];
  const number = /^\d{1,10}$/.test(value) ? Number(value) : Number.POSITIVE_INFINITY;
  if (number >= 256 ** octets) return null;
  if (octets < 4) return octets === 1 ? uint8(number) : uint16(number);
  const four = Buffer.alloc(4);
  four.writeUInt32BE(number);
  return four;
}

/** Names under which settings refer to the parameters that India's operators require (DLT): header, template, chain. */
export const DLT_TAGS = { entityId: 0x1400, templateId: 0x1401, chain: 0x1402 } as const;

/**
 * Returns the value of a variable of a message: `dlt.entityId`, `dlt.templateId`, `dlt.chain`, or `tlv.0x1400` for any
 * parameter that it brings. Null if it has none. Values that are not texts are written in hexadecimal.
 */
function tlvVariable(tlvs: Tlvs, name: string): string | null {
  const tag = tagOfVariable(name);
  const octets = tag === null ? undefined : tlvs.get(tag);
  if (tag === null || octets === undefined) return null;
  return isText(octets) ? (readText(tlvs, tag) ?? '') : Buffer.from(octets).toString('hex');
}

const isText = (octets: Uint8Array): boolean =>
  octets.every((octet, i) => (octet >= 0x20 && octet <= 0x7e) || (octet === 0 && i === octets.length - 1));

function tagOfVariable(name: string): number | null {
  if (name.startsWith('tlv.')) return tagOf(name.slice(4));
  const field = name.startsWith('dlt.') ? name.slice(4) : '';
  return Object.hasOwn(DLT_TAGS, field) ? DLT_TAGS[field as keyof typeof DLT_TAGS] : null;
}

/** Returns true if a template may name this variable of a message's parameters. */
export const isTlvVariable = (name: string): boolean => tagOfVariable(name) !== null;

const NO_DLT = { 'dlt.entityId': null, 'dlt.templateId': null, 'dlt.chain': null } as const;

/** Returns all variables of a message's parameters by their names, for templates of requests. */
export function tlvVariables(octets: Uint8Array | undefined): Record<keyof typeof NO_DLT, string | null> {
  if (octets === undefined) return NO_DLT;
  const tlvs = decodeTlvs(octets);
  const names = [...Object.keys(NO_DLT), ...[...tlvs.keys()].map((tag) => `tlv.${nameOfTag(tag)}`)];
  return { ...NO_DLT, ...Object.fromEntries(names.map((name) => [name, tlvVariable(tlvs, name)])) };
}

/** Settings of a connection for parameters. */
export type TlvSettings = {
  /** `TAG=VALUE` or `TAG:TYPE=VALUE`, whose values may contain variables. */
  readonly tlvs?: readonly string[];
  /** The tags that messages may bring; undefined: all. */
  readonly messageTlvs?: readonly string[];
};

/** Writes the parameters of a message for a connection. */
export type WriteTlvs = (own: Uint8Array | undefined) => Tlvs;

type Mapping = {
  readonly tag: number;
  readonly type: TlvType;
  readonly names: readonly string[];
  readonly fill: ReturnType<typeof compileText>;
};

/**
 * Compiles the parameters of a connection: those of the message that it takes, and then its own, which go before one of
 * the message with the same tag. One with a variable that the message lacks is omitted, and so is one whose value does
 * not fit its type. Throws an Error that begins with the field if a setting is wrong.
 */
export function compileTlvs({ tlvs = [], messageTlvs }: TlvSettings): WriteTlvs {
  const mappings = tlvs.map(mappingOf);
  const taken = messageTlvs && new Set(messageTlvs.map((text) => tagIn('messageTlvs', text)));
  const fixed: Tlvs = mappings.length === 0 ? NO_TLVS : new Map(mappings.flatMap((each) => filled(each, NO_TLVS)));
  return (own) => {
    if (own === undefined) return fixed;
    const all = decodeTlvs(own);
    const passed = [...all].filter(([tag]) => taken?.has(tag) ?? true);
    return new Map([...passed, ...mappings.flatMap((each) => filled(each, all))]);
  };
}

function filled({ tag, type, names, fill }: Mapping, tlvs: Tlvs): readonly (readonly [number, Uint8Array])[] {
  const text = fill(Object.fromEntries(names.map((name) => [name, tlvVariable(tlvs, name)])));
  const octets = text === undefined ? null : encodeTlvValue(type, text);
  return octets === null ? [] : [[tag, octets]];
}

function mappingOf(text: string): Mapping {
  const match = /^([^:=]+)(?::([a-z0-9]+))?=(.+)$/.exec(text);
  const type = TLV_TYPES.find((each) => each === (match?.[2] ?? 'cstring'));
  const value = match?.[3];
  if (!match || type === undefined || value === undefined)
    throw new Error(`tlvs: "${text}" must be TAG=VALUE or TAG:TYPE=VALUE, for example 0x1400=1101234`);
  const names = variablesIn(value);
  const wrong = names.find((name) => !isTlvVariable(name));
  if (wrong !== undefined) throw new Error(`tlvs: {{${wrong}}} is no variable`);
  if (names.length === 0 && encodeTlvValue(type, value) === null)
    throw new Error(`tlvs: "${value}" is not a value of type ${type}`);
  return { tag: tagIn('tlvs', match[1] ?? ''), type, names, fill: compileText(value) };
}

function tagIn(field: string, text: string): number {
  const tag = tagOf(text);
  if (tag === null) throw new Error(`${field}: "${text}" is not a tag such as 0x1400 that the gateway leaves free`);
  return tag;
}

/** A parameter of receipts that is shown, under a name. */
type Shown = { readonly tag: number; readonly name: string };

/** Compiles `TAG=NAME` settings. Throws an Error that begins with the field if one is wrong. */
export function compileReceiptTlvs(texts: readonly string[] = []): (tlvs: Tlvs) => string {
  const shown = texts.map((text): Shown => {
    const match = /^([^=]+)=([A-Za-z][A-Za-z0-9_-]{0,29})$/.exec(text);
    if (!match) throw new Error(`receiptTlvs: "${text}" must be TAG=NAME, for example 0x1403=operator`);
    return { tag: tagIn('receiptTlvs', match[1] ?? ''), name: match[2] ?? '' };
  });
  return (tlvs) =>
    shown
      .flatMap(({ tag, name }) => {
        const octets = tlvs.get(tag);
        if (octets === undefined) return [];
        const value = isText(octets) ? (readText(tlvs, tag) ?? '') : `0x${Buffer.from(octets).toString('hex')}`;
        return [` ${name}:${value.slice(0, MAX_TLV_OCTETS)}`];
      })
      .join('');
}

/** A parameter that a client sends. */
export type GivenTlv = { readonly tag: string; readonly type?: TlvType; readonly value: string };

/** Encodes the parameters of a request. `fault`: the first wrong one, with its place. */
export function readGivenTlvs(
  given: readonly GivenTlv[],
): { readonly octets: Buffer | null } | { readonly fault: { readonly place: string; readonly message: string } } {
  const tlvs = new Map<number, Uint8Array>();
  for (const [n, { tag: text, type = 'cstring', value }] of given.entries()) {
    const tag = tagOf(text);
    if (tag === null) return { fault: { place: `[${n}].tag`, message: 'is a parameter that the gateway uses itself' } };
    if (tlvs.has(tag)) return { fault: { place: `[${n}].tag`, message: 'is given twice' } };
    const octets = encodeTlvValue(type, value);
    if (octets === null)
      return {
        fault: { place: `[${n}].value`, message: `is not a value of type ${type} with up to ${MAX_TLV_OCTETS} bytes` },
      };
    tlvs.set(tag, octets);
  }
  return { octets: tlvs.size === 0 ? null : encodeTlvs(tlvs) };
}
