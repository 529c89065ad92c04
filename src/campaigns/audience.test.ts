import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { createAccountWithCredit } from '../../test/support/money.ts';
import { runs } from '../../test/support/runs.ts';
import { bitOf, CHANNELS, type Channel, toBits } from '../core/channels.ts';
import { exec, many, one, plainArray, sql } from '../core/db/query.ts';
import { tenantTransaction } from '../core/db/transaction.ts';
import type { ListedPrice } from '../money/pricing.ts';
import { countParts } from '../smpp/text.ts';
import {
  chainOf,
  listAudienceRows,
  type Plan,
  recipientsSql,
  SENDING_MODES,
  type SendingMode,
  type SkipReason,
  sumAudience,
} from './audience.ts';
import { parseText } from './texts.ts';

const { pool } = testDatabase();

const NO_REFUSALS = {
  purpose: null,
  otpAfterStop: false,
  requireOptIn: false,
  hasMarketing: false,
  senderOf: () => null,
} as const;

type Person = {
  /** Phone number; null: an email address alone. */
  readonly number: string | null;
  readonly isValid: boolean;
  readonly channels: number;
  readonly firstName: string;
  readonly lists: readonly boolean[];
  readonly optedOut: readonly Channel[];
};
type World = {
  readonly people: readonly Person[];
  readonly prices: readonly ListedPrice[];
  /** Prefixes that SMS is routed for. */
  readonly routes: readonly string[];
  readonly mode: SendingMode;
  readonly text: string;
};

const PREFIXES = ['', '3', '39', '3933', '351', '44'];
const someOf = <T>(from: readonly T[]) => fc.subarray([...from]);
const person = fc.record({
  number: fc.option(
    fc
      .tuple(fc.constantFrom('39333', '3934', '35191', '4477', '1202'), fc.nat({ max: 40 }))
      .map(([p, n]) => `+${p}${1_000_000 + n}`),
    { freq: 10 },
  ),
  isValid: fc.constantFrom(true, true, true, false),
  channels: fc.constantFrom(0, 1, 2, 3, 4, 5, 6, 7, 7, 7),
  firstName: fc.constantFrom('', 'Ana', 'Жанна', 'x'.repeat(60), 'y'.repeat(1000)),
  lists: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
  optedOut: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, someOf(CHANNELS)),
});
const price = fc.record({
  channel: fc.constantFrom(...CHANNELS),
  prefix: fc.constantFrom(...PREFIXES),
  unitMicros: fc.constantFrom(0, 1, 10, 35_000, 60_000),
  refundUndelivered: fc.boolean(),
});
const world: fc.Arbitrary<World> = fc.record({
  people: fc.uniqueArray(person, {
    selector: (p) => p.number ?? Symbol('none'),
    minLength: 1,
    maxLength: 60,
    size: 'max',
  }),
  prices: fc.uniqueArray(price, { selector: (p) => `${p.channel}/${p.prefix}`, maxLength: 12, size: 'max' }),
  routes: fc.oneof(fc.constant(['']), someOf(PREFIXES)),
  mode: fc.constantFrom(...SENDING_MODES),
  text: fc.constantFrom('Hello', 'Hello {{firstName|you}}', '{{firstName}}', `${'a'.repeat(150)}{{firstName}}`),
});

