import type { UseFormReturnType } from '@mantine/form';
import type { Network } from '../api/networks.ts';
import type { Purpose } from '../ui/values.tsx';

export const CHANNELS = ['SMS', 'WHATSAPP', 'RCS'] as const;
export type Channel = (typeof CHANNELS)[number];

/** The content types of each network. Cards are not offered for WhatsApp. */
export const KINDS = { WHATSAPP: ['template', 'text'], RCS: ['text', 'card', 'template'] } as const;
export type Kind = 'template' | 'text' | 'card';

export type NetworkDraft = {
  /** The ID of a number or an agent. */
  sender: string;
  kind: Kind;
  templateId: string;
  /** The template's values, by placeholder name. */
  variables: Readonly<Record<string, string>>;
  headerLink: string;
};

export type Picture = {
  readonly id: number;
  readonly name: string;
  readonly url: string;
  readonly isImage: boolean;
};

/**
 * The values of the form. Fields shared by several channels exist once, so that number and text are kept when the
 * channel changes.
 */
export type Draft = {
  destination: string;
  /** The name of the chosen contact; '' once the number is edited. */
  contactName: string;
  smsSender: string;
  text: string;
  WHATSAPP: NetworkDraft;
  RCS: NetworkDraft;
  cardTitle: string;
  picture: Picture | null;
  /** Suggested replies, one per line. */
  replies: string;
  /** Parameters of SMPP, one per line: TAG=VALUE or TAG:TYPE=VALUE. */
  tlvs: string;
  purpose: Purpose;
  respectCalendar: boolean;
  simulation: boolean;
  hasFallbackRcs: boolean;
  fallbackRcsText: string;
  hasFallbackSms: boolean;
  fallbackSmsText: string;
};
export type DraftForm = UseFormReturnType<Draft>;

const NETWORK = { sender: '', templateId: '', variables: {}, headerLink: '' };

export const emptyDraft = (destination: string, words = ''): Draft => ({
  destination,
  contactName: '',
  smsSender: '',
  text: words,
  cardTitle: '',
  picture: null,
  replies: '',
  WHATSAPP: { ...NETWORK, kind: 'template' },
  RCS: { ...NETWORK, kind: 'text' },
  tlvs: '',
  purpose: '',
  respectCalendar: false,
  simulation: false,
  hasFallbackRcs: false,
  fallbackRcsText: '',
  hasFallbackSms: false,
  fallbackSmsText: '',
});

/** The number as the API takes it: digits and a plus sign, without spaces or brackets. */
export const numberOf = ({ destination }: Pick<Draft, 'destination'>): string =>
  destination.replaceAll(/[\s().\-/]/g, '');

export const repliesOf = ({ replies }: Pick<Draft, 'replies'>): readonly string[] =>
  replies
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

const TLV_TYPES = ['cstring', 'octets', 'int8', 'int16', 'int32'] as const;

/** The parameters of SMPP as the API takes them; a line in another form is one with a tag that the API rejects. */
export const tlvsOf = ({ tlvs }: Pick<Draft, 'tlvs'>) =>
  tlvs
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [, tag = line, named, value = ''] = /^([^:=]+)(?::([a-z0-9]+))?=(.*)$/.exec(line) ?? [];
      if (named === undefined) return { tag, value };
      const type = TLV_TYPES.find((one) => one === named);
      return type === undefined ? { tag: line, value } : { tag, type, value };
    });

/** Returns true if the text is written in the form's text field. */
export const hasText = (channel: Channel, draft: Draft): boolean =>
  channel === 'SMS' || draft[channel].kind !== 'template';

/** The channels that can serve as fallback for this one. */
export const fallbackChannelsOf = (channel: Channel): readonly ('RCS' | 'SMS')[] =>
  channel === 'WHATSAPP' ? ['RCS', 'SMS'] : channel === 'RCS' ? ['SMS'] : [];

/** The fallback channels that are switched on. */
export const enabledFallbacksOf = (
  channel: Channel,
  { hasFallbackRcs, hasFallbackSms }: Draft,
): readonly ('RCS' | 'SMS')[] =>
  fallbackChannelsOf(channel).filter((next) => (next === 'RCS' ? hasFallbackRcs : hasFallbackSms));

export const isNetwork = (channel: Channel): channel is Network => channel !== 'SMS';
