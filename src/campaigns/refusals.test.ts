import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { createAccountWithCredit } from '../../test/support/money.ts';
import { runs } from '../../test/support/runs.ts';
import { CHANNELS, type Channel, PURPOSES, type Purpose } from '../core/channels.ts';
import { exec, many, plainArray, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { type ConsentPurpose, type ConsentState, changeConsent, createConsentCheck } from '../messages/consent.ts';
import { insertConnection } from '../routing/connection-store.ts';
import { insertTemplate } from '../templates/store.ts';
import { isRefusedSql, loadRefusals, orUnknown, refusingSql } from './refusals.ts';

const { pool } = testDatabase();

const SENDERS = ['acme', '4711'] as const;
const record = fc.record({
  channel: fc.constantFrom(...CHANNELS),
  purpose: fc.constantFrom<ConsentPurpose>('*', ...PURPOSES),
  sender: fc.constantFrom('*', ...SENDERS),
  state: fc.constantFrom<ConsentState>('OPTED_OUT', 'OPTED_IN', 'PENDING'),
});
type Record = typeof record extends fc.Arbitrary<infer R> ? R : never;
const keyOf = ({ channel, purpose, sender }: Pick<Record, 'channel' | 'purpose' | 'sender'>): string =>
  `${channel} ${purpose} ${sender}`;
const world = fc.record({
  people: fc.array(fc.uniqueArray(record, { maxLength: 5, selector: keyOf }), { minLength: 100, maxLength: 100 }),
  channel: fc.constantFrom(...CHANNELS),
  purpose: fc.constantFrom<Purpose>(...PURPOSES),
  sender: fc.constantFrom(...SENDERS),
  otpAfterStop: fc.boolean(),
  requireOptIn: fc.boolean(),
});
type World = typeof world extends fc.Arbitrary<infer W> ? W : never;

/**
 * The rules, read from a table of every key that applies, the most specific first: the first "out" decides, and only
 * then the first "in".
 */
function mayWrite(records: readonly Record[], asked: World & { readonly channel: Channel }): boolean {
  const { channel, purpose, sender, otpAfterStop, requireOptIn } = asked;
  const said = new Map(records.map((one) => [keyOf(one), one.state]));
  const keys = [
    [purpose, sender],
    [purpose, '*'],
    ['*', sender],
    ['*', '*'],
  ] as const;
  const states = keys.map(([p, s]) => ({ p, state: said.get(keyOf({ channel, purpose: p, sender: s })) }));
  if (states.some(({ p, state }) => state === 'OPTED_OUT' && (p !== '*' || purpose !== 'otp' || !otpAfterStop)))
    return false;
  if (purpose !== 'marketing' || states.some(({ state }) => state === 'OPTED_IN')) return true;
  return !requireOptIn && !states.some(({ p, state }) => state === 'PENDING' && p !== '*');
}

propertyTest.prop([world], { numRuns: runs(50) })(
  'sends, the audience of a campaign and each of its messages decide alike, as the rules do, in 5,000 cases',
  async (asked) => {
    const { people, channel, purpose, sender, otpAfterStop, requireOptIn } = asked;
    const accountId = await createAccountWithCredit(pool, 0);
    await exec(
      pool,
      sql`INSERT INTO consent_settings (account_id, otp_after_stop, require_opt_in)
          VALUES (${accountId}, ${otpAfterStop}, ${requireOptIn})`,
    );
    const numbers = people.map((_, i) => `+39333${1_000_000 + i}`);
    await transaction(pool, (tx) =>
      changeConsent(
        tx,
        people.flatMap((records, i) =>
          records.map((one) => ({
            ...one,
            accountId,
            phoneNumber: numbers[i] ?? '',
            source: 'API' as const,
            since: null,
            proof: null,
          })),
        ),
      ),
    );
    const expected = people.map((records) => mayWrite(records, asked));
    const findFault = await createConsentCheck(pool)(
      { accountId, hasOptOuts: true },
      numbers.map((destination) => ({ channel, destination })),
    );
    expect(numbers.map((number) => findFault(channel, number, { purpose, sender }) === null)).toEqual(expected);
    const refusals = {
      accountId,
      purpose,
      otpAfterStop,
      requireOptIn,
      hasMarketing: false,
      senderOf: () => sender,
    };
    const rows = await many<{ planned: boolean; made: boolean }>(
      pool,
      sql`SELECT NOT ${orUnknown(sql`o.refused`, refusals, channel)} AS planned,
                 NOT ${isRefusedSql(refusals, channel, sql`u.number`)} AS made
          FROM unnest(${plainArray(numbers)}::text[]) WITH ORDINALITY AS u (number, n)
          LEFT JOIN (${refusingSql(refusals, channel)}) AS o ON o.person = u.number ORDER BY u.n`,
    );
    expect(rows).toEqual(expected.map((may) => ({ planned: may, made: may })));
  },
);

test('a campaign that states no purpose is refused by that of its template or traffic type, and else of the account', async () => {
  const accountId = await createAccountWithCredit(pool, 0);
  await exec(pool, sql`UPDATE account SET default_purpose = 'service' WHERE id = ${accountId}`);
  const named = { name: `meta-${accountId}`, kind: 'whatsapp', sandbox: false, settings: {} } as const;
  const connectionId = (await insertConnection(pool, named))?.id ?? 0;
  const made = {
    language: 'en',
    headerLink: null,
    named: false,
    ownerId: accountId,
    variables: [],
    status: 'APPROVED',
  };
  const whatsapp = { ...made, channel: 'WHATSAPP', connectionId, content: [{ type: 'BODY', text: 'Hi' }] } as const;
  await insertTemplate(pool, { ...whatsapp, id: 'w', name: 'w', category: 'MARKETING' });
  const rcs = { ...made, channel: 'RCS', connectionId: null, content: { text: 'Hi' }, category: '' } as const;
  await insertTemplate(pool, { ...rcs, id: 'r', name: 'r', trafficType: 'AUTHENTICATION' });
  const none = {
    sendingMode: 'WHATSAPP_RCS_SMS' as const,
    whatsappTemplateId: null,
    whatsappPhoneNumberId: null,
    rcsTemplateId: null,
  };
  const purpose = async (more: object) =>
    (await loadRefusals(pool, { accountId, campaign: { ...none, ...more } })).purpose;
  expect(await purpose({})).toBe('service');
  expect(await purpose({ rcsTemplateId: 'r' })).toBe('otp');
  expect(await purpose({ rcsTemplateId: 'r', rcsTrafficType: 'PROMOTION' })).toBe('marketing');
  expect(await purpose({ rcsTemplateId: 'r', whatsappTemplateId: 'w' })).toBe('marketing');
  expect(await purpose({ purpose: 'transactional', whatsappTemplateId: 'w' })).toBe('transactional');
  // Templates of channels that it does not use say nothing.
  expect(await purpose({ sendingMode: 'SMS', rcsTemplateId: 'r', whatsappTemplateId: 'w' })).toBe('service');
});