/** Returns the expected result for one recipient, in the simplest form. */
function judge({ prices, routes, mode, text }: World, who: Person) {
  const find = <T extends { prefix: string }>(rows: readonly T[]): T | undefined =>
    rows
      .filter((r) => who.number?.slice(1).startsWith(r.prefix))
      .toSorted((a, b) => b.prefix.length - a.prefix.length)[0];
  const named = chainOf(mode);
  const supported = named.filter((channel) => who.channels & bitOf(channel));
  const able = supported.filter((channel) => !who.optedOut.includes(channel));
  const body = text.replace('{{firstName|you}}', who.firstName || 'you').replace('{{firstName}}', who.firstName);
  const parts = !named.includes('SMS') ? 1 : body === '' ? 0 : countParts(body).parts;
  const sendable = parts >= 1 && parts <= 10;
  const routed = find(routes.map((prefix) => ({ prefix }))) !== undefined;
  const priced = able.flatMap((channel) => {
    const own = find(prices.filter((p) => p.channel === channel));
    return own ? [{ channel, own }] : [];
  });
  const chain = priced.filter(({ channel }) => channel !== 'SMS' || (routed && sendable));
  const reason: SkipReason | null =
    who.number === null || !who.isValid
      ? 'invalid'
      : supported.length === 0
        ? 'unsupported'
        : able.length === 0
          ? 'opted_out'
          : chain.length > 0
            ? null
            : !sendable
              ? 'text'
              : priced.length > 0
                ? 'no_route'
                : 'no_price';
  const costs = chain.map(({ channel, own }) => ({ ...own, micros: own.unitMicros * (channel === 'SMS' ? parts : 1) }));
  // Every way to end: at one channel, having paid for those before it that do not refund.
  const ways = costs.map((end, k) =>
    costs.slice(0, k).reduce((sum, c) => sum + (c.refundUndelivered ? 0 : c.micros), end.micros),
  );
  return {
    reason,
    parts,
    reserve: reason === null ? Math.max(...ways) : 0,
    channels: reason === null ? chain.reduce((bits, { channel }) => bits | bitOf(channel), 0) : 0,
  };
}

/** Creates an account with these people in three lists, and the plan of a campaign to all three. */
async function build({ people, prices, routes, mode, text }: World): Promise<Plan & { listIds: number[] }> {
  const accountId = await createAccountWithCredit(pool, 0);
  const listIds: number[] = [];
  for (const name of ['a', 'b', 'c'])
    listIds.push(
      (
        await one<{ id: number }>(
          pool,
          sql`INSERT INTO contact_list (account_id, name) VALUES (${accountId}, ${name}) RETURNING id`,
        )
      ).id,
    );
  for (const [i, who] of people.entries()) {
    const { id } = await one<{ id: number }>(
      pool,
      sql`INSERT INTO contact (account_id, first_name, phone_number, email, is_valid, channels, country)
          VALUES (${accountId}, ${who.firstName}, ${who.number}, ${`p${i}@example.com`}, ${who.isValid}, ${who.channels},
            ${who.number?.slice(1, 3) ?? null}) RETURNING id`,
    );
    const own = listIds.filter((_, n) => who.lists[n]);
    await exec(
      pool,
      sql`INSERT INTO contact_list_member (account_id, list_id, contact_id, name_key)
      SELECT ${accountId}, l, ${id}, '' FROM unnest(${plainArray(own)}::bigint[]) AS l`,
    );
    for (const channel of who.optedOut)
      if (who.number)
        await exec(
          pool,
          sql`INSERT INTO opt_out (account_id, phone_number, channel, source) VALUES (${accountId}, ${who.number}, ${channel}, 'API')`,
        );
  }
  const pieces = chainOf(mode).includes('SMS') ? parseText(text, []).pieces : null;
  const routed = routes.map((prefix) => ({ channel: 'SMS', prefix }) as const);
  return {
    accountId,
    campaignId: 1,
    mode,
    listIds,
    refusals: { ...NO_REFUSALS, accountId },
    pieces,
    isSmart: false,
    walk: true,
    prices,
    routes: routed,
  };
}

type Recipient = {
  destination: string;
  channels: number;
  sms_parts: number;
  reserve_micros: number;
  skip_reason: SkipReason | null;
};

async function walk(plan: Plan): Promise<Recipient[]> {
  const found: Recipient[] = [];
  for (;;) {
    const range = { after: found.at(-1)?.destination ?? null, limit: 7 };
    const next = await many<Recipient>(pool, sql`SELECT * FROM (${recipientsSql(plan, range)}) AS r`);
    if (next.length === 0) return found;
    found.push(...next);
  }
}

