import { expect, test } from 'vitest';
import { createPaceMeter } from './create.ts';
import { CAMPAIGN, type CampaignEntry } from './store.ts';

const START = Date.parse('2026-11-21T09:00:00Z');
const at = (seconds: number): Date => new Date(START + seconds * 1000);
const account = { accountId: 1 };

const RUN = {
  expanded: true,
  recipients: 1100,
  skipped: 100,
  ended: 0,
  delivered: 0,
  deliveredTwice: 0,
  unmade: 0,
  withdrawn: 0,
  messages: 0,
  produced: true,
  open: null,
};
const campaign = (more: Partial<CampaignEntry> = {}): CampaignEntry => ({
  id: 7,
  status: CAMPAIGN.SENDING,
  version: 1,
  unreadable: 0,
  audience: null,
  audienceAt: null,
  audienceFresh: true,
  lastMessagesAt: null,
  totalDestinations: 1000,
  estimatedMicros: 0,
  reservedMicros: 0,
  currency: 'EUR',
  availableMicros: null,
  failureReason: null,
  createdAt: at(0),
  updatedAt: at(0),
  confirmedAt: at(0),
  startedAt: at(0),
  pausedAt: null,
  cancelledAt: null,
  completedAt: null,
  run: RUN,
  delivered: 0,
  failed: 0,
  handled: 0,
  costMicros: 0,
  whatsappCategory: null,
  trafficType: null,
  effectiveQuietHours: null,
  accountPurpose: null,
  accountRespectsCalendar: false,
  now: at(0),
  purpose: null,
  respectCalendar: null,
  localTime: null,
  weeklyCap: null,
  encoding: null,
  tlvs: null,
  name: 'C',
  description: '',
  sendingMode: 'SMS',
  smsSender: 'A',
  smsBody: 'B',
  rcsAgentId: null,
  rcsTemplateId: null,
  rcsTrafficType: null,
  whatsappPhoneNumberId: null,
  whatsappTemplateId: null,
  destinationType: 1,
  contactListIds: [],
  scheduledAt: null,
  readyToSend: true,
  fallback: {},
  quietHours: null,
  rate: null,
  ...more,
});

test('at first it is the mean since the start, then that of the last minute', () => {
  const findPace = createPaceMeter();
  expect(findPace(account, campaign({ handled: 200 }), at(10))).toEqual({
    ratePerSecond: 20,
    estimatedSecondsLeft: 40,
  });
  expect(findPace(account, campaign({ handled: 300 }), at(30))).toEqual({
    ratePerSecond: 5,
    estimatedSecondsLeft: 140,
  });
});

test('without progress the remaining time is unknown', () => {
  expect(createPaceMeter()(account, campaign(), at(10))).toEqual({ ratePerSecond: 0, estimatedSecondsLeft: null });
});

test('in combined modes the remaining time lasts until all recipients have a final result, whatever was sent', () => {
  const combined = campaign({ sendingMode: 'RCS_SMS', handled: 1500, run: { ...RUN, ended: 500 } });
  expect(createPaceMeter()(account, combined, at(100))).toEqual({ ratePerSecond: 15, estimatedSecondsLeft: 100 });
});

test.each<Partial<CampaignEntry>>([
  { status: CAMPAIGN.READY },
  { status: CAMPAIGN.COMPLETED },
  { pausedAt: at(5) },
  { cancelledAt: at(5) },
])('what is not being sent has none: %j', (more) => {
  expect(createPaceMeter()(account, campaign({ handled: 10, ...more }), at(10))).toEqual({
    ratePerSecond: null,
    estimatedSecondsLeft: null,
  });
});

test('campaigns with the same id in two accounts are separate', () => {
  const findPace = createPaceMeter();
  findPace({ accountId: 1 }, campaign({ handled: 0 }), at(0));
  expect(findPace({ accountId: 2 }, campaign({ handled: 100 }), at(100)).ratePerSecond).toBe(1);
});
