import { posix } from 'node:path';
import { badFile } from '../limits.ts';
import { attributeReader, createXmlReader, type Listener } from './xml.ts';
import type { Zip } from './zip.ts';

/** Data needed to read the first sheet of a workbook. */
export type Workbook = {
  /** The path of the sheet in the archive. */
  readonly sheet: string;
  readonly strings: readonly string[];
  /** The numbers of the cell styles that show numbers as dates. */
  readonly dates: ReadonlySet<number>;
  /** True if days are counted from 1904 instead of 1900. */
  readonly from1904: boolean;
};

/** Reads the description of the first sheet of a workbook. Errors: 400 for an archive that is not a workbook. */
export async function readWorkbook(zip: Zip): Promise<Workbook> {
  const book = placeOf(await readRelations(zip, ''), 'officeDocument');
  if (book === undefined) throw badFile('is not an XLSX file: it has no workbook');
  const relations = await readRelations(zip, book);
  const { sheetId, from1904 } = await readSheets(zip, book);
  const sheet = relations.find(({ id }) => id === sheetId)?.target;
  if (sheet === undefined) throw badFile('is not an XLSX file: it has no sheet');
  const [stringsAt, stylesAt] = [placeOf(relations, 'sharedStrings'), placeOf(relations, 'styles')];
  return {
    sheet,
    from1904,
    strings: stringsAt !== undefined && zip.has(stringsAt) ? await readStrings(zip, stringsAt) : [],
    dates: stylesAt !== undefined && zip.has(stylesAt) ? await readDates(zip, stylesAt) : new Set(),
  };
}

const nothing = (): void => undefined;

/** Parses one document of the archive and calls the listener; yields after each piece of it. */
export async function* parseInSteps(zip: Zip, name: string, listener: Partial<Listener>): AsyncGenerator<void> {
  const reader = createXmlReader({ open: nothing, text: nothing, close: nothing, ...listener });
  const decoder = new TextDecoder();
  for await (const octets of zip.read(name)) {
    reader.write(decoder.decode(octets, { stream: true }));
    yield;
  }
  reader.write(decoder.decode());
  reader.end();
  yield;
}

async function parseAll(zip: Zip, name: string, listener: Partial<Listener>): Promise<void> {
  for await (const _ of parseInSteps(zip, name, listener));
}

const read = {
  id: attributeReader('id'),
  date1904: attributeReader('date1904'),
  relationId: attributeReader('Id'),
  type: attributeReader('Type'),
  target: attributeReader('Target'),
  formatId: attributeReader('numFmtId'),
  formatCode: attributeReader('formatCode'),
};

type Relation = { readonly id: string; readonly type: string; readonly target: string };

const placeOf = (relations: readonly Relation[], kind: string): string | undefined =>
  relations.find(({ type }) => type.endsWith(`/${kind}`))?.target;

/** Reads the relations of a document, with paths from the root of the archive; '' is the archive itself. */
async function readRelations(zip: Zip, document: string): Promise<Relation[]> {
  const { dir, base } = posix.parse(document);
  const relations: Relation[] = [];
  await parseAll(zip, posix.join(dir, '_rels', `${base}.rels`), {
    open(name, attributes) {
      if (name !== 'Relationship') return;
      const target = posix.resolve('/', dir, read.target(attributes) ?? '').slice(1);
      relations.push({ id: read.relationId(attributes) ?? '', type: read.type(attributes) ?? '', target });
    },
  });
  return relations;
}

async function readSheets(zip: Zip, book: string): Promise<{ sheetId: string | undefined; from1904: boolean }> {
  let sheetId: string | undefined;
  let from1904 = false;
  await parseAll(zip, book, {
    open(name, attributes) {
      if (name === 'sheet') sheetId ??= read.id(attributes);
      if (name === 'workbookPr') from1904 = ['1', 'true'].includes(read.date1904(attributes) ?? '');
    },
  });
  return { sheetId, from1904 };
}

/**
 * Reads the texts to which cells refer by number. The runs of a text are joined; phonetic readings (rPh) are omitted.
 */
async function readStrings(zip: Zip, place: string): Promise<string[]> {
  const strings: string[] = [];
  let text = '';
  let inText = false;
  let inReading = false;
  await parseAll(zip, place, {
    open(name) {
      if (name === 'si') text = '';
      if (name === 'rPh') inReading = true;
      inText = name === 't' && !inReading;
    },
    text(part) {
      if (inText) text += part;
    },
    close(name) {
      if (name === 't') inText = false;
      if (name === 'rPh') inReading = false;
      if (name === 'si') strings.push(text);
    },
  });
  return strings;
}

/** Returns true if a number is a built-in format of dates or times (ECMA-376 18.8.30). */
const isBuiltInDate = (id: number): boolean => (id >= 14 && id <= 22) || (id >= 45 && id <= 47);
/** The literal text and the conditions of a format. An unclosed one extends to the end, so that none is tried twice. */
const LITERAL = /"[^"]*(?:"|$)|\\.|\[[^\]]*(?:\]|$)/g;
/** Returns true if a format shows dates. */
const isDateFormat = (code: string): boolean => /[ymdhs]/i.test(code.replaceAll(LITERAL, ''));

async function readDates(zip: Zip, place: string): Promise<Set<number>> {
  const formats = new Map<number, boolean>();
  const dates = new Set<number>();
  let inCellStyles = false;
  let style = 0;
  await parseAll(zip, place, {
    open(name, attributes) {
      if (name === 'numFmt')
        formats.set(Number(read.formatId(attributes)), isDateFormat(read.formatCode(attributes) ?? ''));
      if (name === 'cellXfs') inCellStyles = true;
      if (name !== 'xf' || !inCellStyles) return;
      const format = Number(read.formatId(attributes) ?? 0);
      if (formats.get(format) ?? isBuiltInDate(format)) dates.add(style);
      style++;
    },
    close(name) {
      if (name === 'cellXfs') inCellStyles = false;
    },
  });
  return dates;
}
