import { Badge, Group, Paper, Progress, Skeleton, Stack, Text } from '@mantine/core';
import {
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CirclePause,
  Clock,
  type LucideIcon,
  MessageCircle,
  MessageSquare,
  MessagesSquare,
  TriangleAlert,
} from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import classes from './facts.module.css';
import { useFormat } from './format.ts';
import { Hint } from './hint.tsx';

export const PURPOSES = ['marketing', 'transactional', 'otp', 'service'] as const;
/** The purpose of a message; '' for none of its own. */
export type Purpose = (typeof PURPOSES)[number] | '';

/** The choices of a purpose; `none` is the label of the first, without a purpose. */
export function usePurposes(none?: string): { readonly value: Purpose; readonly label: string }[] {
  const { t } = useTranslation('ui');
  const named = PURPOSES.map((value) => ({ value, label: t(`purpose.${value}`) }));
  return [{ value: '', label: none ?? t('purpose.none') }, ...named];
}

/** The tones of the statuses in docs/message-states.md. PENDING and SKIPPED apply to campaign recipients only. */
const MESSAGE: Readonly<Record<string, Tone>> = {
  PENDING: 'progress',
  ACCEPTED: 'progress',
  DELIVERED: 'good',
  READ: 'good',
  UNKNOWN: 'warning',
  SKIPPED: 'neutral',
  DELETED: 'neutral',
  REJECTED: 'bad',
  EXPIRED: 'bad',
  UNDELIVERABLE: 'bad',
  ERROR: 'bad',
  DISABLED: 'bad',
  UNSUPPORTED: 'bad',
  CONVERSATION_CLOSED: 'bad',
};

/** The tones of the five statuses of the specification and of three derived from other fields. */
const CAMPAIGN: Readonly<Record<string, Tone>> = {
  DRAFT: 'neutral',
  READY: 'neutral',
  SCHEDULED: 'progress',
  SENDING: 'progress',
  PAUSED: 'paused',
  COMPLETED: 'good',
  FAILED: 'bad',
  CANCELLED: 'neutral',
};

/** The status of a message, named as in docs/message-states.md. */
export function MessageStatus({ status }: { readonly status: string }) {
  const { t } = useTranslation('ui');
  return (
    <StatusBadge tone={MESSAGE[status] ?? 'neutral'}>
      {t(`messageStatus.${status}`, { defaultValue: status })}
    </StatusBadge>
  );
}

/** The status of a campaign. */
export function CampaignStatus({ status }: { readonly status: string }) {
  const { t } = useTranslation('ui');
  return (
    <StatusBadge tone={CAMPAIGN[status] ?? 'neutral'}>
      {t(`campaignStatus.${status}`, { defaultValue: status })}
    </StatusBadge>
  );
}

const CHANNELS: Readonly<Record<string, readonly [color: string, icon: LucideIcon]>> = {
  SMS: ['blue', MessageSquare],
  WHATSAPP: ['teal', MessageCircle],
  RCS: ['violet', MessagesSquare],
};

/** A channel with icon and name. */
export function ChannelBadge({ channel }: { readonly channel: string }) {
  const { t } = useTranslation('ui');
  const [color, Icon] = CHANNELS[channel] ?? (['gray', MessageSquare] as const);
  return (
    <Badge color={color} leftSection={<Icon size={13} aria-hidden="true" />} style={{ minWidth: 'max-content' }}>
      {t(`channel.${channel}`, { defaultValue: channel })}
    </Badge>
  );
}

/** The channels of a sending mode in one line, in order, for tables. */
export function ChannelOrder({ channels }: { readonly channels: readonly string[] }) {
  const { t } = useTranslation('ui');
  const names = channels.map((channel) => t(`channel.${channel}`, { defaultValue: channel }));
  return <span style={{ whiteSpace: 'nowrap' }}>{names.join(' → ')}</span>;
}

/** Several channels. */
export const Channels = ({ channels }: { readonly channels: readonly string[] }) => (
  <Group gap={4}>
    {channels.map((channel) => (
      <ChannelBadge key={channel} channel={channel} />
    ))}
  </Group>
);

