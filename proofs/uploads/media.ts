import sharp from 'sharp';
import { makeXlsx, makeZip } from '../../test/support/files/archive.ts';
import { box, makeMp4 } from '../../test/support/files/mp4.ts';
import { between, type RandomSource, oneOf, type Run } from '../lib/proof.ts';
import type { Hostile } from './files.ts';
import { formAround } from './send.ts';

const PATH = '/api/partner-gateway/v1/media';
const MIB = 1024 * 1024;
const SCRIPT = '<script>alert(1)</script>';
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">${SCRIPT}</svg>`;

function media(name: string, fileName: string, octets: Buffer | string, maybeRight = false): Hostile {
  const { type, begin, end } = formAround(fileName);
  return { name, path: PATH, type, body: () => [begin, octets, end], maybeValid: maybeRight };
}

const plain = (width = 64, height = 32) => sharp({ create: { width, height, channels: 3, background: 'teal' } });
const joined = (...parts: readonly (Buffer | string)[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part)));

/** A GIF with this many frames, which compress to almost nothing. */
function gif(width: number, height: number, frames: number): Buffer {
  const side = (n: number): number[] => [n & 255, n >> 8];
  const head = [...side(width), ...side(height), 0x80, 0, 0, 0, 0, 0, 255, 0, 0];
  const frame = [0x21, 0xf9, 4, 4, 5, 0, 0, 0, 0x2c, 0, 0, 0, 0, ...side(width), ...side(height), 0, 2, 2, 0x4c, 1, 0];
  return joined('GIF89a', Buffer.from(head), Buffer.alloc(frames * frame.length, Buffer.from(frame)), ';');
}

/** A PNG that claims this size and holds the data of a small one. */
function withFalseSize(png: Buffer, side: number): Buffer {
  const octets = Buffer.from(png);
  octets.writeUInt32BE(side, 16);
  octets.writeUInt32BE(side, 20);
  return octets;
}

type Pictures = { readonly jpeg: Buffer; readonly png: Buffer; readonly gif: Buffer; readonly mp4: Buffer };

async function drawPictures(): Promise<Pictures> {
  const [jpeg, png] = await Promise.all([plain().jpeg().toBuffer(), plain().png().toBuffer()]);
  return { jpeg, png, gif: gif(64, 32, 2), mp4: makeMp4() };
}

const otherTypes = ({ jpeg, png }: Pictures): Hostile[] => [
  media('SVG', 'a.svg', SVG),
  media('SVG named PNG', 'a.png', SVG),
  media('SVG as XML', 'a.jpg', `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>${SVG}`),
  media('an HTML page', 'a.gif', `<!doctype html>${SCRIPT}`),
  media('an HTML page that begins like a GIF', 'a.gif', `GIF89a${SCRIPT}`),
  media('PostScript', 'a.jpg', '%!PS\n/etc/passwd (r) file'),
  media('a playlist', 'a.mp4', '#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\nfile:///etc/passwd\n'),
  media(
    'MVG',
    'a.png',
    'push graphic-context\nimage over 0,0 0,0 "https://127.0.0.1/x.php?x=`id`"\npop graphic-context',
  ),
  media('a workbook', 'a.png', makeXlsx('')),
  media('a JPEG named PNG', 'a.png', jpeg),
  media('a PNG named HTML', 'a.html', png),
  media('nothing', 'a.png', ''),
];

const polyglots = ({ jpeg, png, gif: small, mp4 }: Pictures): Hostile[] => [
  media('a GIF and a script', 'a.gif', joined(small, `/*${SCRIPT}*/`)),
  media('a GIF whose size opens a comment', 'a.gif', joined('GIF89a/*', small.subarray(8), '*/=1;alert(1)')),
  media('a PNG and PHP', 'a.png', joined(png, '<?php system($_GET[0]);')),
  media('a PNG with a tail', 'a.png', joined(png, 'alert(1)')),
  media('a JPEG and an archive', 'a.jpg', joined(jpeg, makeZip([{ name: 'a.class', octets: Buffer.from('x') }]))),
  media('a JPEG and a PDF', 'a.jpg', joined(jpeg.subarray(0, 20), '%PDF-1.4', jpeg.subarray(20))),
  media('a JPEG and a page', 'a.jpg', joined(jpeg, `<html ><body >${SCRIPT}`)),
  media('a video and a page', 'a.mp4', makeMp4({ data: Buffer.from(SCRIPT) })),
  media('a video and SVG', 'a.mp4', joined(mp4, box('free', Buffer.from(SVG)))),
  media('a video with a tail', 'a.mp4', joined(mp4, 'alert(1)')),
  media('a video of unknown boxes', 'a.mp4', joined(mp4, box('evil', Buffer.alloc(100)))),
];

const bombs = async ({ png }: Pictures): Promise<Hostile[]> => [
  media('a PNG of 144 million pixels', 'a.png', await plain(12_000, 12_000).png().toBuffer()),
  media('a JPEG of 144 million pixels', 'a.jpg', await plain(12_000, 12_000).jpeg({ quality: 1 }).toBuffer()),
  media('a GIF of a billion pixels', 'a.gif', gif(32_000, 32_000, 1)),
  media('a GIF of a thousand frames of a million pixels', 'a.gif', gif(1000, 1000, 1000)),
  media('a GIF of two hundred thousand frames', 'a.gif', gif(5, 5, 200_000)),
  media('a PNG that claims four billion columns', 'a.png', withFalseSize(png, 0xffff_ffff)),
  media('a PNG that claims to be larger than it is', 'a.png', withFalseSize(png, 4000)),
  media('a picture beyond 5 MiB', 'a.png', joined(png, Buffer.alloc(6 * MIB))),
  media('a video beyond 16 MiB', 'a.mp4', makeMp4({ data: Buffer.alloc(17 * MIB) })),
  media('a video of a million boxes', 'a.mp4', joined(makeMp4(), Buffer.alloc(8 * 1_000_000, box('free')))),
  media('a video within a video within …', 'a.mp4', makeMp4({ more: [nested(100_000)] }), true),
];

/** Boxes nested in boxes. */
function nested(depth: number): Buffer {
  const octets = Buffer.alloc(8 * depth);
  for (let i = 0; i < depth; i++) {
    octets.writeUInt32BE(8 * (depth - i), 8 * i);
    octets.write('trak', 8 * i + 4);
  }
  return octets;
}

/**
 * Returns hostile pictures and videos: files of other types, files of two types at once, files that are far larger than
 * they seem (not in `tiny`), and this many corrupted ones.
 */
export async function hostileMedia(run: Pick<Run, 'mode' | 'random'>, corruptedFiles: number): Promise<Hostile[]> {
  const pictures = await drawPictures();
  const large = run.mode === 'tiny' ? [] : await bombs(pictures);
  const corrupted = Array.from({ length: corruptedFiles }, () => corruptedMedia(run, pictures));
  return [...otherTypes(pictures), ...polyglots(pictures), ...large, ...corrupted];
}

/** A valid file with changed bytes, or cut short. */
function corruptedMedia(run: RandomSource, pictures: Pictures): Hostile {
  const [name, octets] = oneOf(run, Object.entries(pictures));
  const changed = Buffer.from(octets);
  for (let i = between(run, 1, 8); i > 0; i--) changed[between(run, 0, changed.length - 1)] = between(run, 0, 255);
  const cut = run.random.chance(0.3) ? changed.subarray(0, between(run, 0, changed.length)) : changed;
  return media(`a corrupted ${name}`, `a.${name}`, cut, true);
}
