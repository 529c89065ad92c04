import type { Pool } from 'pg';
import { findGuardStatus } from '../../../messaging/restore-guard/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { listWorkers } from '../../workers/sql.ts';
import { listAttention } from '../attention/attention.ts';
import { readRules } from '../attention/rules.ts';
import type { Attention } from '../attention/sql.ts';
import { listConnectionPage } from '../connections/sql.ts';
import { deleteOldNotices, insertNotices } from './notices/sql.ts';
import * as db from './sql.ts';

/** In practice a gateway has only a few connections. */
const MAX_CONNECTIONS = 1000;
const EVERY_MS = 12_000;
/** A condition that comes and goes within this time is one alert. */
const RESOLVED_AFTER_SECONDS = 120;
const REMINDED_EVERY_SECONDS = 4 * 3600;

/**
 * Evaluates all conditions, unless another process did so less than `everyMs` ago, and moves the alerts: in one
 * transaction with the notices for its recipients. Returns true if it was this process's turn.
 */
export function evaluateAlerts(
  pool: Pool,
  { now, everyMs = EVERY_MS }: { readonly now: Date; readonly everyMs?: number },
): Promise<boolean> {
  return transaction(pool, async (tx) => {
    if (!(await db.claimEvaluation(tx, { everyMs }))) return false;
    const rules = (await readRules(tx)).filter(({ enabled }) => enabled);
    const enabled = new Set(rules.map(({ kind }) => kind));
    const seen = (await readAttention(tx, now)).filter(({ kind }) => enabled.has(kind));
    await db.insertSeen(tx, placed(seen));
    await db.deletePassed(tx);
    const fired = [...(await db.moveToFiring(tx, { rules })), ...(await db.moveWorseToFiring(tx))];
    await insertNotices(tx, { alertIds: fired, event: 'fired' });
    const resolved = await db.moveToResolved(tx, { afterSeconds: RESOLVED_AFTER_SECONDS });
    await insertNotices(tx, { alertIds: resolved, event: 'resolved' });
    const reminded = await db.updateReminded(tx, { everySeconds: REMINDED_EVERY_SECONDS });
    await insertNotices(tx, { alertIds: reminded, event: 'reminder' });
    await deleteOldNotices(tx);
    return true;
  });
}

async function readAttention(tx: Db, now: Date): Promise<Attention[]> {
  const [guard, workers] = [await findGuardStatus(tx), await listWorkers(tx)];
  const connections = await listConnectionPage(tx, { name: null, limit: MAX_CONNECTIONS, offset: 0 });
  return listAttention(tx, { guard, workers, connections, now });
}

/** Names the subject of each condition; the first of several about the same subject stands for all. */
function placed(seen: readonly Attention[]): db.Seen[] {
  const byPlace = new Map<string, db.Seen>();
  for (const attention of seen) {
    const place = String(attention.subjectId ?? attention.subject ?? '');
    const key = `${attention.kind} ${place}`;
    if (!byPlace.has(key)) byPlace.set(key, { ...attention, place });
  }
  return [...byPlace.values()];
}
