import type { Pool } from 'pg';
import { newId } from '../../../../platform/lib/ids.ts';
import type { Log } from '../../../../platform/lib/log.ts';
import { MINUTE_MS, SECOND_MS } from '../../../../platform/lib/time.ts';
import { transaction } from '../../../../platform/db/transaction.ts';
import { isQuiet } from '../targets/quiet.ts';
import { lockDueTargets, type Target, updateFailed, updateTold, updateTried } from '../targets/sql.ts';
import { composeMessage } from './message.ts';
import { sendToOwners } from './owners.ts';
import { sendMessage, type Told, type Ways } from './send.ts';
import { deleteBatch, listBatch, type Notice, updateBatch } from './sql.ts';

export type DeliverDeps = Ways & {
  readonly pool: Pool;
  readonly log: Log;
  readonly now: () => Date;
  /** The address of the console. */
  readonly publicUrl: string;
};

/** Longer than all steps of a mail may take: after a crash another process tries again. */
const LEASE_MS = 2 * MINUTE_MS;
/** Minimum time between two messages to a recipient: events of this time are combined in the next message. */
const PAUSE_MS = MINUTE_MS;
const FIRST_RETRY_MS = 5 * SECOND_MS;
const MAX_RETRY_MS = 10 * MINUTE_MS;

/**
 * Sends all due notices of the longest-waiting recipient as one message. Failures are retried with increasing delay for
 * three days. Returns false when no notice was due.
 */
export async function deliverNext(deps: DeliverDeps): Promise<boolean> {
  const claimed = await claimBatch(deps);
  if (claimed === null) return false;
  const { target, batch } = claimed;
  const [first] = batch;
  if (!first) return true;
  const told = await tell(deps, target, batch);
  if (told.ok)
    await transaction(deps.pool, async (tx) => {
      await deleteBatch(tx, { targetId: target.id, batch: first.batch });
      await updateTold(tx, { id: target.id, pauseMs: PAUSE_MS });
    });
  else await noteFailure(deps, target, told.reason);
  return true;
}

function claimBatch({ pool, now }: DeliverDeps): Promise<{ target: Target; batch: Notice[] } | null> {
  return transaction(pool, async (tx) => {
    const due = await lockDueTargets(tx);
    const target = due.find((each) => !isQuiet(each, now()) || (each.breaksQuiet && each.urgent));
    if (!target) return null;
    const onlyProblems = isQuiet(target, now());
    await updateBatch(tx, { targetId: target.id, batch: newId(), onlyProblems });
    await updateTried(tx, { id: target.id, leaseMs: LEASE_MS });
    return { target, batch: await listBatch(tx, { targetId: target.id }) };
  });
}

function tell(deps: DeliverDeps, target: Target, batch: readonly Notice[]): Promise<Told> {
  const [first] = batch;
  if (target.kind === 'owners') return sendToOwners(deps, target, batch);
  const message = composeMessage(target.language, batch, `${deps.publicUrl}/operator/alerts`);
  return sendMessage(deps, target, first?.batch ?? newId(), message);
}

async function noteFailure({ pool, log }: DeliverDeps, { id, kind, attempts }: Target, error: string): Promise<void> {
  const delayMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts, 20));
  await updateFailed(pool, { id, delayMs, error });
  log.warn(
    { target: id, kind, attempt: attempts + 1, retryInMs: delayMs, error },
    'a recipient of alerts was not reached',
  );
}
