import type { Content } from '../../carriers/content.ts';
import type { OwnFile } from '../../carriers/own-file.ts';
import type { TrafficType } from '../../carriers/traffic-type.ts';

/** A template and the values of its variables: the network's JSON is composed when the message is sent. */
export type TemplateContent = {
  /** The id of the template (src/network/templates). */
  readonly template: string;
  readonly channel: 'RCS' | 'WHATSAPP';
  readonly values: Readonly<Record<string, string>>;
  /** RCS: overrides that of the template. */
  readonly trafficType?: TrafficType;
};

/**
 * A complete content. Instead of URLs it may contain references to the account's files (src/media/reference.ts), which
 * `files` lists.
 */
export type WholeContent = Content & { readonly files?: readonly number[] };

/** The value of `message.content` for every message other than a plain text. */
export type StoredContent = WholeContent | TemplateContent;

export const isTemplateContent = (content: StoredContent): content is TemplateContent => 'template' in content;

/** Turns stored contents into those that carriers send. */
export type Resolver = {
  /** Reads everything that a batch of contents needs. */
  load(wanted: readonly { readonly accountId: number; readonly content: StoredContent }[]): Promise<void>;
  /**
   * Resolves a content that was loaded; null when it cannot be sent because its template is gone or no longer approved.
   */
  resolve(accountId: number, content: StoredContent): Content | null;
  /** Returns the account's file that a resolved content has a link to, if it has exactly one. */
  fileOf?(accountId: number, content: StoredContent): OwnFile | undefined;
};

/** A resolver without templates: only complete contents can be sent. */
export const WHOLE_CONTENT_ONLY: Resolver = {
  load: () => Promise.resolve(),
  resolve: (_, content) => (isTemplateContent(content) ? null : content),
};

/** Returns true if jsonb can store a value: PostgreSQL rejects NUL and lone surrogates, in texts and in names. */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, item]) => isStorable(name) && isStorable(item));
}
