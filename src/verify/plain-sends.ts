import type { Pool } from 'pg';
import { as, columns, type Db, exec, maybeOne, type RowOf, sql } from '../core/db/query.ts';
import type { Actor } from '../core/actor.ts';
import { inTurn, tenant } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { newId, timeOfId } from '../core/ids.ts';
import { DEFAULT_NUMBER_RULES, describeNumber } from '../core/phone.ts';
import type { Clock } from '../core/time.ts';
import type { Accept } from '../messages/accept.ts';
import { listClientIds } from '../messages/client-ids.ts';
import { examine, type Lookups } from '../messages/prepare.ts';
import type { Draft, Verdict } from '../messages/read-send.ts';
import { storeAnswers } from '../messages/send-response.ts';
import type { AcceptGuarded } from '../messages/send-routes.ts';
import { type Addition, addToCounters, createBaselines } from './counters.ts';
import { blockOf, countersOf, type Gate, passGate, plainKeysOf, recordStopped, Stopped } from './gate.ts';
import { type Decision, lineTypeOf } from './guard.ts';
import type { VerifyMeter } from './metrics.ts';
import { approveProbe } from './ranges.ts';
import type { ServiceSettings } from './services.ts';

type Deps = {
  readonly pool: Pool;
  readonly tables: Lookups;
  readonly clock: Clock;
  readonly accept: Pick<Accept, 'one' | 'once'>;
  /** Omitted where nothing is counted. */
  readonly meter?: VerifyMeter;
};

/** The name of the service whose guard decides about codes that clients send as plain messages. */
const DEFAULT_SERVICE = 'default';
/** Thrown to roll back what the guard has counted of a send that was not accepted. */
const NOT_ACCEPTED = new Error('the message was not accepted');

/**
 * Creates the entry point for single SMS with the purpose `otp` and the address of their user. Until the client reports
 * which codes were entered, only velocity of its users, countries, line types and cost caps count, and paused ranges. A send
 * counts if it is accepted, in the same transaction, and a repeated one counts once.
 */
export function createGuardedAccept({ pool, tables, clock, accept, meter }: Deps): AcceptGuarded {
  const deps = { tables, baselines: createBaselines() };

  async function gateOf(actor: Actor, draft: Draft): Promise<Gate | null> {
    const phone = describeNumber(draft.destination, actor.numberRules ?? DEFAULT_NUMBER_RULES);
    // The send itself rejects what is not a number.
    if ('fault' in phone) return null;
    const settings = await findSettings(tenant(pool, actor), actor.accountId);
    if (settings.mode === 'off') return null;
    return {
      settings: { ...settings, challenge: false },
      isPlain: true,
      serviceId: null,
      at: clock.now(),
      number: phone.e164,
      country: phone.country,
      lineType: lineTypeOf(phone),
      network: null,
      address: blockOf(draft.userIp),
      userRef: null,
      device: null,
      micros: examine(actor, draft, tables, () => null).priceMicros ?? 0,
      challengePassed: false,
    };
  }

  return async (actor, draft, idempotency) => {
    const { accountId } = actor;
    const gate = await gateOf(actor, draft);
    if (!gate) return accept.one(actor, draft, idempotency);
    const decisionId = newId();
    let verdict: Verdict | undefined;
    try {
      await accept.once(actor, [{ ...draft, decisionId }], {
        async claim(tx) {
          const { clientId } = draft;
          const isRepeated = clientId !== null && (await listClientIds(tx, [{ accountId, clientId }])).length > 0;
          if (isRepeated) return true;
          await passGate(tx, deps, actor, gate, { decisionId, verificationId: null });
          await addToCounters(tx, [{ accountId, keys: countersOf(gate), at: gate.at, sent: 1, micros: gate.micros }]);
          return true;
        },
        async record(tx, [only]) {
          verdict = only;
          if (only?.kind !== 'accepted') throw NOT_ACCEPTED;
          await storeAnswers(tx, [{ idempotency }], [only]);
        },
      });
    } catch (error) {
      if (error instanceof Stopped) throw await refuse(actor, gate, error.decision);
      if (error !== NOT_ACCEPTED) throw error;
    }
    if (!verdict) throw new Error('a send has no verdict');
    const answered = verdict;
    if (answered.kind !== 'accepted')
      await inTurn(pool, actor, () => storeAnswers(pool, [{ idempotency }], [answered]));
    return answered;
  };

  async function refuse(actor: Actor, gate: Gate, decision: Decision): Promise<AppError> {
    meter?.stopped(decision);
    await recordStopped(pool, actor, gate, decision, () => Promise.resolve());
    const { rule, reasons } = decision;
    return new AppError(rule === 'cost_cap' ? 'cost_cap' : 'verification_blocked', { fields: { reasons } });
  }
}

