import { fc, test as property } from '@fast-check/vitest';
import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { readCopyText } from './sheet-rows.ts';
import { countLines, toCrlf } from './write.ts';

const cell = fc.string({ unit: fc.constantFrom('a', '"', '\n', '\r', ',', '\t', '\\', 'ü', '𝄞') });
const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }), { minLength: 1, maxLength: 20 });

/** Writes CSV as COPY does. */
const quoted = (text: string): string =>
  /[",\r\n]/.test(text) || text === '' ? `"${text.replaceAll('"', '""')}"` : text;
const escaped = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');

/** Splits the text into chunks that end anywhere. */
async function* pieces(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function collect(chunks: AsyncIterable<Buffer>): Promise<string> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all).toString();
}

property.prop([table, fc.integer({ min: 1, max: 40 })])(
  'lines end as RFC 4180 has it, cells stay as they are, every row is counted',
  async (rows, size) => {
    let counted = 0;
    const count = (n: number): void => void (counted += n);
    const lines = rows.map((cells) => cells.map(quoted).join(','));
    const written = await collect(toCrlf(count)(pieces(`${lines.join('\n')}\n`, size)));
    expect(written).toBe(`${lines.join('\r\n')}\r\n`);
    expect(parse(written)).toEqual(rows);
    expect(counted).toBe(rows.length);
  },
);

property.prop([table, fc.integer({ min: 1, max: 40 })])(
  'rows that are written for a workbook are read again as they were',
  async (rows, size) => {
    let counted = 0;
    const count = (n: number): void => void (counted += n);
    const text = rows.map((cells) => `${cells.map(escaped).join('\t')}\n`).join('');
    const read: unknown[] = [];
    for await (const row of readCopyText(countLines(count)(pieces(text, size)), [])) read.push(row);
    expect(read).toEqual(rows);
    expect(counted).toBe(rows.length);
  },
);

test('NULL, numbers and characters that XML forbids become proper cells', async () => {
  const read: unknown[] = [];
  for await (const row of readCopyText(pieces('\\N\t-1.5\t\\N\ta\u0001\u0085\ufffeb\t\n', 3), [false, true, true]))
    read.push(row);
  expect(read).toEqual([[null, -1.5, null, 'a\ufffd\ufffd\ufffdb', '']]);
});
