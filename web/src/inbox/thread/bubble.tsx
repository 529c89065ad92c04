import { Text, VisuallyHidden } from '@mantine/core';
import { Check, CheckCheck, CircleAlert, CircleHelp, Clock } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { MessageText } from '../../ui/message/message-text.tsx';
import classes from '../inbox.module.css';
import { MediaView } from './media-view.tsx';
import type { Message } from './thread.ts';

type BubbleProps = {
  readonly message: Message;
  /** The name of the person. */
  readonly name: string;
};

/** One message: the person's on the left, replies on the right. */
export function Bubble({ message, name }: BubbleProps) {
  const { t } = useTranslation('inbox');
  const { clock, exact } = useFormat();
  const { direction, text, messageType, media, timestamp, deliveryStatus } = message;
  const isOurs = direction === 'OUTBOUND';
  const sentAt = new Date(timestamp);
  return (
    <li className={classes.bubble} data-ours={isOurs}>
      <VisuallyHidden>{isOurs ? t('weWrote') : t('theyWrote', { name })}</VisuallyHidden>
      {media && <MediaView media={media} messageType={messageType} />}
      {text !== '' ? (
        <MessageText text={text} />
      ) : (
        !media && (
          <Text size="sm" fs="italic">
            {t(`type.${messageType}`, { defaultValue: t('type.OTHER') })}
          </Text>
        )
      )}
      <span className={classes.meta}>
        {messageType === 'TEMPLATE' && <span>{t('type.TEMPLATE')}</span>}
        <time dateTime={timestamp} title={exact(sentAt)}>
          {clock(sentAt)}
        </time>
        {isOurs && deliveryStatus !== null && <Status status={deliveryStatus} />}
      </span>
    </li>
  );
}

const SIGNS: Readonly<Record<string, typeof Check>> = {
  ACCEPTED: Check,
  DELIVERED: CheckCheck,
  READ: CheckCheck,
  UNKNOWN: Clock,
};

/** The status of a reply, as ticks with a label. UNKNOWN is a message in transit without a receipt. */
function Status({ status }: { readonly status: NonNullable<Message['deliveryStatus']> }) {
  const { t } = useTranslation('inbox');
  const isFailed = !(status in SIGNS);
  const Sign = SIGNS[status] ?? (status === 'DELETED' ? CircleHelp : CircleAlert);
  return (
    <span className={classes.status} data-status={isFailed ? 'failed' : status}>
      <Sign size={14} aria-hidden="true" />
      {status === 'UNKNOWN' ? t('underWay') : t(`ui:messageStatus.${status}`, { defaultValue: status })}
    </span>
  );
}
