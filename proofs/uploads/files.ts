import { setTimeout as delay } from 'node:timers/promises';
import { makeXlsx, makeZip } from '../../test/support/files/archive.ts';
import { between, type RandomSource, type Run } from '../lib/proof.ts';
import { type Body, formAround } from './send.ts';

const PATH = '/api/partner-gateway/v1/contacts/upload';
const MIB = 1024 * 1024;

/** A hostile upload. */
export type Hostile = {
  readonly name: string;
  readonly path: string;
  readonly type: string;
  readonly body: () => Body;
  /** Whether it may still be valid, and so may be accepted. */
  readonly maybeValid?: boolean;
};

const file = (name: string, fileName: string, content: () => Body, path = PATH): Hostile => {
  const { type, begin, end } = formAround(fileName);
  async function* body() {
    yield begin;
    yield* content();
    yield end;
  }
  return { name, path, type, body };
};
const vcard = (name: string, content: () => Body): Hostile => file(name, 'a.vcf', content, `${PATH}/vcard`);
const csv = (name: string, content: () => Body): Hostile => file(name, 'a.csv', content);
const xlsx = (name: string, octets: Buffer): Hostile => file(name, 'a.xlsx', () => [octets]);

function* repeat(times: number, piece: string | Buffer, begin: string | Buffer = '') {
  yield begin === '' ? piece : begin;
  for (let i = 0; i < times; i++) yield piece;
}

/** A valid sheet for the other faults. */
const CELL = '<row><c t="str"><v>phone</v></c></row><row><c><v>393331234567</v></c></row>';
const blanks = (): Buffer => Buffer.alloc(256 * MIB, 0x20);

/** Packed before the first one is sent: answers are not read while this process is packing. */
const bombs = (): Hostile[] => [
  // A quarter of a gigabyte, packed into a quarter of a megabyte.
  xlsx('a bomb that declares its size', makeXlsx(CELL, { more: [{ name: 'bomb', octets: blanks() }] })),
  xlsx('a bomb that claims to be small', makeXlsx(CELL, { sheet: { octets: blanks(), bytes: 1000 } })),
  xlsx('a bomb that claims to be empty', makeXlsx(CELL, { sheet: { octets: blanks(), bytes: 0 } })),
  xlsx('a bomb within the bound, of rows', makeXlsx('<row><c r="ZZZ1"><v>1</v></c></row>'.repeat(1_500_000))),
  xlsx(
    'a bomb within the bound, of texts',
    makeXlsx(`${CELL}<row>`, { strings: '<si><t>x</t></si>'.repeat(3_000_000) }),
  ),
  xlsx('an archive within an archive', makeXlsx(CELL, { sheet: { octets: makeXlsx(CELL) } })),
  xlsx('one file under every name', makeXlsx('<x/>'.repeat(12 * MIB), { stringsAt: 'worksheets/sheet1.xml' })),
  xlsx(
    'a directory of sixty thousand files',
    makeZip(Array.from({ length: 60_000 }, (_, i) => ({ name: `${i}`, octets: Buffer.alloc(0) }))),
  ),
  xlsx('an archive beyond 20 MiB', makeZip([{ name: 'a', octets: incompressible(21 * MIB), method: 0 }])),
  xlsx('elements a million deep', makeXlsx('<a>'.repeat(1_000_000))),
  xlsx(
    'entities of entities',
    makeXlsx(`<!DOCTYPE x [<!ENTITY a "${'&b;'.repeat(100)}">]><row><c t="str"><v>&a;</v></c></row>`),
  ),
  xlsx('a cell of ten million characters', makeXlsx(`<row><c t="str"><v>${'x'.repeat(10 * MIB)}</v></c></row>`)),
  xlsx('a tag of ten million characters', makeXlsx(`<row ${'x'.repeat(10 * MIB)}/>`)),
  xlsx('cells in the last column', makeXlsx(`${CELL}${'<row><c r="XFD1"><v>1</v></c></row>'.repeat(1000)}`)),
  xlsx('a sheet of a thousand columns', makeXlsx(`<row>${'<c t="str"><v>c</v></c>'.repeat(1000)}</row>`)),
  csv('a row of a hundred million characters', () => repeat(1600, 'x'.repeat(65_536))),
  csv('a quote that is never closed', () => repeat(800, 'x,y\n'.repeat(16_384), 'phone\n"')),
  csv('a thousand columns', () => [`phone${','.repeat(999)}\n+393331234567\n`]),
  csv('a million columns', () => [`phone${','.repeat(1_000_000)}\n+393331234567\n`]),
  csv('more than 200 MiB', () => repeat(3300, `${'+393331234567\n'.repeat(4681)}`, 'phone\n')),
  csv('nothing but line ends', () => repeat(800, '\n'.repeat(65_536))),
  csv('zeros', () => repeat(100, Buffer.alloc(65_536))),
  csv('UTF-16 without meaning', () => repeat(400, Buffer.alloc(65_536, 0xd8), Buffer.from([0xff, 0xfe]))),
  csv('two encodings', () => repeat(200, 'città\n'.repeat(9000), Buffer.from('phone\n\xe9\n', 'latin1'))),
  vcard('cards in cards', () => repeat(100, 'BEGIN:VCARD\n'.repeat(5000))),
  vcard('a line that is folded without end', () => repeat(400, ' x\n'.repeat(20_000), 'BEGIN:VCARD\nFN:x\n')),
  vcard('quoted-printable without end', () =>
    repeat(200, '=\n'.repeat(32_768), 'BEGIN:VCARD\nFN;QUOTED-PRINTABLE:x=\n'),
  ),
  vcard('a line without end', () => repeat(400, 'x'.repeat(65_536), 'BEGIN:VCARD\nNOTE:')),
];

