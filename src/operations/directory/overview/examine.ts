import { createPool } from '../../../platform/db/pool.ts';
import { endsWithin } from '../../../platform/lib/background/ends-within.ts';
import { silentLog } from '../../../platform/lib/log.ts';
import { type CellFigures, findCellFigures } from './sql.ts';

/** What there is to say about one cell; figures are null when it does not answer. */
export type CellState = Partial<Pick<CellFigures, 'accounts' | 'waiting' | 'connectionsDown'>> & {
  readonly cell: number;
  readonly ok: boolean;
  /** What is wrong, as sentences. */
  readonly faults: readonly string[];
};

const ANSWER_MS = 5000;

/** Asks the databases of all cells at once. A cell is compared with the first one that answers. */
export async function examineCells(databases: ReadonlyMap<number, string>): Promise<CellState[]> {
  const all = await Promise.all(
    [...databases].map(async ([cell, url]) => ({
      cell,
      answer: await askCell(url).catch((error: unknown) => String(error)),
    })),
  );
  const model = all.find(({ answer }) => typeof answer !== 'string');
  return all.map(({ cell, answer }) => {
    if (typeof answer === 'string') return { cell, ok: false, faults: [`does not answer: ${answer}`] };
    const { number, network, accounts, waiting, connectionsDown } = answer;
    const faults: string[] = [];
    if (number === null) faults.push('has never been started');
    else if (number !== cell) faults.push(`is the database of cell ${number}: correct CELL_DATABASES`);
    if (typeof model?.answer === 'object' && model.answer.network !== network)
      faults.push(`has other connections, routes or prices than cell ${model.cell}`);
    if (connectionsDown > 0) faults.push(`has ${connectionsDown} connections down`);
    return { cell, ok: faults.length === 0, faults, accounts, waiting, connectionsDown };
  });
}

async function askCell(url: string): Promise<CellFigures> {
  const pool = createPool(url, { max: 1, applicationName: 'heliograph command', log: silentLog });
  try {
    const figures = findCellFigures(pool);
    if (!(await endsWithin(figures, ANSWER_MS))) throw new Error(`no answer within ${ANSWER_MS / 1000} s`);
    return await figures;
  } finally {
    // Not awaited: a session with a server that is away may not end for minutes.
    void pool.end();
  }
}
