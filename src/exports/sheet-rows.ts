import { StringDecoder } from 'node:string_decoder';

type Cell = string | number | null;

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };
/** Characters that XML 1.0 cannot contain, and other control characters, which do not belong in a cell. */
const CONTROLS = /[[\p{Cc}\ufffe\uffff]--[\t\n\r]]/gv;
/** The limit of Excel. */
const MAX_CELL_LENGTH = 32_767;

/** Parses the text format of COPY into the cells of a sheet. `numbers` marks the columns that hold numbers. */
export async function* readCopyText(
  source: AsyncIterable<Uint8Array>,
  numbers: readonly boolean[],
): AsyncGenerator<Cell[]> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of source) {
    const lines = (rest + decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield line.split('\t').map((cell, i) => toCell(cell, numbers[i] === true));
  }
}

function toCell(written: string, isNumber: boolean): Cell {
  if (written === '\\N') return null;
  if (isNumber) return Number(written);
  const text = written.includes('\\')
    ? written.replace(/\\(.)/g, (_, letter: string) => ESCAPES[letter] ?? letter)
    : written;
  return text.replace(CONTROLS, '\ufffd').slice(0, MAX_CELL_LENGTH);
}