propertyTest.prop([world], { numRuns: runs(6) })(
  'audience and recipients are, to the micro-unit, what each person of the lists comes to by the rules',
  async (w) => {
    const plan = await build(w);
    const members = w.people.filter(({ lists }) => lists.some(Boolean));
    const expected = members.map((who) => ({ who, ...judge(w, who) }));
    const rows = await tenantTransaction(pool, plan, (tx) => listAudienceRows(tx, plan));
    const named = members.reduce((sum, { lists }) => sum + lists.filter(Boolean).length, 0);
    const audience = sumAudience(rows, w.mode, { named, unreadable: 0 });
    const cost = expected.reduce((sum, { reserve }) => sum + reserve, 0);
    expect(audience).toMatchObject({
      total: expected.filter(({ reason }) => reason === null).length,
      skippedTotal: expected.filter(({ reason }) => reason !== null).length,
      unlisted: members.filter(({ number }) => number === null).length,
      estimatedMicros: cost,
    });
    expect(audience.skipped.duplicate).toBe(named - members.length);
    for (const reason of ['invalid', 'unsupported', 'opted_out', 'text', 'no_route', 'no_price'] as const)
      expect([reason, audience.skipped[reason]]).toEqual([reason, expected.filter((e) => e.reason === reason).length]);
    expect(rows.reduce((sum, r) => sum + r.count * r.shareMicros.reduce((a, b) => a + b, 0), 0)).toBe(cost);
    const recipients = expected
      .filter(({ who }) => who.number !== null)
      .map(({ who, reason, parts, reserve, channels }) => ({
        destination: who.number,
        channels,
        sms_parts: parts,
        reserve_micros: reserve,
        skip_reason: reason,
      }))
      .toSorted((a, b) => ((a.destination ?? '') < (b.destination ?? '') ? -1 : 1));
    for (const way of [true, false])
      expect(
        (await walk({ ...plan, walk: way })).map(
          ({ destination, channels, sms_parts, reserve_micros, skip_reason }) => ({
            destination,
            channels,
            sms_parts,
            reserve_micros,
            skip_reason,
          }),
        ),
      ).toEqual(recipients);
  },
);

test('numbers are candidates like contacts, with the name and channels of their contact', async () => {
  const accountId = await createAccountWithCredit(pool, 0);
  await exec(
    pool,
    sql`INSERT INTO contact (account_id, first_name, phone_number, is_valid, channels) VALUES
    (${accountId}, ${'x'.repeat(200)}, '+393331000001', true, 7), (${accountId}, 'No', '+393331000003', true, 4)`,
  );
  const { id } = await one<{ id: number }>(
    pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode, destination_type, numbers, number_countries, number_channels)
        VALUES (${accountId}, 'c', 0, 'SMS', 2, '{+393331000001,+393331000002,+393331000003,+393331000004}',
                '{IT,IT,IT,""}', '{7,7,7,4}') RETURNING id`,
  );
  const prices = [{ channel: 'SMS', prefix: '', unitMicros: 10, refundUndelivered: false }] as const;
  const pieces = parseText('Hi {{firstName|you}}', []).pieces;
  const plan: Plan = {
    accountId,
    campaignId: id,
    mode: 'SMS',
    listIds: null,
    refusals: { ...NO_REFUSALS, accountId },
    isSmart: false,
    pieces,
    walk: false,
    prices,
    routes: [{ channel: 'SMS', prefix: '' }],
  };
  const found = await walk(plan);
  expect(found.map((r) => [r.destination.at(-1), r.sms_parts, r.reserve_micros, r.skip_reason])).toEqual([
    ['1', 2, 20, null],
    ['2', 1, 10, null],
    ['3', 1, 0, 'unsupported'],
    ['4', 1, 0, 'unsupported'],
  ]);
  const sums = sumAudience(await listAudienceRows(pool, plan), 'SMS', { named: 6, unreadable: 1 });
  expect(sums).toMatchObject({ total: 2, skippedTotal: 3, unlisted: 1, estimatedMicros: 30 });
  expect(sums.skipped).toMatchObject({ invalid: 1, unsupported: 2, duplicate: 1 });
  expect(sums.breakdown).toEqual([
    { channel: 'SMS', country: 'IT', parts: 1, count: 1, unitMicros: 10, priceMicros: 10 },
    { channel: 'SMS', country: 'IT', parts: 2, count: 1, unitMicros: 10, priceMicros: 20 },
  ]);
});

test.each([
  [
    'at the end of its first part, with letters alone',
    'a'.repeat(150),
    ['x'.repeat(10), 'x'.repeat(11), 'é'.repeat(10)],
  ],
  [
    'with characters of two septets',
    `€${'a'.repeat(148)}`,
    ['x'.repeat(10), 'x'.repeat(11), 'x€xxxxxxxx', 'xxxxxxxx€'],
  ],
  ['beyond the alphabet', 'a'.repeat(60), ['x', '`'.repeat(10), '`'.repeat(11), 'ж', 'Z_a z\n', '[']],
  ['beyond it in its own words', 'ж'.repeat(60), ['x'.repeat(10), 'x'.repeat(11)]],
  ['longer than a part before it is filled in', 'a'.repeat(170), ['', 'x']],
])('a text is counted as it will be sent: %s', async (_, words, names) => {
  const accountId = await createAccountWithCredit(pool, 0);
  const numbers = names.map((_name, n) => `+39333200000${n}`);
  for (const [n, name] of names.entries())
    await exec(
      pool,
      sql`INSERT INTO contact (account_id, first_name, phone_number, is_valid, channels)
          VALUES (${accountId}, ${name}, ${numbers[n]}, true, 7)`,
    );
  const { id } = await one<{ id: number }>(
    pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode, destination_type, numbers, number_countries, number_channels)
        VALUES (${accountId}, 'c', 0, 'SMS', 2, ${plainArray(numbers)}, ${plainArray(numbers.map(() => 'IT'))},
                ${plainArray(numbers.map(() => 7))}) RETURNING id`,
  );
  const pieces = parseText(`${words}{{firstName|}}`, []).pieces;
  const plan: Plan = {
    accountId,
    campaignId: id,
    mode: 'SMS',
    listIds: null,
    refusals: { ...NO_REFUSALS, accountId },
    isSmart: false,
    pieces,
    walk: false,
    prices: [],
    routes: [],
  };
  const found = await walk(plan);
  expect(found.map((r) => r.sms_parts)).toEqual(names.map((name) => countParts(words + name).parts));
});

