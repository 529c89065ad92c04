const [NEWLINE, QUOTE] = [0x0a, 0x22];
const CRLF = Buffer.from('\r\n');

/** Called with the number of rows that have passed since the last call. */
export type OnRows = (rows: number) => void;

/**
 * Makes a transform that gives the CSV of COPY the line ends of RFC 4180: CR LF. Line ends within quotes are text and
 * stay as they are. `onRows` counts lines, including the header.
 */
export function toCrlf(onRows: OnRows) {
  return async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let inQuotes = false;
    for await (const chunk of source) {
      const pieces: Buffer[] = [];
      let from = 0;
      let quote = chunk.indexOf(QUOTE);
      for (let end = nextLine(chunk, 0); end < chunk.length; end = nextLine(chunk, end + 1)) {
        for (; quote >= 0 && quote < end; quote = chunk.indexOf(QUOTE, quote + 1)) inQuotes = !inQuotes;
        if (inQuotes) continue;
        pieces.push(chunk.subarray(from, end), CRLF);
        from = end + 1;
      }
      for (; quote >= 0; quote = chunk.indexOf(QUOTE, quote + 1)) inQuotes = !inQuotes;
      onRows(pieces.length / 2);
      yield Buffer.concat([...pieces, chunk.subarray(from)]);
    }
  };
}

/** Returns the position of the next line end, or the length of the chunk when there is none. */
function nextLine(chunk: Buffer, from: number): number {
  const at = chunk.indexOf(NEWLINE, from);
  return at < 0 ? chunk.length : at;
}

/**
 * Makes a transform that passes the text format of COPY on unchanged and counts its rows: one line per row, because
 * COPY writes line ends within texts as `\n`.
 */
export function countLines(onRows: OnRows) {
  return async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      let rows = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, end + 1)) rows++;
      onRows(rows);
      yield chunk;
    }
  };
}
