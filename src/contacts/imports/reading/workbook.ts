import { badFile } from './limits.ts';
import { attributeReader, createXmlReader, type Listener } from './xml.ts';
import type { Zip } from './zip.ts';

/** What is needed to read the first sheet of a workbook. */
export type Workbook = {
  /** Its place in the archive. */
  readonly sheet: string;
  readonly strings: readonly string[];
  /** The cell styles, by number, that show numbers as dates. */
  readonly dates: ReadonlySet<number>;
  /** Days are counted from 1904 and not from 1900. */
  readonly from1904: boolean;
};

const WORKBOOK = 'xl/workbook.xml';
const RELATIONS = 'xl/_rels/workbook.xml.rels';

/** Errors: 400 for an archive that is no workbook. */
export async function readWorkbook(zip: Zip): Promise<Workbook> {
  const { sheetId, from1904 } = await readSheets(zip);
  const relations = await readRelations(zip);
  const sheet = relations.find(({ id }) => id === sheetId)?.target;
  if (sheet === undefined) throw badFile('is no XLSX: it has no sheet');
  const placeOf = (kind: string) => relations.find(({ type }) => type.endsWith(`/${kind}`))?.target;
  const [stringsAt, stylesAt] = [placeOf('sharedStrings'), placeOf('styles')];
  return {
    sheet,
    from1904,
    strings: stringsAt !== undefined && zip.has(stringsAt) ? await readStrings(zip, stringsAt) : [],
    dates: stylesAt !== undefined && zip.has(stylesAt) ? await readDates(zip, stylesAt) : new Set(),
  };
}

const NOTHING = (): void => undefined;

/** Tells a listener of one document of the archive. */
export async function hear(zip: Zip, name: string, listener: Partial<Listener>): Promise<void> {
  for await (const _ of hearing(zip, name, listener));
}

/** The same, with a pause after each piece. */
export async function* hearing(zip: Zip, name: string, listener: Partial<Listener>): AsyncGenerator<void> {
  const reader = createXmlReader({ open: NOTHING, text: NOTHING, close: NOTHING, ...listener });
  const decoder = new TextDecoder();
  for await (const octets of zip.read(name)) {
    reader.write(decoder.decode(octets, { stream: true }));
    yield;
  }
  reader.write(decoder.decode());
  reader.end();
  yield;
}

const [idIn, date1904In, targetIn, typeIn, relationIdIn] = ['id', 'date1904', 'Target', 'Type', 'Id'].map(attributeReader) as [
  ...Reader[],
] as [Reader, Reader, Reader, Reader, Reader];
