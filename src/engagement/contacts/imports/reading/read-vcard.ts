import { decoded, type Encoding, type Octets } from './encoding.ts';
import { badFile, LIMITS, type RawRow } from '../limits.ts';

/** The columns of the table that is made from a vCard file. */
export const VCARD_COLUMNS = ['phoneNumber', 'firstName', 'lastName', 'fullName', 'email', 'gender'] as const;
type Column = (typeof VCARD_COLUMNS)[number];

/** A line of a card: its name, its parameters with names in capitals, and its value as written. */
type Property = { readonly name: string; readonly parameters: readonly Parameter[]; readonly value: string };
type Parameter = readonly [name: string, value: string];

const WANTED: ReadonlySet<string> = new Set(['TEL', 'N', 'FN', 'EMAIL', 'GENDER']);
const EDGES: ReadonlySet<string> = new Set(['BEGIN', 'END']);

/**
 * Yields one row for each card of a vCard file (2.1, 3.0, 4.0), with the line where it begins. If a card has several
 * numbers, the best one is used: mobiles before others, the preferred one first, faxes and pagers last. A card without
 * a number gives a row without one. Nested cards (AGENT) are ignored. Errors: 400 for text outside of cards, for a card
 * without an end, and for a line longer than 64 KiB.
 */
export async function* readVcard(octets: Octets, encoding: Encoding): AsyncGenerator<RawRow> {
  let depth = 0;
  let begin = 1;
  let properties: Property[] = [];
  for await (const { line, text } of logicalLines(linesOf(decoded(octets, encoding)))) {
    const property = parseProperty(text);
    const edge = property && edgeOf(property);
    if (edge === 'BEGIN') {
      if (depth++ === 0) [begin, properties] = [line, []];
    } else if (depth === 0) {
      if (text.trim() !== '') throw badFile(`line ${line}: is not part of a vCard`);
    } else if (edge === 'END') {
      if (--depth === 0) yield { line: begin, cells: toCells(properties) };
    } else if (depth === 1 && property && WANTED.has(property.name)) properties.push(property);
  }
  if (depth > 0) throw badFile(`line ${begin}: the card has no END:VCARD`);
}

/** Returns BEGIN or END if a property is the beginning or the end of a card. */
const edgeOf = ({ name, value }: Property): string | undefined =>
  EDGES.has(name) && value.trim().toUpperCase() === 'VCARD' ? name : undefined;

type Line = { readonly line: number; readonly text: string };

async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<Line> {
  let line = 0;
  let rest = '';
  for await (const text of texts) {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) yield { line: ++line, text: part.replace(/\r$/, '') };
    if (rest.length > LIMITS.rowLength)
      throw badFile(`line ${line + 1}: is longer than ${LIMITS.rowLength / 1024} KiB`);
  }
  if (rest !== '') yield { line: line + 1, text: rest };
}

const QUOTED = /^[^:]*;(?:ENCODING=)?QUOTED-PRINTABLE[;:]/i;

/** A line that may continue on the next line. */
type Open = {
  readonly line: number;
  readonly parts: string[];
  length: number;
  readonly quoted: boolean;
  soft: boolean;
};

/**
 * Joins folded lines: a line continues on the next one if that begins with a blank or, in quoted-printable, after an
 * equals sign at its end. Lines longer than a row may be (pictures) are cut: no property that is read is that long.
 */
async function* logicalLines(lines: AsyncIterable<Line>): AsyncGenerator<Line> {
  let open: Open | undefined;
  for await (const { line, text } of lines) {
    if (open && (open.soft || /^[ \t]/.test(text))) {
      append(open, open.soft ? text : text.slice(1));
    } else {
      if (open) yield { line: open.line, text: open.parts.join('') };
      open = { line, parts: [], length: 0, quoted: QUOTED.test(text), soft: false };
      append(open, text);
    }
  }
  if (open) yield { line: open.line, text: open.parts.join('') };
}

function append(open: Open, text: string): void {
  open.soft = open.quoted && text.endsWith('=');
  if (open.length + text.length > LIMITS.rowLength) return;
  open.parts.push(open.soft ? text.slice(0, -1) : text);
  open.length += text.length;
}

/**
 * The form of a property: `group.NAME;PARAM=value:value`. Colons and semicolons within quotes belong to a parameter.
 */
const FORM = /^(?:[A-Za-z0-9-]+\.)?([A-Za-z0-9-]+)((?:;(?:"[^"]*"|[^":;])*)*):(.*)$/s;

