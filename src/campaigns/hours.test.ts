import { expect, test } from 'vitest';
import { type CampaignStage, openCampaignStage } from '../../test/support/campaigns/stage.ts';
import { testDatabase } from '../../test/support/database.ts';
import { actor, draft, freeOver } from '../../test/support/drafts.ts';
import { exec, many, sql } from '../core/db/query.ts';
import type { TrafficType } from '../channels/carrier.ts';
import { PURPOSES } from '../core/channels.ts';
import { purposeOfCampaign } from '../messages/billing.ts';
import { placeOf } from '../messages/calendar.ts';
import { NO_AREA } from '../messages/calendar-areas.ts';
import { prepare } from '../messages/prepare.ts';
import type { Draft } from '../messages/read-send.ts';
import { firstWaitOf, heldAt, limitsOf, placeOfRecipient } from './hours.ts';
import { produceMessages } from './produce.ts';
import { runStep } from './run.ts';

const { pool } = testDatabase();

/** Creates the recipients of a campaign, and no message. */
async function expanded(stage: CampaignStage, id: number): Promise<void> {
  await exec(pool, sql`UPDATE campaign SET paused_at = now() WHERE id = ${id}`);
  await stage.run();
}

/** Lets workers create messages at an instant. */
async function produceAt(stage: CampaignStage, campaignId: number, text: string): Promise<void> {
  const job = { accountId: stage.accountId, campaignId };
  let waitMs = 0;
  const at = { now: new Date(text), paused: false };
  while (waitMs === 0)
    await runStep({ pool, tables: stage.tables }, job, () => [
      async (step) => {
        waitMs = await produceMessages({ ...step, campaign: { ...step.campaign, ...at } });
        return waitMs;
      },
    ]);
}

const sentTo = async (stage: CampaignStage, id: number): Promise<string[]> =>
  (await stage.messages(id)).map(({ destination }) => destination).sort();

test('a marketing campaign that is confirmed on a Saturday evening reaches France on Monday at eight', async () => {
  const stage = await openCampaignStage(pool);
  const [danish, french] = ['+4520123456', '+33612345678'];
  const id = await stage.confirmed({ numbers: [french, danish], countries: ['FR', 'DK'], purpose: 'marketing' });
  await expanded(stage, id);
  await produceAt(stage, id, '2026-11-28T19:30:00Z');
  expect(await sentTo(stage, id)).toEqual([danish]);
  await produceAt(stage, id, '2026-11-29T11:00:00Z');
  await produceAt(stage, id, '2026-11-30T06:59:59Z');
  expect(await sentTo(stage, id)).toEqual([danish]);
  await produceAt(stage, id, '2026-11-30T07:00:00Z');
  expect(await sentTo(stage, id)).toEqual([french, danish]);
  expect(await many(pool, sql`SELECT DISTINCT purpose FROM message WHERE campaign_id = ${id}`)).toEqual([
    { purpose: 'marketing' },
  ]);
});

test('people in the United States get their messages when it is day in their state, each once', async () => {
  const stage = await openCampaignStage(pool);
  const [tollFree, newYork, texas, honolulu] = ['+18005550100', '+12125550100', '+12145550100', '+18085550100'];
  const numbers = [honolulu, texas, newYork, tollFree];
  const id = await stage.confirmed({ numbers, countries: numbers.map(() => 'US'), purpose: 'marketing' });
  await expanded(stage, id);
  // Tuesday: 8:00 in New York, 9:00 in Texas, 8:00 in Hawaii; for others 9:00 in Hawaii.
  const seen: string[][] = [];
  for (const time of ['12:59', '13:00', '14:59', '15:00', '18:00', '19:00']) {
    await produceAt(stage, id, `2026-12-01T${time}:00Z`);
    seen.push(await sentTo(stage, id));
  }
  expect(seen).toEqual([
    [],
    [newYork],
    [newYork],
    [newYork, texas],
    [newYork, texas, honolulu],
    [newYork, texas, tollFree, honolulu],
  ]);
});

