import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { makeZip } from '../../test/support/files/archive.ts';
import { makeMp4 } from '../../test/support/files/mp4.ts';
import { inspectInProcess } from './decoder.ts';
import type { Claim } from './inspect.ts';

const NO_CLAIM = { fileName: '', contentType: 'application/octet-stream' };
const plain = { create: { width: 640, height: 320, channels: 3, background: 'teal' } } as const;
const JPEG = await sharp(plain).jpeg().toBuffer();
const PNG = await sharp(plain).png().toBuffer();
const GIF = await sharp(plain).gif().toBuffer();
const SCRIPT = Buffer.from('<script>alert(1)</script>');

/** Inspects as uploads do, in the process of the decoders; `bytes` would be stored. */
async function inspect(sent: Buffer, claim: Claim) {
  const { reencoded, ...facts } = await inspectInProcess(sent, claim);
  return { ...facts, bytes: reencoded ?? sent };
}

async function refusal(bytes: Buffer, claim = NO_CLAIM): Promise<string> {
  const answer = await inspect(bytes, claim).catch((error: unknown) => error);
  expect(answer).toMatchObject({ details: [{ field: 'file' }] });
  return answer instanceof Error ? answer.message : '';
}

describe('pictures', () => {
  test.each([
    ['image/jpeg', JPEG],
    ['image/png', PNG],
    ['image/gif', GIF],
  ])('%s is measured and gets a thumbnail', async (mimeType, bytes) => {
    const made = await inspect(bytes, NO_CLAIM);
    expect(made).toMatchObject({ mimeType, width: 640, height: 320, durationSeconds: null });
    expect(await sharp(made.thumbnail ?? Buffer.alloc(0)).metadata()).toMatchObject({
      format: 'jpeg',
      width: 320,
      height: 160,
    });
  });

  test('a picture is re-encoded upright, without camera metadata', async () => {
    const exif = { IFD0: { Copyright: 'somebody', ImageDescription: 'a secret place' } };
    const turned = await sharp(plain).withExif(exif).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    expect(turned.includes('a secret place')).toBe(true);
    const { bytes, width, height } = await inspect(turned, NO_CLAIM);
    expect([width, height]).toEqual([320, 640]);
    expect(bytes.includes('a secret place')).toBe(false);
    expect((await sharp(bytes).metadata()).orientation).toBeUndefined();
  });

  test('an animation keeps its frames, their durations and its number of loops', async () => {
    const frames = await Promise.all(
      ['red', 'green', 'blue'].map((background) =>
        sharp({ create: { ...plain.create, background } })
          .png()
          .toBuffer(),
      ),
    );
    const animation = await sharp(frames, { join: { animated: true } })
      .gif({ delay: [100, 200, 300], loop: 2 })
      .toBuffer();
    const { bytes, width, height } = await inspect(animation, NO_CLAIM);
    expect([width, height]).toEqual([640, 320]);
    expect(await sharp(bytes, { animated: true }).metadata()).toMatchObject({
      pages: 3,
      delay: [100, 200, 300],
      loop: 2,
    });
  });

  test('data hidden behind a JPEG is removed', async () => {
    const { bytes } = await inspect(Buffer.concat([JPEG, Buffer.from('a tail of a phone')]), NO_CLAIM);
    expect(bytes.includes('a tail of a phone')).toBe(false);
  });

  test('a JPEG that grows when re-encoded gets a lower quality', async () => {
    const noise = {
      ...plain.create,
      width: 4000,
      height: 2600,
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    } as const;
    const grainy = await sharp({ create: noise }).jpeg({ quality: 50 }).toBuffer();
    const { bytes } = await inspect(grainy, NO_CLAIM);
    expect(bytes.length).toBeLessThanOrEqual(5 * 1024 * 1024);
  });
});

describe('videos', () => {
  test('a video stays as it is', async () => {
    const mp4 = makeMp4();
    const found = await inspect(mp4, { fileName: 'a.mp4', contentType: 'video/mp4' });
    expect(found).toMatchObject({
      mimeType: 'video/mp4',
      width: 320,
      height: 240,
      durationSeconds: 2,
      thumbnail: null,
    });
    expect(found.bytes.equals(mp4)).toBe(true);
  });
});

const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
const OTHERS: [what: string, bytes: Buffer][] = [
  ['nothing', Buffer.alloc(0)],
  ['a text', Buffer.from('hello')],
  ['SVG', Buffer.from(SVG)],
  ['SVG that says it is XML', Buffer.from(`<?xml version="1.0"?>\n<!DOCTYPE svg>\n${SVG}`)],
  ['HTML', Buffer.from('<!doctype html><script>alert(1)</script>')],
  ['PDF', Buffer.from('%PDF-1.7\n')],
  ['WebP', await sharp(plain).webp().toBuffer()],
  ['TIFF', await sharp(plain).tiff().toBuffer()],
  [
    'AVIF',
    await sharp({ create: { ...plain.create, width: 16, height: 16 } })
      .avif()
      .toBuffer(),
  ],
  ['a QuickTime film', Buffer.from('\0\0\0\x14ftypqt  \0\0\0\0qt  ', 'latin1')],
  ['a ZIP', makeZip([{ name: 'a', content: Buffer.from('x') }])],
];
test.each(OTHERS)('%s is rejected', async (_, bytes) => {
  expect(await refusal(bytes)).toMatch(/must be JPEG, PNG, GIF or MP4|is empty/);
});

