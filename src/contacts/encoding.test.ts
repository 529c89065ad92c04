import { expect, test } from 'vitest';
import { decoded, detectEncoding, type Bytes } from './import-encoding.ts';

/** Splits the bytes into chunks of this size, so that characters are cut. */
const inChunks = (bytes: Buffer, size: number): Bytes =>
  async function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  };
const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'utf8') : Buffer.from(part))));
const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16();

const TEXT = 'name;città\nŻółć;€ 𝄞\n';
const FILES: [what: string, bytes: Buffer, encoding: string, text: string][] = [
  ['ASCII', bytes('a,b\n'), 'utf-8', 'a,b\n'],
  ['UTF-8', bytes(TEXT), 'utf-8', TEXT],
  ['UTF-8 with a mark', bytes([0xef, 0xbb, 0xbf], TEXT), 'utf-8', TEXT],
  ['UTF-16 LE with a mark', Buffer.from(`\ufeff${TEXT}`, 'utf16le'), 'utf-16le', TEXT],
  ['UTF-16 BE with a mark', utf16be(`\ufeff${TEXT}`), 'utf-16be', TEXT],
  ['UTF-16 LE without one', Buffer.from('name;age\nanna;7\n', 'utf16le'), 'utf-16le', 'name;age\nanna;7\n'],
  ['UTF-16 BE without one', utf16be('name;age\nanna;7\n'), 'utf-16be', 'name;age\nanna;7\n'],
  ['Latin-1', Buffer.from('citt\xe0;Andr\xe9\n', 'latin1'), 'windows-1252', 'città;André\n'],
  ['Windows-1252', Buffer.from('\x80 5 \x93x\x94\n', 'latin1'), 'windows-1252', '€ 5 “x”\n'],
];

test.each(FILES)('%s is detected from the content and read, wherever it is split', async (_, bytes, encoding, text) => {
  // In shorter chunks UTF-16 cannot be recognised by its zeros.
  for (const size of [16, 17, 1000]) {
    const source = inChunks(bytes, size);
    expect(await detectEncoding(source)).toBe(encoding);
    const read = await Array.fromAsync(decoded(source, await detectEncoding(source)));
    expect(read.join('')).toBe(text);
  }
});

test('a file that mixes UTF-8 with another encoding is refused with the line, wherever it is split', async () => {
  const mixed = bytes('name\ncittà\nRossi\nAndr', [0xe9], '\nŻ\n');
  for (const size of [1, 3, 7, 1000])
    await expect(detectEncoding(inChunks(mixed, size))).rejects.toThrow(
      'mixes UTF-8 with another encoding, first in line 4',
    );
  await expect(detectEncoding(inChunks(bytes('città\n', [0xe9]), 1000))).rejects.toThrow('first in line 2');
});

test.each([
  ['a form that is too long', [0xc0, 0xaf]],
  ['half of a surrogate pair', [0xed, 0xa0, 0x80]],
  ['beyond Unicode', [0xf5, 0x80, 0x80, 0x80]],
])('bytes that only look like UTF-8 are none: %s', async (_, ending) => {
  expect(await detectEncoding(inChunks(bytes('a', ending, 'b\n'), 100))).toBe('windows-1252');
});

test('a file with zeros anywhere is not a text file', async () => {
  const picture = bytes('PNG', [0, 0, 0, 13, 0, 7, 7, 0]);
  await expect(detectEncoding(inChunks(picture, 100))).rejects.toThrow('is not a text file');
});