const timed = {
  purpose: null,
  whatsappCategory: null,
  trafficType: null,
  respectCalendar: null,
  effectiveQuietHours: null,
  accountPurpose: null,
  accountRespectsCalendar: false,
  localTime: null,
  confirmedAt: null,
};

test('a campaign respects the calendar if it is marketing by its own word, or the account requires it', () => {
  const laws = (more: Partial<Parameters<typeof limitsOf>[0]>): boolean => limitsOf({ ...timed, ...more }).laws;
  expect(laws({})).toBe(false);
  expect(laws({ purpose: 'marketing' })).toBe(true);
  expect(laws({ purpose: 'marketing', respectCalendar: false })).toBe(false);
  expect(laws({ purpose: 'otp', respectCalendar: true })).toBe(false);
  expect(laws({ respectCalendar: true })).toBe(true);
  expect(laws({ whatsappCategory: 'marketing' })).toBe(false);
  expect(laws({ whatsappCategory: 'marketing', accountRespectsCalendar: true })).toBe(true);
  expect(laws({ trafficType: 'PROMOTION', accountRespectsCalendar: true })).toBe(true);
  expect(laws({ accountPurpose: 'marketing', accountRespectsCalendar: true, respectCalendar: false })).toBe(true);
});

test('a campaign and a single send of the same message have the same purpose, and wait for the same rule', () => {
  const tables = freeOver(() => [1]);
  const contents = [
    { category: null, trafficType: null },
    { category: 'marketing', trafficType: null },
    { category: 'utility', trafficType: null },
    { category: 'authentication', trafficType: null },
    { category: null, trafficType: 'PROMOTION' },
    { category: null, trafficType: 'AUTHENTICATION' },
  ] as const;
  const all = [null, ...PURPOSES];
  let waiting = 0;
  for (const destination of ['+33612345678', '+4520123456', '+12145550100', '+18085550100', '+393331234567'])
    for (const time of ['2026-11-28T20:00:00Z', '2026-11-29T03:30:00Z', '2026-12-01T15:00:00Z'])
      for (const { category, trafficType } of contents)
        for (const purpose of all)
          for (const accountPurpose of all)
            for (const [respectCalendar, respectsCalendar] of [
              [true, false],
              [false, true],
              [false, false],
            ] as const) {
              const at = new Date(time);
              const single = prepare(
                { ...actor(7), sendingRules: { purpose: accountPurpose, respectsCalendar, weeklyCap: null } },
                draft({ destination, purpose, respectCalendar, ...contentOf(category, trafficType) }),
                { ...tables, now: () => at },
                () => null,
              );
              if (single.kind === 'refused') throw new Error(single.refusal);
              const campaign = {
                ...timed,
                purpose,
                accountPurpose,
                respectCalendar,
                accountRespectsCalendar: respectsCalendar,
                whatsappCategory: category,
                trafficType,
              };
              expect(purposeOfCampaign(campaign)).toBe(single.message.purpose);
              const place = placeOfRecipient(placeOf(destination).country, destination);
              expect(firstWaitOf(place, campaign, at)).toEqual(single.hold ?? null);
              if (single.hold) waiting++;
            }
  expect(waiting).toBeGreaterThan(100);
});

function contentOf(category: string | null, trafficType: TrafficType | null): Partial<Draft> {
  if (trafficType !== null)
    return { channel: 'RCS', content: { channel: 'RCS', message: { text: 'Hello' }, trafficType } };
  if (category === null) return {};
  const template = { category, callingCode: null, message: null, hasPlaceholders: false };
  return { channel: 'WHATSAPP', content: { channel: 'WHATSAPP', template: '1', values: {} }, template };
}

