import { Button, Image, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { MessageText } from './message-text.tsx';
import classes from './phone-preview.module.css';

type PhonePreviewProps = {
  readonly channel: 'SMS' | 'WHATSAPP' | 'RCS';
  /** Whom it comes from, as the handset shows it. */
  readonly sender: string;
  /** The text as the recipient reads it; empty shows where it will be. */
  readonly text: string;
  /** A picture above the text, of a template or a card: an address of ours. */
  readonly image?: string | undefined;
  readonly title?: string | undefined;
  /** Suggested replies and buttons. */
  readonly buttons?: readonly string[];
};

/** A message about as a handset shows it. */
export function PhonePreview({ channel, sender, text, image, title, buttons = [] }: PhonePreviewProps) {
  const { t } = useTranslation('ui');
  return (
    <figure className={classes.phone} aria-label={t('preview.label')} data-channel={channel}>
      <figcaption className={classes.sender}>
        <Text size="sm" fw={600} truncate dir="auto">
          {sender || t('preview.noSender')}
        </Text>
        <Text size="xs">{t(`channel.${channel}`)}</Text>
      </figcaption>
      <div className={classes.screen}>
        <div className={classes.bubble}>
          {image !== undefined && <Image src={image} alt="" radius="sm" mb={6} mah={160} fit="cover" />}
          {title !== undefined && (
            <Text size="sm" fw={650} dir="auto" style={{ overflowWrap: 'anywhere' }}>
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
