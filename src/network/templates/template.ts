import type { SenderChannel } from '../senders/sql.ts';

export type TemplateChannel = SenderChannel;

/** What is needed of a template to send it. */
export type Sendable = {
  readonly channel: TemplateChannel;
  /** WhatsApp: the network's. RCS: ours. */
  readonly id: string;
  /** Null: every account's. */
  readonly ownerId: number | null;
  readonly name: string;
  readonly language: string;
  /** APPROVED may be sent. */
  readonly status: string;
  readonly reason: string | null;
  /** WhatsApp: the array of components. RCS: a contentMessage. */
  readonly content: unknown;
  readonly headerLink: string | null;
  readonly named: boolean;
  /** Of each placeholder the contact field, with its default behind a `|`. */
  readonly variables: readonly string[];
};

/** What a placeholder stands in. `media` is no text: the file of a header. */
type Place = 'header' | 'body' | 'button' | 'text' | 'unknown';

export type Placeholder = {
  readonly place: Place;
  /** As in the text, between the braces: a number or a name. */
  readonly name: string;
  /** The place among the buttons; 0 elsewhere. */
  readonly index: number;
  /** How people are told of it: `1`, `header.1`, `button.0.1`. */
  readonly label: string;
};
