import { expect, test } from 'vitest';
import { hashPassword } from '../../src/accounts/password.ts';
import { exec, one, sql } from '../../src/core/db/query.ts';
import { freePort } from '../support/free-port.ts';
import { KANNEL, kannelIsMissing } from '../support/interop/peers/kannel.ts';
import { startTestProgram } from '../support/program.ts';
import { newCredential } from '../support/smpp-server.ts';
import { listTaken } from '../support/taken.ts';
import { until } from '../support/until.ts';

/** Messages through a transceiver, and through a pair of binds. */
const COUNTS = { trx: 10_000, other: 500 };
const TIMEOUT_MS = 600_000;
const WITHIN_MS = 300_000;
const AT_ONCE = 50;
const LONG = 'This text is longer than a single part of a message can hold. '.repeat(4).trim();
const LONG_PARTS = 2;
const UNICODE = 'Olá, São João: 你好, Ω 😀';

/** The carrier has fixed outcomes for numbers that end in 99xx. */
const outsideScript = (n: number): number => Math.floor(n / 9000) * 10_000 + (n % 9000);

test.for(KANNEL.binds)(
  'Kannel, bound as %s, gets a receipt for each message, and the counts agree',
  { timeout: TIMEOUT_MS },
  async (bind, { skip }) => {
    const missing = kannelIsMissing();
    if (missing !== undefined) return skip(missing);
    const count = bind === 'trx' ? COUNTS.trx : COUNTS.other;
    const port = await freePort();
    await using program = await startTestProgram({ environment: { SMPP_PORT: String(port) } });
    const { id } = await newCredential(program.pool, program.account.accountId, { tps: 100_000, maxBinds: 4 });
    const hash = await hashPassword('secret08', { by: 'test' });
    await exec(
      program.pool,
      sql`UPDATE smpp_credential SET system_id = 'gw1', password_hash = ${hash} WHERE id = ${id}`,
    );
    const session = await KANNEL.connect({ port, bind, window: 20 });
    try {
      const numbers = Array.from({ length: count }, (_, n) => `39333${1_000_000 + outsideScript(n)}`);
      for (let from = 0; from < count; from += AT_ONCE)
        await Promise.all(numbers.slice(from, from + AT_ONCE).map((number) => session.send(number, `To ${number}`)));
      await session.send('393339990001', LONG);
      await session.send('393339990002', UNICODE);
      const wanted = new Set([...numbers, '393339990001', '393339990002']);
      const missed = (seen: Iterable<string>): number => wanted.difference(new Set(seen)).size;
      await until(
        'all at the carrier',
        () => program.smsc.ledger.submits().length === count + LONG_PARTS + 1,
        WITHIN_MS,
      );
      // Kannel looks for the message of a receipt among those of the same bind, and a pair of binds is two.
      if (bind === 'trx') await until('a receipt for each', () => missed(session.delivered()) === 0, WITHIN_MS);
      const taken = listTaken(program.smsc);
      expect(taken.filter(({ text }) => text.startsWith('To '))).toHaveLength(count);
      const textTo = (number: string) =>
        taken.filter(({ destination }) => destination === number).map(({ text }) => text);
      expect(textTo('393339990001').join('')).toBe(LONG);
      expect(textTo('393339990002').join('')).toBe(UNICODE);
      await until('every receipt gets a response', async () => {
        const { n } = await one<{ n: number }>(
          program.pool,
          sql`SELECT (SELECT count(*) FROM smpp_outbox)::int + (SELECT count(*) FROM smpp_receipt)::int AS n`,
        );
        return n === 0;
      });
    } finally {
      await session.close();
    }
  },
);
