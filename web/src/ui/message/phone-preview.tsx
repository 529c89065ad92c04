import { Button, Image, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { MessageText } from './message-text.tsx';
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
