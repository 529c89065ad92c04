import type { TrafficType } from '../../carriers/traffic-type.ts';
import type { SenderChannel } from '../connections/kinds/kind.ts';

export type TemplateChannel = SenderChannel;

/** The parts of a template that are needed to send it. */
export type Sendable = {
  readonly channel: TemplateChannel;
  /** WhatsApp: the network's id. RCS: our own. */
  readonly id: string;
  /** Null: shared by all accounts. */
  readonly ownerId: number | null;
  readonly name: string;
  readonly language: string;
  /** Only an APPROVED template may be sent. */
  readonly status: string;
  readonly reason: string | null;
  /** WhatsApp: the array of components. RCS: a contentMessage. */
  readonly content: unknown;
  /** WhatsApp: the URL of the file in the header, for sends that name no other. */
  readonly headerLink: string | null;
  /** RCS: the purpose of its messages; null leaves it to the connection. */
  readonly trafficType: TrafficType | null;
  /** True if placeholders have names; otherwise numbers. */
  readonly named: boolean;
  /** The contact field of each placeholder, with its default behind a `|`. */
  readonly variables: readonly string[];
};

/** The part of a template that contains a placeholder. */
type Place = 'header' | 'body' | 'button' | 'text' | 'unknown';

export type Placeholder = {
  readonly place: Place;
  /** The text between the braces: a number or a name. */
  readonly name: string;
  /** The index of the button; 0 elsewhere. */
  readonly index: number;
  /** The name that clients see: `1`, `header.1`, `button.0.1`. */
  readonly label: string;
};
