import { createPool } from '../../../platform/db/pool.ts';
import { serversOf } from '../../../platform/db/servers.ts';
import { endsWithin } from '../../../platform/lib/background/ends-within.ts';
import { silentLog } from '../../../platform/lib/log.ts';
import { type CellFigures, findCellFigures, listNames } from './sql.ts';

/** What there is to say about one cell; figures are null when it does not answer. */
export type CellState = Partial<Pick<CellFigures, 'accounts' | 'waiting' | 'connectionsDown'>> & {
  readonly cell: number;
  readonly ok: boolean;
  /** What is wrong, as sentences. */
  readonly faults: readonly string[];
};

const ANSWER_MS = 5000;
const MAX_NAMED = 5;

/**
 * Asks the databases of all cells at once. A cell is compared with the first one that answers; names with which people sign in
 * are compared with those of all cells before it.
 */
export async function examineCells(databases: ReadonlyMap<number, string>): Promise<CellState[]> {
  const cellOfName = new Map<string, number>();
  const all = await Promise.all(
    [...databases].map(async ([cell, url]) => ({
      cell,
      answer: await askCell(url).catch((error: unknown) => String(error)),
    })),
  );
  const model = all.find(({ answer }) => typeof answer !== 'string');
  return all.map(({ cell, answer }) => {
    if (typeof answer === 'string') return { cell, ok: false, faults: [`does not answer: ${answer}`] };
    const { number, network, accounts, waiting, connectionsDown, names } = answer;
    const faults: string[] = [];
    if (number === null) faults.push('has never been started');
    else if (number !== cell) faults.push(`is the database of cell ${number}: correct CELL_DATABASES`);
    if (typeof model?.answer === 'object' && model.answer.network !== network)
      faults.push(`has other connections, routes or prices than cell ${model.cell}`);
    for (const other of takeNames(cellOfName, cell, names)) faults.push(other);
    if (connectionsDown > 0) faults.push(`has ${connectionsDown} connections down`);
    return { cell, ok: faults.length === 0, faults, accounts, waiting, connectionsDown };
  });
}

/** Notes the names of a cell. Returns, as sentences, which of them an earlier cell has: the directory finds one of the two. */
function takeNames(cellOfName: Map<string, number>, cell: number, names: readonly string[]): string[] {
  const twice = Map.groupBy(
    names.filter((name) => cellOfName.has(name)),
    (name) => cellOfName.get(name),
  );
  for (const name of names) if (!cellOfName.has(name)) cellOfName.set(name, cell);
  return [...twice].map(
    ([other, some]) =>
      `has names that cell ${other} has too: rename ${some.slice(0, MAX_NAMED).join(', ')}${some.length > MAX_NAMED ? ' and others' : ''}`,
  );
}

type Answer = CellFigures & { readonly names: readonly string[] };

async function askCell(url: string): Promise<Answer> {
  const pool = createPool(url, { max: 1, applicationName: 'heliograph command', log: silentLog });
  try {
    const asked = serversOf(url)
      .primary()
      .then(() => Promise.all([findCellFigures(pool), listNames(pool)]));
    if (!(await endsWithin(asked, ANSWER_MS))) throw new Error(`no answer within ${ANSWER_MS / 1000} s`);
    const [figures, names] = await asked;
    return { ...figures, names };
  } finally {
    // Not awaited: a session with a server that is away may not end for minutes.
    void pool.end();
  }
}
