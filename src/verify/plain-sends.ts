import type { Pool } from 'pg';
import { maybeOne, sql } from '../core/db/query.ts';
import { inTurn, transaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { DEFAULT_NUMBER_RULES, describeNumber } from '../core/phone.ts';
import type { Clock } from '../core/time.ts';
import { examine, type Lookups } from '../messages/prepare.ts';
import type { GuardCode } from '../messages/send-routes.ts';
import { addToCounters, createBaselines } from './counters.ts';
import { blockOf, countersOf, type Gate, passGate, recordStopped, Stopped } from './gate.ts';
import { lineTypeOf } from './guard.ts';
import type { ServiceSettings } from './services.ts';

type Deps = { readonly pool: Pool; readonly tables: Lookups; readonly clock: Clock };

/** The name of the service whose guard decides about codes that clients send as plain messages. */
const DEFAULT_SERVICE = 'default';

/**
 * Creates the guard of single SMS with the purpose `otp` and the address of their user. Without the codes it does not know
 * which of them are entered, so only velocity, countries, line types and cost caps count, and paused ranges.
 */
export function createCodeGuard({ pool, tables, clock }: Deps): GuardCode {
  const deps = { tables, baselines: createBaselines() };
  return async (actor, draft) => {
    const phone = describeNumber(draft.destination, actor.numberRules ?? DEFAULT_NUMBER_RULES);
    // The send itself rejects what is not a number.
    if ('fault' in phone) return;
    const gate: Gate = {
      settings: { ...(await findSettings(pool, actor.accountId)), challenge: false },
      knowsCodes: false,
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
    await pass(actor, gate);
  };

  async function pass(actor: { readonly accountId: number }, gate: Gate): Promise<void> {
    const { accountId } = actor;
    try {
      await inTurn(pool, actor, () =>
        transaction(pool, async (tx) => {
          await passGate(tx, deps, actor, gate, null);
          await addToCounters(tx, [{ accountId, keys: countersOf(gate), at: gate.at, sent: 1, micros: gate.micros }]);
        }),
      );
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      const { rule, reasons } = error.decision;
      await recordStopped(pool, actor, gate, error.decision, () => Promise.resolve());
      throw new AppError(rule === 'cost_cap' ? 'cost_cap' : 'verification_blocked', { fields: { reasons } });
    }
  }
}

const findSettings = async (pool: Pool, accountId: number): Promise<Gate['settings']> =>
  (
    await maybeOne<{ settings: ServiceSettings }>(
      pool,
      sql`SELECT settings FROM verify_service WHERE account_id = ${accountId} AND name = ${DEFAULT_SERVICE}`,
    )
  )?.settings.guard ?? {};