type JobProgressProps = {
  /** The name of the job: "Importing people.csv". */
  readonly label: string;
  readonly done: number;
  /** The total; null while unknown. */
  readonly total: number | null;
  /** The estimated time left, in seconds; null or undefined if unknown. */
  readonly secondsLeft?: number | null | undefined;
  readonly tone?: 'running' | 'done' | 'failed' | 'paused';
  /** True to hide the text above the bar, for tables. */
  readonly compact?: boolean;
};

const COLORS = { running: 'blue', done: 'green', failed: 'red', paused: 'violet' } as const;

/** The progress of a job that takes longer than a second. */
export function JobProgress({ label, done, total, secondsLeft, tone = 'running', compact = false }: JobProgressProps) {
  const { t } = useTranslation('ui');
  const format = useFormat();
  const share = total === null ? 0 : total === 0 ? 1 : Math.min(1, done / total);
  const counted =
    total === null ? format.number(done) : t('progress.of', { done: format.number(done), total: format.number(total) });
  return (
    <Stack gap={4} miw={compact ? 96 : 160}>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text size="xs" truncate>
          {compact ? format.percent(share, 0) : label}
        </Text>
        <Text size="xs" c="dimmed" className="tabular" style={{ whiteSpace: 'nowrap' }}>
          {!compact && counted}
          {secondsLeft !== null && secondsLeft !== undefined && tone === 'running' && (
            <>
              {' · '}
              {t('progress.left')} <Duration seconds={secondsLeft} />
            </>
          )}
        </Text>
      </Group>
      <Progress.Root size="sm">
        <Progress.Section
          value={total === null ? 100 : share * 100}
          color={COLORS[tone]}
          animated={tone === 'running'}
          striped={total === null}
          aria-label={label}
          aria-valuetext={counted}
        />
      </Progress.Root>
    </Stack>
  );
}

type DateTimeProps = {
  /** The time in ISO 8601; null and undefined show `–`. */
  readonly value: string | null | undefined;
  /**
   * `moment` (default): the time today, the date before, the rest on hover; `exact`: date and time; `seconds`: with the
   * seconds; `day`: the date.
   */
  readonly show?: 'moment' | 'exact' | 'seconds' | 'day';
};

const FORMATS = { exact: 'brief', seconds: 'exact', day: 'day' } as const;

/** A point in time, in the user's time zone. */
export function DateTime({ value, show = 'moment' }: DateTimeProps) {
  const format = useFormat();
  if (value === null || value === undefined) return <span>–</span>;
  const instant = new Date(value);
  if (show !== 'moment') return <time dateTime={value}>{format[FORMATS[show]](instant)}</time>;
  return (
    <Hint label={() => `${format.exact(instant)}, ${format.relative(instant)}`}>
      <time dateTime={value} style={{ whiteSpace: 'nowrap' }}>
        {format.moment(instant)}
      </time>
    </Hint>
  );
}

/** A duration in its two largest units. */
export function Duration({ seconds }: { readonly seconds: number | null | undefined }) {
  const format = useFormat();
  return <span className="tabular">{seconds === null || seconds === undefined ? '–' : format.duration(seconds)}</span>;
}

/** The time until `to`, counted down every second, then `ended`. */
export function Countdown({ to, ended }: { readonly to: string; readonly ended: string }) {
  const now = useNow(1000);
  const format = useFormat();
  const seconds = (new Date(to).getTime() - now.getTime()) / 1000;
  return <span className="tabular">{seconds <= 0 ? ended : format.duration(seconds)}</span>;
}

type StatProps = {
  readonly label: string;
  /** The figure: `<Num />`, `<Money />` or `<Percent />`; undefined while loading. */
  readonly value: ReactNode;
  /** A note, such as the reference value of the figure. */
  readonly note?: ReactNode;
  readonly icon?: LucideIcon;
};

/** One key figure; use several in a `SimpleGrid`. */
export function Stat({ label, value, note, icon: Icon }: StatProps) {
  return (
    <Paper p="md">
      <Stack gap={4} component="dl" m={0}>
        <Group justify="space-between" wrap="nowrap" gap="xs" component="dt">
          <Text size="sm" c="dimmed" component="span">
            {label}
          </Text>
          {Icon && <Icon size={16} aria-hidden="true" color="var(--mantine-color-dimmed)" />}
        </Group>
        <Text component="dd" m={0} fz={24} lh={1.25} fw={600} className="tabular">
          {value === undefined ? <Skeleton h={30} w={96} /> : value}
        </Text>
        {note !== undefined && note !== false && (
          <Text component="dd" m={0} size="xs" c="dimmed">
            {note}
          </Text>
        )}
      </Stack>
    </Paper>
  );
}