function incompressible(length: number): Buffer {
  // Incompressible bytes: random enough for a packer, and the same in every run.
  const octets = Buffer.alloc(length);
  let state = 1;
  for (let at = 0; at + 4 <= length; at += 4) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    octets.writeUInt32LE(state, at);
  }
  return octets;
}

const { type: FORM } = formAround('a.csv');
const BOUNDARY = FORM.slice(FORM.indexOf('=') + 1);
const FIELD = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="limit"\r\n\r\n5\r\n`;
const form = (name: string, body: () => Body, type = FORM): Hostile => ({ name, path: PATH, type, body });

const FORMS: readonly Hostile[] = [
  form('parts without end', () => repeat(100_000, FIELD.repeat(100))),
  form('a field without end', () => repeat(100_000, 'x'.repeat(65_536), FIELD)),
  form('the head of a part without end', () =>
    repeat(100_000, 'x'.repeat(65_536), `--${BOUNDARY}\r\nContent-Disposition: `),
  ),
  form('much before the first part', () => repeat(100_000, 'x'.repeat(65_536))),
  form('much after the last part', () => repeat(100_000, 'x'.repeat(65_536), `${FIELD}--${BOUNDARY}--\r\n`)),
  form('nothing', () => []),
  form('no boundary', () => ['x'], 'multipart/form-data'),
  form('another boundary', () => [FIELD], 'multipart/form-data; boundary=other'),
  form('a part that is cut short', () => [formAround('a.csv').begin, 'phone\n']),
  form('no file', () => [FIELD, `--${BOUNDARY}--\r\n`]),
];

/** Uploads that wait for the server's timeout of 20 s each. */
const SLOW: readonly Hostile[] = [
  form('a body of which nothing comes', () => stall('-')),
  form('a file of which no more comes', () => stall(`${formAround('a.csv').begin}phone\n`)),
];

async function* stall(begin: string): AsyncGenerator<string> {
  yield begin;
  await delay(600_000, undefined, { ref: false });
}

/** A valid file of a random kind with changed bytes, or cut short. */
function corrupted(chance: RandomSource): Hostile {
  const kinds = [
    { name: 'a.xlsx', path: PATH, octets: VALID_XLSX },
    { name: 'a.csv', path: PATH, octets: Buffer.from(`phone,name\n${'+393331234567,"An""na"\n'.repeat(40)}`) },
    {
      name: 'a.vcf',
      path: `${PATH}/vcard`,
      octets: Buffer.from('BEGIN:VCARD\nFN:Anna\nTEL:+393331234567\nEND:VCARD\n'.repeat(20)),
    },
  ] as const;
  const { name, path, octets } = kinds[between(chance, 0, kinds.length - 1)] ?? kinds[0];
  const changed = Buffer.from(octets);
  for (let i = between(chance, 1, 8); i > 0; i--)
    changed[between(chance, 0, changed.length - 1)] = between(chance, 0, 255);
  const cut = chance.random.chance(0.3) ? changed.subarray(0, between(chance, 0, changed.length)) : changed;
  return { ...file(`a corrupted ${name}`, name, () => [cut], path), maybeValid: true };
}

const VALID_XLSX = makeXlsx(CELL);

/**
 * Returns the hostile uploads: the fixed ones, in `quick` and `full` also the slow ones, and this many corrupted files.
 */
export function hostileUploads(run: Pick<Run, 'mode' | 'random'>, corruptedFiles: number): Hostile[] {
  const fixed = run.mode === 'tiny' ? FORMS.slice(-5) : [...SLOW, ...bombs(), ...FORMS];
  return [...fixed, ...Array.from({ length: corruptedFiles }, () => corrupted(run))];
}
