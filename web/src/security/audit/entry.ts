import { api, ok } from '../../api/client.ts';

/** What is asked for, as the address of the page has it; days are those of the reader. */
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

/** The first instant of the day after. */
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

/** What can be asked for: the words of the server, those for which there are texts. */
export const ACTIONS = [
  ...(['account.campaigns', 'account.channels', 'account.create', 'account.limit', 'account.plan'] as const),
  ...(['account.rename', 'account.security', 'agent.request', 'api-key.create', 'api-key.delete'] as const),
  ...(['api-key.rotate', 'campaign.cancel', 'campaign.confirm', 'campaign.create', 'campaign.delete'] as const),
  ...(['campaign.goal', 'campaign.pause', 'campaign.resume', 'campaign.test', 'campaign.update'] as const),
  ...(['consent.update', 'contact.country', 'contact.delete', 'contact.limit', 'contact-import.create'] as const),
  ...(['contact-list.add', 'contact-list.create', 'contact-list.delete', 'contact-list.remove'] as const),
  ...(['contact-list.update', 'conversation.archive', 'conversation.assign', 'conversation.unarchive'] as const),
  ...(['credit.add', 'custom-field.create', 'custom-field.delete', 'custom-field.update'] as const),
  ...(['export.create', 'export.delete', 'export.repeat', 'media.create', 'media.delete'] as const),
  ...(['media.revoke-links', 'message.cancel', 'message.settle', 'schedule.cancel', 'schedule.release'] as const),
  ...(['sender.assign', 'sender.register', 'sender.remove', 'session.create', 'session.end'] as const),
  ...(['session.switch', 'social.connect', 'social.disconnect', 'social.disconnected'] as const),
  ...(['template.create', 'template.delete', 'template.update', 'user.create', 'user.delete'] as const),
  ...(['user.operator', 'user.password', 'user.role', 'webhook.create', 'webhook.delete'] as const),
  ...(['webhook.enable', 'webhook.replay', 'webhook.rotate-secret', 'webhook.update'] as const),
];
