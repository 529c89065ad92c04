import type { Pool } from 'pg';
import type { Actor } from '../../src/core/actor.ts';
import { exec, many, sql } from '../../src/core/db/query.ts';
import { transaction } from '../../src/core/db/transaction.ts';
import { STATUS, type StatusName } from '../../src/core/message-state.ts';
import { createSecretKey } from '../../src/core/secrets.ts';
import { SECOND_MS } from '../../src/core/time.ts';
import { createWaker } from '../../src/dispatch/pump.ts';
import type { Job } from '../../src/dispatch/held.ts';
import { type Chunk, claimChunks } from '../../src/dispatch/store.ts';
import { createAccept } from '../../src/messages/accept.ts';
import { listOpenCodes, openCode, withCodes } from '../../src/messages/codes.ts';
import { endMessages } from '../../src/messages/end.ts';
import { insertOpenStates } from '../../src/messages/expiry.ts';
import { loadJobs } from '../../src/messages/load.ts';
import { createBaselines } from '../../src/verify/counters.ts';
import { type Check, checkCode, type Checked } from '../../src/verify/ending.ts';
import { addService, type Service, type ServiceSettings } from '../../src/verify/services.ts';
import { endVerifications } from '../../src/verify/tasks.ts';
import { type Start, startVerification, resendCode, type VerifyDeps } from '../../src/verify/verification.ts';
import { actor, flatPrice, freeOver } from './drafts.ts';
import { createAccountWithCredit } from './money.ts';

export const PRICE_MICROS = 50_000;
export const KEY = createSecretKey(Buffer.alloc(32, 7));

/** The settings of a service over SMS without a guard. */
export const settings = (more: Partial<ServiceSettings> = {}): ServiceSettings => ({
  brand: 'Acme',
  codeLength: 6,
  alphabet: 'digits',
  ttl: 600,
  maxChecks: 5,
  maxSends: 5,
  workflow: [{ channel: 'SMS' }],
  codeMode: 'generated',
  guard: { mode: 'off' },
  ...more,
});

/** An account that verifies numbers, without carriers: the test decides what becomes of messages, and what time it is. */
export async function openVerifyStage(pool: Pool, { creditMicros = 1_000_000_000, at = new Date() } = {}) {
  const accountId = await createAccountWithCredit(pool, creditMicros);
  const by: Actor = actor(accountId);
  const tables = { ...freeOver(() => [1]), findPrice: flatPrice(PRICE_MICROS) };
  const waker = { ...createWaker(pool), wake: () => undefined };
  const time = { now: at };
  const deps: VerifyDeps = {
    pool,
    accept: createAccept({ pool, tables, waker, recentMessages: null }),
    tables,
    secretKey: KEY,
    clock: { now: () => time.now },
    baselines: createBaselines(),
  };
  let services = 0;
  return {
    accountId,
    actor: by,
    deps,
    time,
    /** Lets this much time pass. */
    pass(seconds: number): void {
      time.now = new Date(time.now.getTime() + seconds * SECOND_MS);
    },
    service: async (more: Partial<ServiceSettings> = {}): Promise<Service> =>
      (
        await transaction(pool, (tx) =>
          addService(tx, by, { name: `service ${++services}`, settings: settings(more), secretKey: KEY }),
        )
      ).service,
    start: (service: Service, start: Start) => startVerification(deps, by, service, start),
    resend: (id: string) => resendCode(deps, by, { id }),
    check: (check: Check): Promise<Checked> => checkCode(deps, by, check),
    /** The code of an open verification; undefined when it is deleted. */
    async codeOf(id: string): Promise<string | undefined> {
      const [row] = await listOpenCodes(pool, accountId, [id]);
      return row && openCode(KEY, row);
    },
    /** Takes everything from the queue, as a carrier gets it. */
    async submitted(): Promise<Job[]> {
      const claimed: Chunk[] = await claimChunks(pool, { connectionId: 1, owner: 1, messages: 1000, belowPriority: 9 });
      const chunks = claimed.filter((chunk) => chunk.accountId === accountId);
      const jobs = await withCodes(pool, KEY, chunks, await loadJobs(pool, chunks));
      await exec(pool, sql`DELETE FROM dispatch_chunk WHERE owner = 1`);
      return jobs.flat().filter((job) => job !== undefined);
    },
    /** Ends a message. */
    end: (messageId: string, status: StatusName) => end(pool, [{ accountId, id: messageId }], status),
    /** Ends all messages of a verification. */
    async report(id: string, status: StatusName): Promise<void> {
      const rows = await many<{ id: string }>(
        pool,
        sql`SELECT m.message_id AS id FROM verification_message m
            LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.message_id
            WHERE m.account_id = ${accountId} AND m.verification_id = ${id} AND s.id IS NULL`,
      );
      const keys = rows.map(({ id: messageId }) => ({ accountId, id: messageId }));
      await end(pool, keys, status);
    },
    /** Does what a worker does about verifications. */
    work: () => endVerifications({ pool, now: () => time.now }),
  };
}

type MessageKey = { readonly accountId: number; readonly id: string };

const end = (pool: Pool, keys: readonly MessageKey[], status: StatusName): Promise<void> =>
  transaction(pool, async (tx) => {
    const ended = { status: STATUS[status], errorCode: null, errorText: null, doneAt: new Date() };
    await insertOpenStates(tx, keys);
    await endMessages(
      tx,
      keys.map((key) => ({ ...key, ...ended })),
    );
  });
