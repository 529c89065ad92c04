import type { Pool } from 'pg';
import { listAway } from '../../identity/accounts/away.ts';
import type { Finding } from './finding.ts';

/** Checks that no account is held on its way to another cell: meanwhile it cannot be used. */
export async function checkMoves(pool: Pool): Promise<Finding> {
  const held = (await listAway(pool)).filter(({ state }) => state === 'held');
  return {
    name: 'moves',
    ok: held.length === 0,
    detail:
      held
        .map(({ accountId, cell }) => `account ${accountId} is held on its way to cell ${cell}: its requests get 503`)
        .join(', ') || 'none',
    advice:
      'If no command moves it, a worker with CELL_DATABASES and DIRECTORY_URL ends that within seconds, as soon as the other ' +
      'cell answers.',
  };
}
