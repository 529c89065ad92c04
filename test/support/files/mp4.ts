const u16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
};
const u32 = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value, 4 * i);
  return bytes;
};
/** Returns a box of an MP4. */
export const box = (type: string, ...content: readonly Buffer[]): Buffer => {
  const bytes = Buffer.concat(content);
  return Buffer.concat([u32(bytes.length + 8), Buffer.from(type), bytes]);
};

const UPRIGHT = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000];
const TURNED = [0, 0x1_0000, 0, 0xffff_0000, 0, 0, 0, 0, 0x4000_0000];

export type Mp4Options = {
  readonly width?: number;
  readonly height?: number;
  readonly seconds?: number;
  /** Turned a quarter to the right, as phones record it. */
  readonly turned?: boolean;
  readonly handler?: string;
  /** The claimed position of the frames, instead of the true one. */
  readonly offset?: number;
  readonly frames?: number;
  /** More boxes for the header. */
  readonly more?: readonly Buffer[];
  readonly data?: Buffer;
};

/** Returns an MP4 with one track, complete except for what only a player reads. */
export function makeMp4(options: Mp4Options = {}): Buffer {
  const { width = 320, height = 240, seconds = 2, turned = false, handler = 'vide', frames = 3, more = [] } = options;
  const { data = Buffer.from('frames') } = options;
  const begin = Buffer.concat([box('ftyp', Buffer.from('isom'), u32(512), Buffer.from('isommp41'))]);
  const offset = options.offset ?? begin.length + 8;
  const matrix = u32(...(turned ? TURNED : UPRIGHT));
  const mvhd = box(
    'mvhd',
    u32(0, 0, 0, 1000, seconds * 1000, 0x1_0000),
    u16(0x100),
    Buffer.alloc(10),
    matrix,
    u32(0, 0, 0, 0, 0, 0, 2),
  );
  const tkhd = box(
    'tkhd',
    u32(3, 0, 0, 1, 0, seconds * 1000, 0, 0, 0, 0),
    matrix,
    u32(width * 65_536, height * 65_536),
  );
  const hdlr = box('hdlr', u32(0, 0), Buffer.from(handler), u32(0, 0, 0), Buffer.alloc(1));
  const stsd = box('stsd', u32(0, 1), box('avc1', Buffer.alloc(78)));
  const stbl = box('stbl', stsd, box('stsz', u32(0, 2, frames)), box('stco', u32(0, 1, offset)));
  const trak = box('trak', tkhd, box('mdia', hdlr, box('minf', stbl)));
  return Buffer.concat([begin, box('mdat', data), box('moov', mvhd, trak, ...more)]);
}
