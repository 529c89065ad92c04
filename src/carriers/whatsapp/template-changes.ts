import { memberOf, wordsIn } from '../json.ts';

/** What a template may be; only an approved one is sent (protocol sheet whatsapp, section 4). */
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

export type TemplateChange = {
  readonly templateId: string;
  readonly name: string;
  readonly language: string;
  /** The network's word for what happened. */
  readonly event: string;
  /** What the template is from now on; null when that has not changed (a warning), or nobody knows the word. */
  readonly status: TemplateStatus | null;
  readonly category: string | null;
  /** Why, for people. */
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
  ['LOCKED', 'DISABLED'],
  ['IN_APPEAL', 'IN_APPEAL'],
  ['PENDING_DELETION', 'PENDING_DELETION'],
  ['DELETED', 'DELETED'],
  ['LIMIT_EXCEEDED', 'LIMIT_EXCEEDED'],
  ['ARCHIVED', 'ARCHIVED'],
]);

/** The status that a word of the network means, in a list of templates or in a notification; null for unknown words. */
export const templateStatusOf = (word: string): TemplateStatus | null => STATUS_AFTER.get(word) ?? null;

/** The value of `message_template_status_update`; null when it does not say which template, or what happened. */
export function readTemplateChange(value: unknown): TemplateChange | null {
  const templateId = wordsIn(value, 'message_template_id');
  const name = wordsIn(value, 'message_template_name');
  const event = wordsIn(value, 'event');
  if (event === '' || (templateId === '' && name === '')) return null;
  return {
    templateId,
    name,
    language: wordsIn(value, 'message_template_language'),
    event,
    status: templateStatusOf(event),
    category: wordsIn(value, 'message_template_category') || null,
    reason: reasonIn(value),
  };
}

function reasonIn(value: unknown): string | null {
  const rejection = memberOf(value, 'rejection_info');
  const words = [
    wordsIn(value, 'reason').replace(/^NONE$/, ''),
    wordsIn(memberOf(value, 'other_info'), 'title'),
    wordsIn(memberOf(value, 'other_info'), 'description'),
    wordsIn(rejection, 'reason'),
    wordsIn(rejection, 'recommendation'),
  ];
  return (
    words
      .filter((word) => word !== '')
      .join(' · ')
      .slice(0, 1000)
      .toWellFormed() || null
  );
}
