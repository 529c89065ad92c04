import type { Pool } from 'pg';
import { type LiveCredential, listLiveCredentials } from '../../identity/smpp-credentials/sql.ts';
import { startLoop } from '../../platform/lib/background/loop.ts';
import type { Log } from '../../platform/lib/log.ts';
import type { Session } from './session.ts';
import { refusalOf, toClient } from './sign-in.ts';
import { deleteBinds } from './sql.ts';

type Deps = {
  readonly pool: Pool;
  readonly log: Log;
  sessions(): Iterable<Session>;
};

/**
 * Notifications announce changes immediately; this interval is for missed ones, and for changes without a notification.
 */
const FOLLOW_MS = 10_000;

/**
 * Updates open binds with the permissions of their credentials and accounts: a bind whose credential was deleted or has
 * another password, whose account was suspended, moved or lost SMS, or whose address is not allowed any more, is
 * closed; the others get their new limits immediately. It also removes ended binds from the database, and tries again
 * when that fails.
 */
export function followCredentials({ pool, log, sessions }: Deps) {
  const endedIds = new Set<number>();

  async function work(): Promise<number> {
    await Promise.all([removeEnded(), follow()]);
    return FOLLOW_MS;
  }

  async function removeEnded(): Promise<void> {
    const ids = [...endedIds];
    if (ids.length === 0) return;
    await deleteBinds(pool, { ids });
    for (const id of ids) endedIds.delete(id);
  }

  async function follow(): Promise<void> {
    const bound = [...sessions()].filter(({ bind }) => bind !== null);
    const ids = [...new Set(bound.flatMap(({ bind }) => (bind ? [bind.client.id] : [])))];
    if (ids.length === 0) return;
    const rows = new Map((await listLiveCredentials(pool, { ids })).map((row) => [row.id, row]));
    for (const session of bound) apply(session, rows);
  }

  function apply(session: Session, rows: ReadonlyMap<number, LiveCredential>): void {
    if (!session.bind) return;
    const { id, passwordHash } = session.bind.client;
    const row = rows.get(id);
    const reason = !row
      ? 'the credential was deleted'
      : row.passwordHash !== passwordHash
        ? 'the password was changed'
        : refusalOf(row, session.address);
    if (row && reason === null) session.follow(toClient(row));
    else session.leave(reason ?? '');
  }

  const isConcerned = (payload: string): boolean =>
    payload === '' || [...sessions()].some(({ bind }) => String(bind?.client.accountId) === payload);

  const loop = startLoop('SMPP credentials', work, log);
  return {
    onAccountChange(payload: string): void {
      if (isConcerned(payload)) loop.wake();
    },
    /** A bind has opened: its credential may have changed while it was checked. */
    bound: () => loop.wake(),
    /** A bind has ended. */
    ended(bindId: number): void {
      endedIds.add(bindId);
      loop.wake();
    },
    async stop(): Promise<void> {
      await loop.stop();
      // They do not count any more when this process has ended.
      await removeEnded().catch((err: unknown) => log.warn({ err }, 'ended SMPP binds could not be removed'));
    },
  };
}