const MISMATCHED: [bytes: Buffer, fileName: string, contentType: string][] = [
  [JPEG, 'a.png', ''],
  [PNG, 'a.svg', ''],
  [PNG, 'a.html', ''],
  [GIF, 'a.jpg.php', ''],
  [GIF, '', 'image/png'],
  [JPEG, 'a.jpg', 'text/html'],
  [makeMp4(), 'a.gif', ''],
  [PNG, '', 'image/svg+xml; charset=utf-8'],
];
test.each(MISMATCHED)(
  'a name or a type that contradicts the content is rejected (%#)',
  async (bytes, fileName, contentType) => {
    expect(await refusal(bytes, { fileName, contentType })).toContain('but its content is');
  },
);

const FITTING: [bytes: Buffer, fileName: string, contentType: string][] = [
  [JPEG, 'A Photo.JPEG', 'image/jpeg'],
  [JPEG, 'photo', 'image/pjpeg'],
  [PNG, 'shot 2026.09.01', 'application/octet-stream'],
  [GIF, 'a.gif', 'IMAGE/GIF'],
];
test.each(FITTING)('a matching name and type are accepted (%#)', async (bytes, fileName, contentType) => {
  expect(await inspect(bytes, { fileName, contentType })).toMatchObject({ width: 640 });
});

const zip = makeZip([{ name: 'a.class', content: Buffer.from('x') }]);
const inside = (mark: string): Buffer => makeMp4({ data: Buffer.from(mark, 'latin1') });
const POLYGLOTS: [what: string, bytes: Buffer][] = [
  ['a GIF and a script', Buffer.concat([GIF, SCRIPT])],
  ['a GIF and data after its end', Buffer.concat([GIF, Buffer.from('=1;alert(1)')])],
  ['a PNG and data after its end', Buffer.concat([PNG, Buffer.from('more')])],
  ['a JPEG and a ZIP', Buffer.concat([JPEG, zip])],
  [
    'a JPEG and HTML in its notes',
    await sharp(plain)
      .withExif({ IFD0: { Copyright: '<html ><body >' } })
      .jpeg()
      .toBuffer(),
  ],
  ['a JPEG and PHP', Buffer.concat([JPEG, Buffer.from('<?php system($_GET[0]); ?>')])],
  ['a JPEG and a RAR', Buffer.concat([JPEG, Buffer.from('Rar!\x1a\x07\x01\0', 'latin1')])],
  ['a JPEG and a PDF', Buffer.concat([JPEG.subarray(0, 20), Buffer.from('%PDF-1.4'), JPEG.subarray(20)])],
  ['a video and a page', inside('<SCRIPT src=x></SCRIPT>')],
  ['a video and SVG', inside('<svg onload=alert(1) xmlns="http://www.w3.org/2000/svg">')],
  ['a video and a 7z', inside('7z\xbc\xaf\x27\x1c')],
  ['a video and a ZIP', makeMp4({ data: zip })],
];
test.each(POLYGLOTS)('%s at once is rejected', async (_, bytes) => {
  expect(await refusal(bytes)).toContain('is both');
});

/** Pixels of one colour, which a GIF packs into nothing; `frames` of them. */
function bomb(width: number, height: number, frames: number): Buffer {
  const side = (n: number): number[] => [n & 255, n >> 8];
  const head = [...side(width), ...side(height), 0x80, 0, 0, 0, 0, 0, 255, 0, 0];
  const frame = [0x21, 0xf9, 4, 4, 5, 0, 0, 0, 0x2c, 0, 0, 0, 0, ...side(width), ...side(height), 0, 2, 2, 0x4c, 1, 0];
  return Buffer.concat([
    Buffer.from('GIF89a'),
    Buffer.from(head),
    Buffer.alloc(frames * frame.length, Buffer.from(frame)),
    Buffer.from(';'),
  ]);
}

const BOMBS: [what: string, bytes: Buffer][] = [
  [
    'of 144 million pixels',
    await sharp({ create: { ...plain.create, width: 12_000, height: 12_000 } })
      .png()
      .toBuffer(),
  ],
  ['of a billion pixels that are not there', bomb(32_000, 32_000, 1)],
  ['of a thousand frames of a million', bomb(1000, 1000, 1000)],
  ['of twenty thousand frames', bomb(10, 10, 20_000)],
];
test.each(BOMBS)('a picture %s is rejected before it is unpacked', async (_, bytes) => {
  const before = process.memoryUsage.rss();
  expect(await refusal(bytes)).toMatch(/pixel limit|at most 1000 frames/);
  expect(process.memoryUsage.rss() - before).toBeLessThan(100 * 1024 * 1024);
});

test('a picture or a video with more bytes than its kind may have is 413', async () => {
  for (const bytes of [
    Buffer.concat([JPEG, Buffer.alloc(5 * 1024 * 1024)]),
    makeMp4({ data: Buffer.alloc(16 * 1024 * 1024) }),
  ])
    await expect(inspect(bytes, NO_CLAIM)).rejects.toMatchObject({ status: 413 });
});

test('a truncated picture is rejected', async () => {
  for (const bytes of [JPEG, PNG, GIF])
    expect(await refusal(bytes.subarray(0, bytes.length / 2))).toContain('cannot be read');
});
