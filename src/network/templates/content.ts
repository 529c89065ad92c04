import type { Content } from '../../carriers/content.ts';

/** A template with what fills its variables: made into the network's JSON when the message goes out. */
export type TemplateContent = {
  /** Our id of it (src/templates). */
  readonly template: string;
  readonly channel: 'RCS' | 'WHATSAPP';
  readonly values: Readonly<Record<string, string>>;
};

/** A whole content; in place of links it may hold references to the account's files (media/reference.ts), named here. */
export type WholeContent = Content & { readonly files?: readonly number[] };

/** What `message.content` holds of a message that is no plain text. */
export type StoredContent = WholeContent | TemplateContent;

export const isTemplateContent = (content: StoredContent): content is TemplateContent => 'template' in content;

/** Makes stored contents into those that carriers send. */
export type Resolver = {
  /** Reads what these need, a batch at a time. */
  load(wanted: readonly { readonly accountId: number; readonly content: StoredContent }[]): Promise<void>;
  /** Pure, after `load`; null when it cannot be sent: the template is gone, or was refused meanwhile. */
  resolve(accountId: number, content: StoredContent): Content | null;
};

/** Where no templates are known: only whole contents can be sent. */
export const FULL_ONLY: Resolver = {
  load: () => Promise.resolve(),
  resolve: (_, content) => (isTemplateContent(content) ? null : content),
};

/** Whether PostgreSQL's jsonb takes a value: it refuses NUL and halves of surrogate pairs, in texts and in names. */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, item]) => isStorable(name) && isStorable(item));
}