const findSettings = async (db: Db, accountId: number): Promise<Gate['settings']> =>
  (
    await maybeOne<{ settings: ServiceSettings }>(
      db,
      sql`SELECT settings FROM verify_service WHERE account_id = ${accountId} AND name = ${DEFAULT_SERVICE}`,
    )
  )?.settings.guard ?? {};

const PLAIN_SEND = columns({
  accountId: as<number>('d.account_id'),
  id: as<string>('d.id'),
  serviceId: as<string | null>('d.service_id'),
  number: as<string>('d.number'),
  country: as<string | null>('d.country'),
  address: as<string | null>('d.address'),
  userRef: as<string | null>('d.user_ref'),
  device: as<string | null>('d.device'),
  /** The range that it probed. */
  probeOf: as<string | null>(
    `(SELECT r ->> 'prefix' FROM jsonb_array_elements(d.reasons) r WHERE d.enforced AND r ->> 'rule' = 'probe')`,
  ),
});
type PlainSend = RowOf<typeof PLAIN_SEND>;

/** Finds the decision by which a plain message passed the guard, by the id of that decision. */
export const findPlainSend = (
  db: Db,
  { accountId, id }: { readonly accountId: number; readonly id: string },
): Promise<PlainSend | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${PLAIN_SEND} FROM verify_decision d
        WHERE d.account_id = ${accountId} AND d.id = ${id} AND d.verification_id IS NULL`,
  );

type Learned = Partial<Record<'approved' | 'delivered' | 'failed', 1>>;

/** Returns what is learned about a plain message, as an addition to the counters of the time at which it was sent. */
export const learnedOf = (send: PlainSend, learned: Learned): Addition => ({
  accountId: send.accountId,
  keys: plainKeysOf({ ...send, network: null }),
  at: timeOfId(send.id),
  ...learned,
});

type Report = { readonly messageId: string; readonly outcome: 'converted' | 'fraud' };

/**
 * Records whether the code of a plain message was entered, so that the guard learns from it. Call it in a transaction.
 * Errors: 404 for a message that has not passed the guard, 409 when the outcome was recorded already.
 */
export async function reportPlainSend(
  tx: Db,
  { accountId }: { readonly accountId: number },
  { messageId, outcome, at }: Report & { readonly at: Date },
): Promise<void> {
  const link = await findLink(tx, { accountId, messageId });
  const send = link && (await findPlainSend(tx, { accountId, id: link.id }));
  if (!send) throw new AppError('not_found');
  if ((await updateFeedback(tx, { accountId, id: send.id, outcome })) === 0)
    throw new AppError('conflict', { message: 'The outcome was recorded already' });
  if (outcome === 'fraud') return;
  if (send.probeOf !== null) await approveProbe(tx, { accountId, prefix: send.probeOf, at });
  await addToCounters(tx, [learnedOf(send, { approved: 1 })]);
}

const findLink = (db: Db, { accountId, messageId }: { readonly accountId: number; readonly messageId: string }) =>
  maybeOne<{ id: string }>(
    db,
    sql`SELECT verification_id AS id FROM verification_message
        WHERE account_id = ${accountId} AND message_id = ${messageId}`,
  );

const updateFeedback = (
  db: Db,
  { accountId, id, outcome }: { readonly accountId: number; readonly id: string; readonly outcome: Report['outcome'] },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE verify_decision SET feedback = ${outcome}
        WHERE account_id = ${accountId} AND id = ${id} AND feedback IS NULL`,
  );
