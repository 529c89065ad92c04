import type { Pool } from 'pg';
import { listOpenMoves, type Move } from '../account-move/sql.ts';
import type { Finding } from './finding.ts';

/**
 * Checks that no account is held on its way to another cell: while it is, nobody can use it. A move holds an account for
 * seconds; one whose command was killed, for a minute.
 */
export async function checkMoves(pool: Pool): Promise<Finding> {
  const moves = await listOpenMoves(pool);
  return {
    name: 'moves',
    ok: !moves.some(({ state }) => state === 'leaving' || state === 'left'),
    detail: moves.length === 0 ? 'none' : moves.map(describe).join(', '),
    advice:
      'If this lasts longer than a minute, run `account move` again, which goes on, or with --abort. A worker must be ' +
      'running with CELL_DATABASES and, if there is a directory, DIRECTORY_URL.',
  };
}

function describe({ accountId, state, cell }: Move): string {
  switch (state) {
    case 'preparing':
      return `account ${accountId} is copied to cell ${cell}, and served`;
    case 'leaving':
      return `account ${accountId} is held on its way to cell ${cell}: its requests are answered 503`;
    case 'left':
      return `account ${accountId} has left for cell ${cell}, and has not arrived`;
    case 'arriving':
      return `account ${accountId} arrives from cell ${cell}`;
  }
}
