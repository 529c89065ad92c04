import { crc32, deflateRawSync } from 'node:zlib';

/** A file of an archive. Its directory entry claims the other fields instead of the true values. */
export type PackedFile = {
  readonly name: string;
  readonly content: Buffer;
  readonly crc?: number;
  readonly bytes?: number;
  readonly method?: number;
  readonly flags?: number;
  readonly offset?: number;
  /** Replaces the packed data by bytes that no method produces. */
  readonly corrupt?: boolean;
};

const DEFLATED = 8;

/** Returns a ZIP archive, whose directory may lie. */
export function makeZip(files: readonly PackedFile[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const file of files) {
    const data = file.corrupt ? Buffer.alloc(64, 0xff) : deflateRawSync(file.content);
    const header = headerOf(file, data, offset);
    parts.push(header.local, data);
    directory.push(header.central);
    offset += header.local.length + data.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, listed, end]);
}

function headerOf(file: PackedFile, data: Buffer, offset: number): { local: Buffer; central: Buffer } {
  const name = Buffer.from(file.name);
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt16LE(file.flags ?? 0, 2);
  fields.writeUInt16LE(file.method ?? DEFLATED, 4);
  fields.writeUInt32LE(file.crc ?? crc32(file.content), 10);
  fields.writeUInt32LE(data.length, 14);
  fields.writeUInt32LE(file.bytes ?? file.content.length, 18);
  fields.writeUInt16LE(name.length, 22);
  const place = Buffer.alloc(14);
  place.writeUInt32LE(file.offset ?? offset, 10);
  return {
    local: Buffer.concat([Buffer.from('504b0304', 'hex'), fields, name]),
    central: Buffer.concat([Buffer.from('504b01021400', 'hex'), fields, place, name]),
  };
}

const SCHEMA = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const relations = (...rows: [id: string, type: string, target: string][]): string =>
  `<Relationships>${rows.map(([id, type, target]) => `<Relationship Id="${id}" Type="${SCHEMA}/${type}" Target="${target}"/>`).join('')}</Relationships>`;

type XlsxOptions = {
  readonly strings?: string;
  readonly styles?: string;
  /** Claims of the directory about the sheet. */
  readonly sheet?: Partial<PackedFile>;
  /** The path of the shared strings, according to the workbook. */
  readonly stringsAt?: string;
  /** Files that the workbook does not refer to. */
  readonly more?: readonly PackedFile[];
};

/** Returns a workbook with one sheet, made from the XML of its rows. */
export function makeXlsx(rows: string, options: XlsxOptions = {}): Buffer {
  const { strings = '', styles = '', sheet = {}, stringsAt = '/xl/s.xml', more = [] } = options;
  const file = (name: string, text: string): PackedFile => ({ name, content: Buffer.from(text) });
  const parts = relations(
    ['rId1', 'worksheet', 'worksheets/sheet1.xml'],
    ['rId2', 'sharedStrings', stringsAt],
    ['rId3', 'styles', 'styles.xml'],
  );
  return makeZip([
    file('_rels/.rels', relations(['rId1', 'officeDocument', 'xl/workbook.xml'])),
    file('xl/workbook.xml', '<workbook><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>'),
    file('xl/_rels/workbook.xml.rels', parts),
    file('xl/s.xml', `<sst>${strings}</sst>`),
    file('xl/styles.xml', `<styleSheet>${styles}</styleSheet>`),
    { ...file('xl/worksheets/sheet1.xml', `<worksheet><sheetData>${rows}</sheetData></worksheet>`), ...sheet },
    ...more,
  ]);
}