/** A number with grouped digits; `–` if it is missing. */
export function Num({
  value,
  options,
}: {
  readonly value: number | null | undefined;
  readonly options?: Intl.NumberFormatOptions;
}) {
  const format = useFormat();
  return <span className="tabular">{value === null || value === undefined ? '–' : format.number(value, options)}</span>;
}

/** A share from 0 to 1, as a percentage. */
export function Percent({
  share,
  digits = 1,
}: {
  readonly share: number | null | undefined;
  readonly digits?: number;
}) {
  const format = useFormat();
  return <span className="tabular">{share === null || share === undefined ? '–' : format.percent(share, digits)}</span>;
}

/** A number of bytes, in a suitable unit. */
export function Bytes({ count }: { readonly count: number | null | undefined }) {
  const format = useFormat();
  return <span className="tabular">{count === null || count === undefined ? '–' : format.bytes(count)}</span>;
}

export type Tone = 'good' | 'bad' | 'warning' | 'progress' | 'paused' | 'neutral';

const TONES: Readonly<Record<Tone, readonly [color: string, icon: LucideIcon]>> = {
  good: ['green', CircleCheck],
  bad: ['red', CircleAlert],
  warning: ['amber', TriangleAlert],
  progress: ['blue', Clock],
  paused: ['violet', CirclePause],
  neutral: ['gray', CircleDashed],
};

/** A status as a word, an icon and a colour. */
export function StatusBadge({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  const [color, Icon] = TONES[tone];
  return (
    <Badge
      color={color}
      leftSection={<Icon size={13} aria-hidden="true" />}
      style={{ flexShrink: 0, minWidth: 'max-content' }}
    >
      {children}
    </Badge>
  );
}

export type Fact = { readonly label: string; readonly value: ReactNode };

/** A list of labelled values; on narrow windows, labels are above the values. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className={classes.facts}>
      {facts.map(({ label, value }) => (
        <div key={label} className={classes.fact}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A template's placeholder, with the blanks around its name. Its time is linear: a name cannot contain braces. */
const PLACEHOLDER = /\{\{([^{}|]+)\}\}/g;

/** Lists the placeholders of a template's text, `{{name}}`, in their order. */
export const placeholderNames = (text: string): string[] =>
  [...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name.trim()).filter((name) => name !== '');

/** Fills the placeholders of a template's text in; one without a value stays as it is written. */
export const fillPlaceholders = (text: string, valueOf: (name: string) => string | undefined): string =>
  text.replaceAll(PLACEHOLDER, (whole, name: string) => valueOf(name.trim()) || whole);

/** The current time, updated every `everyMs` milliseconds. */
export function useNow(everyMs = 20_000): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** A phone number in E.164, in tabular digits, never wrapped or reversed. */
export const MsisdnText = ({ number }: { readonly number: string | null | undefined }) => (
  <span className="tabular" dir="ltr" style={{ whiteSpace: 'nowrap' }}>
    {number ?? '–'}
  </span>
);

type MoneyProps = {
  readonly amount: number | null;
  readonly currency: string;
  /** True in a column of prices for one message, which all have four decimals. */
  readonly isPrice?: boolean;
};

/** An amount in its currency, in the format of the language. */
export function Money({ amount, currency, isPrice = false }: MoneyProps) {
  const format = useFormat();
  return <span className="tabular">{isPrice ? format.price(amount, currency) : format.money(amount, currency)}</span>;
}

/** The name of a custom field as people write it: with blanks for underscores, and without the `customFields.` of a path. */
export const customFieldName = (field: string): string => field.replace(/^customFields\./, '').replaceAll('_', ' ');

/** Returns a function that names a field of contacts: a standard one in the language of the user, a custom one. */
export function useFieldName(): (field: string) => string {
  const { t, i18n } = useTranslation('ui');
  return (field) => {
    const key = `contactField.${field}`;
    return i18n.exists(key, { ns: 'ui' }) ? t(key) : customFieldName(field);
  };
}