test('the audience shows who would wait, how long, and for which rule', () => {
  const places = [
    { country: 'FR', area: NO_AREA, count: 4110 },
    { country: 'DK', area: NO_AREA, count: 31_204 },
    { country: 'US', area: 'US-TX', count: 5 },
    { country: 'US', area: 'US-TX.2', count: 2 },
  ];
  const campaign = { ...timed, purpose: 'marketing' } as const;
  // Saturday evening in Paris, Saturday afternoon in Texas; then Sunday morning in Texas.
  expect(heldAt(places, campaign, new Date('2026-11-28T19:30:00Z'))).toMatchObject([
    { country: 'FR', region: null, count: 4110, until: '2026-11-30T07:00:00.000Z', rule: 'calendar.FR.sunday' },
  ]);
  expect(heldAt(places, campaign, new Date('2026-11-29T15:00:00Z'))).toMatchObject([
    { region: 'US-TX', count: 5, until: '2026-11-29T18:00:00.000Z', rule: 'calendar.US-TX.sunday' },
    { region: 'US-TX', count: 2, until: '2026-11-29T19:00:00.000Z' },
    { country: 'FR', until: '2026-11-30T07:00:00.000Z' },
  ]);
  expect(heldAt(places, timed, new Date('2026-11-28T19:30:00Z'))).toEqual([]);
});

const localStarts = (passed: 'tomorrow' | 'now' | 'skip' | undefined, confirmedAt: string): unknown[] =>
  (
    [
      ['JP', NO_AREA],
      ['FR', NO_AREA],
      ['US', 'US-NY'],
      ['US', 'US-CA'],
    ] as const
  ).map(([country, area]) => {
    const campaign = {
      ...timed,
      localTime: { at: '2027-03-28T10:00', ...(passed && { passed }) },
      confirmedAt: new Date(confirmedAt),
    };
    const wait = firstWaitOf({ country, area }, campaign, campaign.confirmedAt);
    return wait === null || wait === 'skip' ? wait : wait.until.toISOString();
  });

test('a campaign by local time waits in each place for its own ten o’clock', () => {
  // In France, the clocks change that night.
  const [tokyo, paris, newYork, losAngeles] = ['01:00', '08:00', '14:00', '17:00'].map(
    (time) => `2027-03-28T${time}:00.000Z`,
  );
  expect(localStarts(undefined, '2027-03-27T12:00:00Z')).toEqual([tokyo, paris, newYork, losAngeles]);
  const late = '2027-03-28T12:00:00Z';
  expect(localStarts('now', late)).toEqual([null, null, newYork, losAngeles]);
  expect(localStarts('skip', late)).toEqual(['skip', 'skip', newYork, losAngeles]);
  expect(localStarts('tomorrow', late)).toEqual([
    '2027-03-29T01:00:00.000Z',
    '2027-03-29T08:00:00.000Z',
    newYork,
    losAngeles,
  ]);
});

test('people whose local time has passed are left out if the campaign says so, and the others get it in waves', async () => {
  const stage = await openCampaignStage(pool);
  const [danish, newYork, losAngeles] = ['+4520123456', '+12125550100', '+12135550100'];
  const numbers = [newYork, losAngeles, danish];
  const id = await stage.confirmed({ numbers, countries: ['US', 'US', 'DK'] });
  const localTime = { at: '2027-01-12T10:00', passed: 'skip' };
  await exec(
    pool,
    sql`UPDATE campaign SET local_time = ${JSON.stringify(localTime)}::jsonb, confirmed_at = '2027-01-12T12:00Z'
        WHERE id = ${id}`,
  );
  await expanded(stage, id);
  await produceAt(stage, id, '2027-01-12T12:00:00Z');
  expect(await sentTo(stage, id)).toEqual([]);
  await produceAt(stage, id, '2027-01-12T15:00:00Z');
  expect(await sentTo(stage, id)).toEqual([newYork]);
  await produceAt(stage, id, '2027-01-12T18:00:00Z');
  expect(await sentTo(stage, id)).toEqual([newYork, losAngeles]);
  expect(
    await many(
      pool,
      sql`SELECT destination, skip_reason FROM campaign_recipient WHERE campaign_id = ${id} AND skip_reason IS NOT NULL`,
    ),
  ).toEqual([{ destination: danish, skip_reason: 'time_passed' }]);
});
