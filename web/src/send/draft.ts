import type { UseFormReturnType } from '@mantine/form';
import type { Network } from '../api/networks.ts';

export const CHANNELS = ['SMS', 'WHATSAPP', 'RCS'] as const;
export type Channel = (typeof CHANNELS)[number];

/** What a message of a network is made of. WhatsApp has no cards here. */
export const KINDS = { WHATSAPP: ['template', 'text'], RCS: ['text', 'card', 'template'] } as const;
export type Kind = 'template' | 'text' | 'card';

export type NetworkDraft = {
  /** The id of a number or agent. */
  sender: string;
  kind: Kind;
  templateId: string;
  /** By what the template's placeholders are called. */
  variables: Readonly<Record<string, string>>;
  headerLink: string;
};

export type Picture = {
  readonly id: number;
  readonly name: string;
  readonly url: string;
  readonly isImage: boolean;
};

/** The form. What several channels have is there once: who changes the channel keeps number and text. */
export type Draft = {
  destination: string;
  /** Of a contact that was chosen; empty once the number is changed. */
  contactName: string;
  smsSender: string;
  text: string;
  WHATSAPP: NetworkDraft;
  RCS: NetworkDraft;
  cardTitle: string;
  picture: Picture | null;
  /** Suggested replies, one a line. */
  replies: string;
  simulation: boolean;
  hasFallbackRcs: boolean;
  fallbackRcsText: string;
  hasFallbackSms: boolean;
  fallbackSmsText: string;
};
export type DraftForm = UseFormReturnType<Draft>;

const NETWORK = { sender: '', templateId: '', variables: {}, headerLink: '' };

export const emptyDraft = (destination: string): Draft => ({
  destination,
  contactName: '',
  smsSender: '',
  text: '',
  cardTitle: '',
  picture: null,
  replies: '',
  WHATSAPP: { ...NETWORK, kind: 'template' },
  RCS: { ...NETWORK, kind: 'text' },
  simulation: false,
  hasFallbackRcs: false,
  fallbackRcsText: '',
  hasFallbackSms: false,
  fallbackSmsText: '',
});

/** People write numbers with spaces and brackets; the interface takes digits and a plus. */
export const numberOf = ({ destination }: Pick<Draft, 'destination'>): string =>
  destination.replaceAll(/[\s().\-/]/g, '');

export const repliesOf = ({ replies }: Pick<Draft, 'replies'>): readonly string[] =>
  replies
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** The kinds in which the text is written in the form's field for it. */
export const hasText = (channel: Channel, draft: Draft): boolean =>
  channel === 'SMS' || draft[channel].kind !== 'template';

/** What follows when it does not arrive, on the channels that come after this one. */
export const followers = (channel: Channel): readonly ('RCS' | 'SMS')[] =>
  channel === 'WHATSAPP' ? ['RCS', 'SMS'] : channel === 'RCS' ? ['SMS'] : [];

/** Those of them that are wanted. */
export const fallbacksOf = (channel: Channel, { hasFallbackRcs, hasFallbackSms }: Draft): readonly ('RCS' | 'SMS')[] =>
  followers(channel).filter((next) => (next === 'RCS' ? hasFallbackRcs : hasFallbackSms));

export const isNetwork = (channel: Channel): channel is Network => channel !== 'SMS';
