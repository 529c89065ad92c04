import type { Pool } from 'pg';
import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import { every, type Task, untilIdle } from '../core/background.ts';
import type { Config } from '../core/config.ts';
import type { Db } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { createMailer } from '../core/mail.ts';
import { fromMicros } from '../core/money.ts';
import { type Outbound } from '../core/outbound-post.ts';
import { type SecretKey } from '../core/secrets.ts';
import { SECOND_MS } from '../core/time.ts';
import { findGuardStatus } from '../messages/restore-guard.ts';
import { publishFacts } from '../webhooks/outbox.ts';
import { deliverNext } from './alert-notices.ts';
import * as db from './alert-store.ts';
import { deleteOldNotices, findAlert, insertNotices, insertRule, moveToAcknowledged } from './alert-store.ts';
import { type Attention, type AttentionKind, kindNamed, listAttention, readRules } from './attention.ts';
import { listConnectionPage } from './connection-store.ts';
import { listWorkers } from './workers.ts';

/**
 * Acknowledges an alert, which stops its reminders. Call it in a transaction. Errors: 404, 409 when it was acknowledged
 * or resolved before.
 */
export async function acknowledgeAlert(
  tx: Db,
  { id, by }: { readonly id: number; readonly by: string },
): Promise<void> {
  const moved = await moveToAcknowledged(tx, { id, by });
  if (!moved) {
    const found = await findAlert(tx, { id });
    if (!found) throw new AppError('not_found', { message: 'There is no such alert' });
    throw new AppError('conflict', { message: `The alert is ${found.state} already` });
  }
  const subject = moved.subject === null ? moved.kind : `${moved.kind} ${moved.subject}`;
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), {
    action: 'alert.acknowledge',
    subject: `alert:${subject}`,
    detail: { id },
  });
}

type NewRule = {
  readonly kind: AttentionKind;
  readonly enabled: boolean;
  readonly forSeconds: number;
  /** Null for kinds without a threshold. */
  readonly threshold: number | null;
  readonly by: string;
};

/**
 * Sets the rule by which a kind of condition is an alert. Call it in a transaction. Errors: 400 for a threshold that
 * does not fit.
 */
export async function setRule(tx: Db, { by, ...rule }: NewRule): Promise<void> {
  const has = kindNamed(rule.kind).threshold !== null;
  if (has !== (rule.threshold !== null))
    throw invalidFields([{ field: 'threshold', message: has ? 'must be a number' : 'must be null for this kind' }]);
  await insertRule(tx, rule);
  const { kind, ...detail } = rule;
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), {
    action: 'alert-rule.set',
    subject: `alert-rule:${kind}`,
    detail,
  });
}

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
    await publishLowCredit(tx, fired);
    const resolved = await db.moveToResolved(tx, { afterSeconds: RESOLVED_AFTER_SECONDS });
    await insertNotices(tx, { alertIds: resolved, event: 'resolved' });
    const reminded = await db.updateReminded(tx, { everySeconds: REMINDED_EVERY_SECONDS });
    await insertNotices(tx, { alertIds: reminded, event: 'reminder' });
    await deleteOldNotices(tx);
    return true;
  });
}

/** Publishes to the accounts that their credit runs low, as these alerts say. */
async function publishLowCredit(tx: Db, alertIds: readonly number[]): Promise<void> {
  if (alertIds.length === 0) return;
  const low = await db.listLowCredit(tx, { alertIds });
  await publishFacts(
    tx,
    low.map(({ accountId, availableMicros, currency }) => ({
      accountId,
      type: 'credit.low',
      about: accountId,
      data: { state: availableMicros > 0 ? 'LOW' : 'EMPTY', availableCredit: fromMicros(availableMicros), currency },
    })),
  );
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

type AlertTaskDeps = {
  readonly config: Pick<Config, 'mail' | 'publicUrl'>;
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly outbound: Pick<Outbound, 'poster'>;
  readonly log: Log;
  readonly now: () => Date;
};

const MAX_RETRY_MS = 30 * SECOND_MS;

/**
 * Evaluates the conditions every 15 seconds, in one process at a time, and notifies the recipients. Not pausable: that
 * sending is paused is one of the conditions. Processes without a worker run them too, to report that no worker runs.
 */
export function alertTasks({ config, outbound: { poster }, ...deps }: AlertTaskDeps): Task[] {
  const mailer = config.mail ? createMailer(config.mail) : null;
  const { publicUrl } = config;
  return [
    {
      name: 'alerts',
      maxRetryMs: MAX_RETRY_MS,
      work: every(15 * SECOND_MS, () => evaluateAlerts(deps.pool, { now: deps.now() })),
    },
    {
      name: 'alert notices',
      maxRetryMs: MAX_RETRY_MS,
      work: untilIdle(() => deliverNext({ ...deps, poster, mailer, publicUrl }), 5 * SECOND_MS),
    },
  ];
}