test('a marketing template does not try WhatsApp for people who stopped marketing there, another one does', async () => {
  const accountId = await createAccountWithCredit(pool, 0);
  const stopped = '+393331000002';
  await exec(
    pool,
    sql`INSERT INTO consent (account_id, phone_number, channel, purpose, source)
        VALUES (${accountId}, ${stopped}, 'WHATSAPP', 'marketing', 'NETWORK')`,
  );
  const numbers = { numbers: ['+393331000001', stopped], countries: ['IT', 'IT'], channels: [7, 7] };
  const price = { prefix: '', unitMicros: 10, refundUndelivered: false };
  const planned = (mode: 'WHATSAPP' | 'WHATSAPP_SMS', hasMarketing: boolean): Plan => ({
    accountId,
    campaignId: 1,
    mode,
    listIds: null,
    named: { numbers },
    refusals: { ...NO_REFUSALS, accountId, hasMarketing },
    isSmart: false,
    pieces: mode === 'WHATSAPP' ? null : parseText('Hi', []).pieces,
    walk: false,
    prices: [
      { channel: 'WHATSAPP', ...price },
      { channel: 'SMS', ...price },
    ],
    routes: [{ channel: 'SMS', prefix: '' }],
  });
  const reasons = async (plan: Plan) => (await walk(plan)).map((r) => r.skip_reason ?? r.channels);
  const [whatsapp, sms] = [toBits(['WHATSAPP']), toBits(['SMS'])];
  expect(await reasons(planned('WHATSAPP', true))).toEqual([whatsapp, 'opted_out']);
  expect(await reasons(planned('WHATSAPP_SMS', true))).toEqual([whatsapp | sms, sms]);
  expect(await reasons(planned('WHATSAPP', false))).toEqual([whatsapp, whatsapp]);
  const rows = await listAudienceRows(pool, planned('WHATSAPP', true));
  expect(sumAudience(rows, 'WHATSAPP', { named: 2, unreadable: 0 })).toMatchObject({
    total: 1,
    skipped: { opted_out: 1 },
  });
});
