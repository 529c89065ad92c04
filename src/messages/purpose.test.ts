import { afterAll, expect, test } from 'vitest';
import { actor, draft, freeOver } from '../../test/support/drafts.ts';
import { openRoutes } from '../../test/support/http/routes.ts';
import { sendingRulesRoutes } from '../accounts/sending-rules.ts';
import { exec, sql } from '../core/db/query.ts';
import type { SendingRules } from '../core/actor.ts';
import { prepare } from './prepare.ts';
import type { Draft } from './read-send.ts';

const SATURDAY_EVENING = new Date('2026-11-28T20:00:00Z');
const MONDAY = new Date('2026-11-30T07:00:00Z');
const FRENCH = '+33612345678';

function prepared(more: Partial<Draft>, sendingRules?: Partial<SendingRules>) {
  const rules = { purpose: null, respectsCalendar: false, ...sendingRules } as SendingRules;
  const tables = { ...freeOver(() => [1]), now: () => SATURDAY_EVENING };
  const result = prepare({ ...actor(7), sendingRules: rules }, draft(more), tables, () => null);
  if (result.kind !== 'prepared') throw new Error(result.refusal);
  return result;
}
const purpose = (more: Partial<Draft>, of: SendingRules['purpose'] = null) =>
  prepared(more, { purpose: of }).message.purpose;

const content = { channel: 'WHATSAPP', template: '1', values: {} } as const;
const template = (category: string) =>
  ({
    channel: 'WHATSAPP',
    sender: '1',
    content,
    template: { category, callingCode: null, message: null, hasPlaceholders: false },
  }) as const;

test('the purpose is that of the request, or of the template, or of the key and the account', () => {
  expect(purpose({})).toBeNull();
  expect(purpose({}, 'service')).toBe('service');
  expect(purpose({ purpose: 'otp' }, 'service')).toBe('otp');
  expect(purpose(template('marketing'), 'service')).toBe('marketing');
  expect(purpose(template('utility'))).toBe('transactional');
  expect(purpose(template('authentication'))).toBe('otp');
});

test('a message that respects the calendar waits, with its validity and the rule, and goes by the routes of that time', () => {
  const validUntil = new Date(SATURDAY_EVENING.getTime() + 60_000);
  const held = prepared({ destination: FRENCH, purpose: 'marketing', respectCalendar: true, validUntil });
  expect(held.hold).toMatchObject({ until: MONDAY, rule: 'calendar.FR.sunday' });
  expect(held.message).toMatchObject({ scheduledAt: MONDAY, validUntil: new Date(MONDAY.getTime() + 60_000) });
  const scheduledAt = new Date('2026-12-01T12:00:00Z');
  const scheduled = prepared({ destination: FRENCH, purpose: 'marketing', respectCalendar: true, scheduledAt });
  expect([scheduled.hold, scheduled.message.scheduledAt]).toEqual([undefined, scheduledAt]);
});

test.each<[string, Partial<Draft>, Partial<SendingRules>, boolean]>([
  ['marketing that does not ask', { purpose: 'marketing' }, {}, false],
  ['marketing of an account that requires it', { purpose: 'marketing' }, { respectsCalendar: true }, true],
  ['that may not refuse', { purpose: 'marketing', respectCalendar: false }, { respectsCalendar: true }, true],
  ['a message without a purpose that asks', { respectCalendar: true }, {}, true],
  ['a code, even if it asks', { purpose: 'otp', respectCalendar: true }, { respectsCalendar: true }, false],
  ['a message without a purpose of such an account', {}, { respectsCalendar: true }, false],
])('%s waits or not', (_, more, rules, waits) => {
  expect(prepared({ destination: FRENCH, ...more }, rules).hold !== undefined).toBe(waits);
});

const { newAccount, ...routes } = await openRoutes([sendingRulesRoutes]);
afterAll(() => routes[Symbol.asyncDispose]());

test('an admin sets the purpose and the calendar of the account, field by field', async () => {
  const { apiKey, accountId } = await newAccount();
  const call = async (method: 'GET' | 'PUT', body?: object) =>
    (await routes.call(method, '/account/sending', body, apiKey)).body;
  expect(await call('GET')).toEqual({ purpose: null, respectCalendar: false, weeklyCap: null, tlvTags: [] });
  await exec(routes.pool, sql`UPDATE account SET tlv_tags = '{5120}' WHERE id = ${accountId}`);
  expect(await call('GET')).toMatchObject({ tlvTags: ['0x1400'] });
  expect(await call('PUT', { purpose: 'marketing' })).toMatchObject({ purpose: 'marketing', respectCalendar: false });
  expect(await call('PUT', { respectCalendar: true })).toMatchObject({ purpose: 'marketing', respectCalendar: true });
  expect(await call('PUT', { purpose: null })).toMatchObject({ purpose: null, respectCalendar: true });
  expect(await routes.call('PUT', '/account/sending', { purpose: 'spam' }, apiKey)).toMatchObject({ status: 400 });
});
