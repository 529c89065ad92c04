const [NEWLINE, QUOTE] = [0x0a, 0x22];
const CRLF = Buffer.from('\r\n');

/** Told of rows that have passed. */
export type OnRows = (rows: number) => void;

/**
 * What COPY writes as CSV, with the ends of its lines as RFC 4180 has them: CR LF. Line ends within quotes are text and
 * stay. `onRows` counts lines, the head among them.
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

/** Where the next line end is; the length when there is none. */
function nextLine(chunk: Buffer, from: number): number {
  const at = chunk.indexOf(NEWLINE, from);
  return at < 0 ? chunk.length : at;
}

/** What COPY writes as text, as it is: one line a row, for line ends of texts are written `\n`. */
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
