import sharp from 'sharp';
import { makeXlsx } from '../../../test/support/files/archive.ts';
import { box, makeMp4 } from '../../../test/support/files/mp4.ts';
import { type Attack, type Ground, MEANS, withinLine } from '../attack.ts';
import { PG, requestsAt, type Wire } from '../requests.ts';
import { headOf, socketsOf } from '../sockets.ts';
import { formAround } from '../upload.ts';

const MIB = 1024 * 1024;
const CONTACTS = `${PG}/contacts/upload`;
const MEDIA = `${PG}/media`;
/** Uploads that one tenant has under way at a time, from several programs. */
const AT_ONCE = 8;

const upload = ({ tenant }: Ground, path: string, fileName: string, content: Buffer | string): Wire => {
  const { type, begin, end } = formAround(fileName);
  const body = Buffer.concat([Buffer.from(begin), Buffer.from(content), Buffer.from(end)]);
  return { method: 'POST', path, headers: { 'x-api-key': tenant.apiKey, 'content-type': type }, body };
};

type File = {
  readonly path: string;
  readonly fileName: string;
  readonly make: () => Buffer | string | Promise<Buffer>;
};

/** Uploads of one hostile file, again and again. */
const files = (name: string, { path, fileName, make }: File, more: Pick<Attack, 'tiny'> = {}): Attack => ({
  name,
  player: 'trial tenant',
  ...more,
  async prepare(ground) {
    const wire = upload(ground, path, fileName, await make());
    const bytes = wire.body?.length ?? 0;
    return requestsAt(withinLine(MEANS.trialPerSecond, bytes), () => () => wire, { atOnce: AT_ONCE })(ground);
  },
});

const sheets = (make: () => Buffer): File => ({ path: CONTACTS, fileName: 'a.xlsx', make });
const tables = (make: () => string): File => ({ path: CONTACTS, fileName: 'a.csv', make });
const cards = (make: () => string): File => ({ path: `${CONTACTS}/vcard`, fileName: 'a.vcf', make });
const pictures = (fileName: string, make: () => Buffer | Promise<Buffer>): File => ({ path: MEDIA, fileName, make });

const CELL = '<row><c t="str"><v>phone</v></c></row><row><c><v>393331234567</v></c></row>';
const png = (side: number) => () =>
  sharp({ create: { width: side, height: side, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();

/** A GIF with this many frames, which compress to almost nothing. */
function gif(side: number, frames: number): Buffer {
  const size = [side & 255, side >> 8, side & 255, side >> 8];
  const head = [...Buffer.from('GIF89a'), ...size, 0x80, 0, 0, 0, 0, 0, 255, 0, 0];
  const frame = [0x21, 0xf9, 4, 4, 5, 0, 0, 0, 0x2c, 0, 0, 0, 0, ...size, 0, 2, 2, 0x4c, 1, 0];
  return Buffer.concat([Buffer.from(head), Buffer.alloc(frames * frame.length, Buffer.from(frame)), Buffer.from(';')]);
}

const rows = (count: number): string =>
  `phoneNumber,fullName\n${Array.from({ length: count }, (_, i) => `+3933${String(i).padStart(8, '0')},N ${i}\n`).join('')}`;

/** Files that cost more than they weigh. */
export const FILE_ATTACKS: readonly Attack[] = [
  files(
    'sheets that unpack to 60 MiB',
    sheets(() => makeXlsx(CELL, { more: [{ name: 'bomb', content: Buffer.alloc(60 * MIB, 0x20) }] })),
  ),
  files(
    'sheets of 400,000 rows',
    sheets(() => makeXlsx('<row><c t="str"><v>x</v></c></row>'.repeat(400_000))),
    { tiny: true },
  ),
  files(
    'sheets with elements a million deep',
    sheets(() => makeXlsx('<a>'.repeat(1_000_000))),
  ),
  files(
    'sheets with entities of entities',
    sheets(() => makeXlsx(`<!DOCTYPE x [<!ENTITY a "${'&b;'.repeat(100_000)}">]>${CELL}`)),
  ),
  files(
    'tables with a row of five million characters',
    tables(() => `phone\n${'x'.repeat(5_000_000)}\n`),
  ),
  files(
    'tables with a quote that is never closed',
    tables(() => `phone\n"${'x,y\n'.repeat(1_000_000)}`),
    { tiny: true },
  ),
  files(
    'tables with a million columns',
    tables(() => `phone${','.repeat(1_000_000)}\n+393331234567\n`),
  ),
  files(
    'cards in cards',
    cards(() => 'BEGIN:VCARD\n'.repeat(200_000)),
  ),
  files(
    'cards with one folded line',
    cards(() => `BEGIN:VCARD\nFN:x\n${' x\n'.repeat(1_000_000)}`),
  ),
  {
    name: 'imports of 20,000 rows',
    player: 'production tenant',
    tiny: true,
    prepare: requestsAt(
      withinLine(MEANS.productionPerSecond, 600_000),
      (ground) => {
        const wire = upload(ground, CONTACTS, 'a.csv', rows(20_000));
        return () => wire;
      },
      { atOnce: AT_ONCE },
    ),
  },
  files('pictures of 25 million pixels', pictures('a.png', png(5000)), { tiny: true }),
  files('pictures of 144 million pixels', pictures('a.png', png(12_000))),
  files(
    'pictures of a hundred thousand frames',
    pictures('a.gif', () => gif(5, 100_000)),
  ),
  files(
    'pictures of two hundred large frames',
    pictures('a.gif', () => gif(1000, 200)),
  ),
  files(
    'videos of half a million boxes',
    pictures('a.mp4', () => Buffer.concat([makeMp4(), Buffer.alloc(4_000_000, box('free'))])),
  ),
  {
    name: 'dripping uploads',
    player: 'trial tenant',
    tiny: true,
    prepare: socketsOf({
      count: 50,
      perSecond: 50,
      first: ({ tenant }) => {
        const { type, begin } = formAround('a.csv');
        return `${headOf('POST', CONTACTS, 1_000_000, { 'x-api-key': tenant.apiKey, 'content-type': type })}${begin}`;
      },
      drip: { everyMs: 1000, octets: 'x' },
    }),
  },
];
