import { Button, Group, Image, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useFormat } from './format.ts';
import { Hint } from './hint.tsx';
import classes from './phone-preview.module.css';

type PhonePreviewProps = {
  readonly channel: 'SMS' | 'WHATSAPP' | 'RCS';
  /** The sender as shown on the phone. */
  readonly sender: string;
  /** The text as the recipient reads it; a placeholder is shown if it is empty. */
  readonly text: string;
  /** The URL of an image above the text, for templates and cards; must be on our own origin. */
  readonly image?: string | undefined;
  readonly title?: string | undefined;
  /** Labels of suggested replies and buttons. */
  readonly buttons?: readonly string[];
};

/** A preview of a message roughly as a phone shows it. */
export function PhonePreview({ channel, sender, text, image, title, buttons = [] }: PhonePreviewProps) {
  const { t } = useTranslation('ui');
  return (
    <figure className={classes.phone} aria-label={t('preview.label')} data-channel={channel}>
      <figcaption className={classes.sender}>
        <Text size="sm" fw={500} truncate dir="auto">
          {sender || t('preview.noSender')}
        </Text>
        <Text size="xs">{t(`channel.${channel}`)}</Text>
      </figcaption>
      <div className={classes.screen}>
        <div className={classes.bubble}>
          {image !== undefined && <Image src={image} alt="" radius="sm" mb={6} mah={160} fit="cover" />}
          {title !== undefined && (
            <Text size="sm" fw={600} dir="auto" style={{ overflowWrap: 'anywhere' }}>
              {title}
            </Text>
          )}
          {text === '' ? <span className={classes.empty}>{t('preview.empty')}</span> : <MessageText text={text} />}
        </div>
        {buttons.length > 0 && (
          <Stack gap={4} mt={4} w="85%">
            {buttons.map((button) => (
              <Button key={button} component="span" variant="default" size="compact-sm" radius="xl">
                {button}
              </Button>
            ))}
          </Stack>
        )}
      </div>
    </figure>
  );
}

type PartsCounterProps = {
  readonly characters: number;
  readonly parts: number;
  /** The encoding; null on channels without parts. */
  readonly encoding: string | null;
  /** Characters left in the last part. */
  readonly remaining?: number | null;
  /** The characters that force UCS-2, in which a part holds fewer characters. */
  readonly unsupported?: readonly string[];
};

/** The characters, parts and encoding of a text, and the characters that force UCS-2. */
export function PartsCounter({ characters, parts, encoding, remaining, unsupported = [] }: PartsCounterProps) {
  const { t } = useTranslation('ui');
  const format = useFormat();
  return (
    <Group gap="md" role="status" aria-live="polite">
      <Text size="xs" c="dimmed" className="tabular">
        {t('parts.characters', { count: characters, shown: format.number(characters) })}
      </Text>
      {encoding !== null && (
        <>
          <Text size="xs" fw={500} className="tabular">
            {t('parts.parts', { count: parts })}
          </Text>
          <Hint label={t(encoding === 'UCS-2' ? 'parts.ucs2' : 'parts.gsm7')}>
            <Text size="xs" c="dimmed" tabIndex={0}>
              {encoding}
            </Text>
          </Hint>
          {remaining !== null && remaining !== undefined && (
            <Text size="xs" c="dimmed" className="tabular">
              {t('parts.remaining', { count: remaining })}
            </Text>
          )}
        </>
      )}
      {unsupported.length > 0 && (
        <Text size="xs" className="foreign-text" style={{ color: 'var(--mantine-color-amber-text)' }}>
          {t('parts.unsupported', { characters: unsupported.slice(0, 12).join(' ') })}
        </Text>
      )}
    </Group>
  );
}

type MessageTextProps = { readonly text: string; readonly lines?: number; readonly size?: string };

/**
 * Text from outside, rendered as a text node and nothing else. URLs stay plain text, the text has its own direction,
 * and it cannot widen the layout. `lines` limits the number of lines.
 */
export const MessageText = ({ text, lines, size = 'sm' }: MessageTextProps) => (
  <Text
    component="span"
    size={size}
    className="foreign-text"
    dir="auto"
    display="block"
    {...(lines && { lineClamp: lines })}
  >
    {text}
  </Text>
);
