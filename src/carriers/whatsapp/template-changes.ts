import { getMember, getText } from '../json.ts';

/** The status of a template; only approved ones can be sent (Cloud API, message templates). */
export type TemplateStatus =
  | 'PENDING'
  | 'APPROVED'
  | 'REJECTED'
  | 'PAUSED'
  | 'DISABLED'
  | 'IN_APPEAL'
  | 'PENDING_DELETION'
  | 'DELETED'
  | 'LIMIT_EXCEEDED'
  | 'ARCHIVED';

/**
 * Recipients' feedback on messages with a template; UNKNOWN while the network has not rated it (Cloud API, message
 * templates). Meta pauses a template that stays RED.
 */
export type TemplateQuality = 'GREEN' | 'YELLOW' | 'RED' | 'UNKNOWN';

/** Returns the quality named by the network; UNKNOWN for anything else. */
export const templateQualityOf = (text: string): TemplateQuality =>
  text === 'GREEN' || text === 'YELLOW' || text === 'RED' ? text : 'UNKNOWN';

/** A change of one template that the network reports. */
export type TemplateChange = {
  readonly templateId: string;
  readonly name: string;
  readonly language: string;
  /** The network's name of the event. */
  readonly event: string;
  /** The new status; null if it has not changed (a warning), or if the event is unknown. */
  readonly status: TemplateStatus | null;
  /** The new quality; null if the change is not about it. */
  readonly quality: TemplateQuality | null;
  readonly category: string | null;
  /** A readable reason. */
  readonly reason: string | null;
};

const STATUS_AFTER: ReadonlyMap<string, TemplateStatus> = new Map([
  ['APPROVED', 'APPROVED'],
  ['REINSTATED', 'APPROVED'],
  ['UNPAUSED', 'APPROVED'],
  ['PENDING', 'PENDING'],
  ['REJECTED', 'REJECTED'],
  ['PAUSED', 'PAUSED'],
  ['DISABLED', 'DISABLED'],
  ['IN_APPEAL', 'IN_APPEAL'],
  ['PENDING_DELETION', 'PENDING_DELETION'],
  ['DELETED', 'DELETED'],
  ['LIMIT_EXCEEDED', 'LIMIT_EXCEEDED'],
  ['ARCHIVED', 'ARCHIVED'],
]);

/**
 * The status by the title of a pause. LOCKED alone only means that the template cannot be edited
 * (developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/message_template_status_update).
 */
const STATUS_BY_TITLE: ReadonlyMap<string, TemplateStatus> = new Map([
  ['FIRST_PAUSE', 'PAUSED'],
  ['SECOND_PAUSE', 'PAUSED'],
  ['RATE_LIMITING_PAUSE', 'PAUSED'],
  ['UNPAUSE', 'APPROVED'],
  ['DISABLED', 'DISABLED'],
]);

/** Returns the status that an event or status text of the network stands for; null if it is unknown. */
export const templateStatusOf = (text: string): TemplateStatus | null => STATUS_AFTER.get(text) ?? null;

/** Reads the value of `message_template_status_update`; null if it names no template or no event. */
export function readTemplateChange(value: unknown): TemplateChange | null {
  const templateId = getText(value, 'message_template_id');
  const name = getText(value, 'message_template_name');
  const event = getText(value, 'event');
  if (event === '' || (templateId === '' && name === '')) return null;
  return {
    templateId,
    name,
    language: getText(value, 'message_template_language'),
    event,
    status: templateStatusOf(event) ?? STATUS_BY_TITLE.get(getText(getMember(value, 'other_info'), 'title')) ?? null,
    quality: null,
    category: getText(value, 'message_template_category') || null,
    reason: reasonIn(value),
  };
}

/** Reads the value of `message_template_quality_update`; null if it names no template or no quality. */
export function readQualityChange(value: unknown): TemplateChange | null {
  const templateId = getText(value, 'message_template_id');
  const name = getText(value, 'message_template_name');
  const event = getText(value, 'new_quality_score');
  if (event === '' || (templateId === '' && name === '')) return null;
  const language = getText(value, 'message_template_language');
  const quality = templateQualityOf(event);
  return { templateId, name, language, event, status: null, quality, category: null, reason: null };
}

function reasonIn(value: unknown): string | null {
  const rejection = getMember(value, 'rejection_info');
  const texts = [
    getText(value, 'reason').replace(/^NONE$/, ''),
    getText(getMember(value, 'other_info'), 'title'),
    getText(getMember(value, 'other_info'), 'description'),
    getText(rejection, 'reason'),
    getText(rejection, 'recommendation'),
  ];
  return (
    texts
      .filter((text) => text !== '')
      .join(' · ')
      .slice(0, 1000)
      .toWellFormed() || null
  );
}
