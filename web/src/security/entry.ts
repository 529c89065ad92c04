import { api, ok } from '../api/send.ts';

/** The search in the URL; dates are in the user's time zone. */
export type AuditSearch = {
  readonly page: number;
  readonly limit: number;
  readonly person: string;
  readonly action: string;
  readonly subject: string;
  readonly from: string;
  readonly to: string;
};

const DAY = /^\d{4}-\d{2}-\d{2}$/;

const startOf = (day: string): Date => new Date(`${day}T00:00:00`);

/** The start of the next day. */
function endOf(day: string): Date {
  const next = startOf(day);
  next.setDate(next.getDate() + 1);
  return next;
}

const instantOf = (day: string, at: (day: string) => Date): string | undefined => {
  if (!DAY.test(day)) return undefined;
  const instant = at(day);
  return Number.isNaN(instant.getTime()) ? undefined : instant.toISOString();
};

export function listEntries(search: AuditSearch, signal: AbortSignal) {
  const { page, limit, person, action, subject } = search;
  const [from, to] = [instantOf(search.from, startOf), instantOf(search.to, endOf)];
  const query = {
    page,
    limit,
    ...(person && { userId: Number(person) }),
    ...(action && { action }),
    ...(subject && { subject }),
    ...(from && { from }),
    ...(to && { to }),
  };
  return ok(api.GET('/api/partner-gateway/v1/audit', { params: { query }, signal }));
}

export type Entry = Awaited<ReturnType<typeof listEntries>>['data'][number];

/** The actions that can be filtered by, which are those with a text. */
export const ACTIONS = [
  'account.campaigns',
  'account.channels',
  'account.create',
  'account.limit',
  'account.numbers',
  'account.plan',
  'account.rename',
  'account.resume',
  'account.retention',
  'account.second-factor',
  'account.security',
  'account.sending',
  'account.single-sign-on',
  'account.suspend',
  'account.tlv-tags',
  'agent.request',
  'api-key.create',
  'api-key.delete',
  'api-key.rotate',
  'campaign.cancel',
  'campaign.confirm',
  'campaign.create',
  'campaign.delete',
  'campaign.goal',
  'campaign.pause',
  'campaign.resume',
  'campaign.take-back',
  'campaign.test',
  'campaign.update',
  'canned-answer.add',
  'canned-answer.change',
  'canned-answer.remove',
  'consent.ask',
  'consent.decide',
  'consent.in',
  'consent.out',
  'consent.records',
  'consent.settings',
  'consent.update',
  'contact-import.create',
  'contact-list.add',
  'contact-list.create',
  'contact-list.delete',
  'contact-list.remove',
  'contact-list.update',
  'contact.country',
  'contact.delete',
  'contact.limit',
  'conversation.archive',
  'conversation.assign',
  'conversation.delete-note',
  'conversation.label',
  'conversation.snooze',
  'conversation.unarchive',
  'credit.add',
  'custom-field.create',
  'custom-field.delete',
  'custom-field.update',
  'dlt-template.remove',
  'dlt-template.set',
  'export.create',
  'export.delete',
  'export.repeat',
  'inbox-label.add',
  'inbox-label.change',
  'inbox-label.remove',
  'inbox-settings.change',
  'invitation.create',
  'invitation.resend',
  'invitation.revoke',
  'keyword-rule.add',
  'keyword-rule.change',
  'keyword-rule.remove',
  'media.create',
  'media.delete',
  'media.revoke-links',
  'message.cancel',
  'message.content',
  'message.reschedule',
  'message.settle',
  'number-pool.add',
  'number-pool.add-number',
  'number-pool.remove',
  'number-pool.remove-number',
  'number.assign',
  'number.remove',
  'person.erase',
  'person.merge',
  'registered-sender.remove',
  'registered-sender.set',
  'schedule.cancel',
  'schedule.release',
  'second-factor.add',
  'second-factor.recovery-codes',
  'second-factor.remove',
  'sender.assign',
  'sender.register',
  'sender.remove',
  'session.create',
  'session.end',
  'session.switch',
  'smpp-credential.create',
  'smpp-credential.delete',
  'smpp-credential.rotate',
  'smpp-credential.update',
  'social.connect',
  'social.disconnect',
  'social.disconnected',
  'template.create',
  'template.delete',
  'template.update',
  'user.create',
  'user.delete',
  'user.link',
  'user.name',
  'user.operator',
  'user.password',
  'user.reset-link',
  'user.role',
  'verify.add',
  'verify.change',
  'verify.hook-secret',
  'verify.range-blocked',
  'verify.range-released',
  'verify.remove',
  'webhook.create',
  'webhook.delete',
  'webhook.enable',
  'webhook.feed',
  'webhook.pause',
  'webhook.replay',
  'webhook.rotate-secret',
  'webhook.update',
] as const;
