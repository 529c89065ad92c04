import type { Db } from '../../../platform/db/query.ts';
import { csvLine } from '../../../platform/lib/csv.ts';
import { type ImportRow, listRejects, type Reject } from './sql.ts';

const ROWS_PER_PIECE = 500;

/**
 * Yields the rejected rows as CSV, in pieces: the columns of the file, the line of each row, and its faults. Once
 * corrected, this can be imported as the next file.
 */
export async function* rejectsCsv(
  db: Db,
  { accountId, id: importId, columns }: Pick<ImportRow, 'accountId' | 'id' | 'columns'>,
): AsyncGenerator<string> {
  yield csvLine([...columns.map(({ name }) => name), 'importLine', 'importError']);
  let afterLine = -1;
  for (;;) {
    const rows = await listRejects(db, { accountId, importId, afterLine, limit: ROWS_PER_PIECE });
    if (rows.length === 0) return;
    yield rows.map((row) => lineOf(row, columns.length)).join('');
    afterLine = rows.at(-1)?.line ?? afterLine;
  }
}

/** Makes a line of the CSV. The row may have fewer cells than there are columns, or more. */
function lineOf({ line, faults, cells }: Reject, columns: number): string {
  const own = Array.from({ length: columns }, (_, i) => cells[i] ?? '');
  return csvLine([...own, String(line), faults.map(({ field, message }) => `${field} ${message}`).join('; ')]);
}