function parseProperty(text: string): Property | undefined {
  const [, name, parameters = '', value = ''] = FORM.exec(text) ?? [];
  if (name === undefined) return undefined;
  return { name: name.toUpperCase(), parameters: parseParameters(parameters), value };
}

/** Parses the parameters of a property. In 2.1, a type has no name: `;CELL` instead of `;TYPE=cell`. */
const parseParameters = (text: string): Parameter[] =>
  [...text.matchAll(/;((?:"[^"]*"|[^";])*)/g)].map(([, parameter = '']) => {
    const at = parameter.indexOf('=');
    const [name, value] = at < 0 ? ['', parameter] : [parameter.slice(0, at), parameter.slice(at + 1)];
    return [name.toUpperCase(), value.replaceAll('"', '').toUpperCase()] as const;
  });

const valuesOf = ({ parameters }: Property, name: string): string[] =>
  parameters.flatMap(([key, value]) => (key === name || key === '' ? value.split(',') : []));

function toCells(properties: readonly Property[]): string[] {
  const found: Partial<Record<Column, string>> = {};
  found.phoneNumber = bestNumber(properties);
  for (const property of properties) {
    const text = decodeValue(property);
    if (property.name === 'N') {
      const [last = '', first = ''] = splitParts(text);
      found.lastName ??= unescaped(last);
      found.firstName ??= unescaped(first);
    } else if (property.name === 'FN') found.fullName ??= unescaped(text);
    else if (property.name === 'EMAIL') found.email ??= unescaped(text);
    else if (property.name === 'GENDER') found.gender ??= genderOf(text);
  }
  return VCARD_COLUMNS.map((column) => found[column]?.trim() ?? '');
}

/** The best number that is not empty. Among equals, the first. */
function bestNumber(properties: readonly Property[]): string {
  let best = { number: '', rank: Number.POSITIVE_INFINITY };
  for (const property of properties) {
    if (property.name !== 'TEL') continue;
    const rank = rankOf(property);
    const number = rank < best.rank ? numberIn(property) : '';
    if (number !== '') best = { number, rank };
  }
  return best.number;
}

const MOBILE = ['CELL', 'IPHONE', 'MOBILE'];
const NOT_PHONES = ['FAX', 'PAGER', 'MODEM', 'BBS', 'TEXTPHONE'];

/** Ranks a number; lower is better. */
function rankOf(property: Property): number {
  const types = valuesOf(property, 'TYPE');
  const preferred = types.includes('PREF') || property.parameters.some(([name]) => name === 'PREF');
  const kind = types.some((type) => MOBILE.includes(type))
    ? 0
    : types.some((type) => NOT_PHONES.includes(type))
      ? 4
      : 2;
  return kind + (preferred ? 0 : 1);
}

/** Returns the number of a property. In 4.0, numbers are URIs: `tel:+39-333-1234567;ext=12`. */
const numberIn = (property: Property): string =>
  unescaped(decodeValue(property)).trim().replace(/^tel:/i, '').replace(/;.*$/s, '');

const GENDERS: Readonly<Record<string, string>> = { M: 'MALE', F: 'FEMALE', O: 'OTHER' };
const genderOf = (text: string): string => GENDERS[text.slice(0, 1).toUpperCase()] ?? '';

/** Splits a value at its semicolons, except those after a backslash. */
function splitParts(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (const { 0: found, index } of text.matchAll(/\\.|;/gs)) {
    if (found !== ';') continue;
    parts.push(text.slice(start, index));
    start = index + 1;
  }
  return [...parts, text.slice(start)];
}

const unescaped = (text: string): string =>
  text.replaceAll(/\\(.)/gs, (_, character: string) => (character.toLowerCase() === 'n' ? ' ' : character));

function decodeValue(property: Property): string {
  const encodings = valuesOf(property, 'ENCODING');
  if (encodings.includes('QUOTED-PRINTABLE')) return decodeText(octetsOf(property.value), charsetOf(property));
  if (encodings.includes('B') || encodings.includes('BASE64'))
    return decodeText(Buffer.from(property.value, 'base64'), charsetOf(property));
  return property.value;
}

const charsetOf = ({ parameters }: Property): string => parameters.find(([name]) => name === 'CHARSET')?.[1] ?? 'UTF-8';

const octetsOf = (text: string): Buffer =>
  Buffer.from(
    text.replaceAll(/=([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );

/** Decodes a text. An unknown character set is read as Windows-1252. */
function decodeText(octets: Buffer, charset: string): string {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(octets);
  } catch {
    return new TextDecoder('windows-1252').decode(octets);
  }
}
