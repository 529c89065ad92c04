import type { Pool } from 'pg';
import { type Away, listAway } from '../accounts/accounts.ts';
import { every, type Task } from '../core/background.ts';
import type { Config } from '../core/config.ts';
import { rowsOf, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, plainArray, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import type { Log } from '../core/log.ts';
import { DAY_MS, SECOND_MS } from '../core/time.ts';
import { type OnInbound, receivePassedOn } from '../messages/inbound.ts';
import { insertPassedReceipts, notifyReceipts } from '../messages/receipt-store.ts';
import { type Cell, type ConnectionIds, openCell } from './copy.ts';
import { openDirectory } from './directory.ts';
import { matchConnections, settle } from './move.ts';

const MAX_ROWS = 500;

type CellTaskDeps = Readonly<{ pool: Pool; cells: Config['cells']; onInbound: OnInbound; log: Log }>;

/**
 * Decides moves of accounts whose command has died, and passes on receipts and inbound messages of accounts that other
 * cells serve.
 */
export function cellTasks({ pool, cells: { databases, directoryUrl }, onInbound, log }: CellTaskDeps): Task[] {
  const inCell = async (number: number, work: (cell: Cell) => Promise<void>): Promise<void> => {
    const url = databases.get(number);
    if (url === undefined) throw new Error(`Accounts have moved to cell ${number}: CELL_DATABASES must name it.`);
    await using cell = await openCell(number, url, log);
    await work(cell);
  };
  const decide = (directory: Pool, away: Away): Promise<void> =>
    inCell(away.cell, async (target) => {
      const moved = await settle({ source: pool, target: target.pool, directory }, away);
      if (moved !== null) log.warn({ ...away, moved }, 'decided the move of an account whose command has ended');
    });
  return [
    {
      name: 'account moves',
      work: every(2 * SECOND_MS, async () => {
        const held = (await listAway(pool)).filter(({ state }) => state === 'held');
        if (held.length === 0) return;
        if (directoryUrl === undefined) throw new Error('An account is held: DIRECTORY_URL must name the directory.');
        await using opened = new AsyncDisposableStack();
        const directory = opened.adopt(await openDirectory(directoryUrl, log), (db) => db.end());
        await forAll(held, (away) => decide(directory, away));
      }),
    },
    {
      name: 'passing on',
      work: every(SECOND_MS, async () => {
        const passAll = async (cell: number | null, target: Pool): Promise<void> => {
          while ((await passOn(pool, target, cell, onInbound)) > 0);
        };
        const waiting = await many<{ cell: number | null }>(pool, sql`SELECT DISTINCT a.cell FROM ${WAITING}`);
        await forAll(waiting, ({ cell }) =>
          cell === null ? passAll(cell, pool) : inCell(cell, (target) => passAll(cell, target.pool)),
        );
      }),
    },
    {
      // A cell may pass a row on again for this long after it was taken, if its commit there was lost.
      name: 'old passed-on ids',
      work: every(DAY_MS / 24, () => exec(pool, sql`DELETE FROM passed_on_seen WHERE at < now() - interval '30 days'`)),
    },
  ];
}

/**
 * Does `work` for all items in parallel, so that a cell that is unavailable does not hold up the others; then throws
 * its error.
 */
async function forAll<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const failed = (await Promise.allSettled(items.map(work))).find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}

/**
 * Rows `p` with the cell of their account; null: this cell, where it has stayed or to which it has returned. Excludes
 * accounts that are held.
 */
const WAITING = sql`passed_on p LEFT JOIN account a ON a.id = p.account_id WHERE a.away IS DISTINCT FROM 'held'`;

const PASSED_ON = columns({
  id: as<string>('p.id'),
  connectionId: as<number>('p.connection_id'),
  kind: as<'receipt' | 'inbound'>('p.kind'),
  content: as<string>('p.content::text'),
});
type PassedOn = RowOf<typeof PASSED_ON>;

/**
 * Passes receipts and inbound messages on to the cells of their accounts. The target stores them before they are
 * deleted here, and remembers which it has taken, so that each is taken once whichever process is killed. Rows of a
 * connection that the target does not have stay here and hold up nothing else: once only such rows are left, this
 * rejects. Returns the number of rows.
 *
 * @param cell number of the target; null when it is the source
 */
export async function passOn(source: Pool, target: Pool, cell: number | null, onInbound: OnInbound): Promise<number> {
  const ids = await matchConnections(source, target);
  const isKnown = sql`p.connection_id = ANY(${plainArray([...ids.keys()])}::bigint[])`;
  const waiting = sql`FROM ${WAITING} AND a.cell IS NOT DISTINCT FROM ${cell}::smallint`;
  const count = await transaction(source, async (tx) => {
    const oldest = sql`${waiting} AND ${isKnown} ORDER BY p.id LIMIT ${MAX_ROWS} FOR UPDATE OF p SKIP LOCKED`;
    const rows = await many(tx, sql`SELECT ${PASSED_ON} ${oldest}`);
    if (rows.length > 0) await transaction(target, (there) => take(there, rows, ids, onInbound));
    await exec(tx, sql`DELETE FROM passed_on WHERE id = ANY(${rows.map(({ id }) => id)}::uuid[])`);
    return rows.length;
  });
  const [left] =
    count > 0 ? [] : await many<{ id: number }>(source, sql`SELECT p.connection_id AS id ${waiting} LIMIT 1`);
  if (left)
    throw new Error(`The cell of an account lacks the connection of this cell with the id ${left.id}: add it there.`);
  return count;
}

async function take(tx: Db, rows: readonly PassedOn[], ids: ConnectionIds, onInbound: OnInbound): Promise<void> {
  const fresh = await many<{ id: string }>(
    tx,
    sql`INSERT INTO passed_on_seen (id) SELECT u.id FROM ${rowsOf(rows, { id: uuid(({ id }) => id) })} AS u
        ON CONFLICT DO NOTHING RETURNING id`,
  );
  const isFresh = new Set(fresh.map(({ id }) => id));
  const news = rows
    .filter(({ id }) => isFresh.has(id))
    .map((row) => ({ ...row, receipts: row.content, connectionId: ids.get(row.connectionId) ?? 0 }));
  const { receipt = [], inbound = [] } = Object.groupBy(news, ({ kind }) => kind);
  if (receipt.length > 0) await insertPassedReceipts(tx, receipt);
  if (receipt.length > 0) await notifyReceipts(tx, 'stored');
  if (inbound.length > 0) await receivePassedOn(tx, onInbound, inbound);
}
