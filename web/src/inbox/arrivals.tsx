import { Alert, VisuallyHidden } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { WifiOff } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { alertOf } from '../api/data.ts';
import { alertOfMention } from '../api/mentions.ts';
import { useSession } from '../api/session.ts';
import { useLive } from './use-live.ts';

/** Interruptions shorter than this are not reported. */
const GRACE_MS = 2_000;
const POLL_MS = 5_000;

type ArrivalsProps = {
  /** The open conversation, whose new messages are announced to screen readers. */
  readonly chat: string;
  /** Called with the poll interval in milliseconds; false while the stream is live. */
  readonly onPoll: (ms: number | false) => void;
  /** Opens the conversation of a notification. */
  readonly onOpen: (chat: string) => void;
};

/** Follows the inbox stream, shows interruptions, and announces new messages to screen readers. */
export function Arrivals({ chat, onPoll, onOpen }: ArrivalsProps) {
  const { t } = useTranslation('inbox');
  const [arrived, setArrived] = useState('');
  const { username } = useSession().user;
  const state = useLive(
    ({ chatId, text }) => {
      if (chatId === chat) setArrived(text);
      alertOf({ title: t('newMessage'), text: text.slice(0, 200), onOpen: () => onOpen(chatId) });
    },
    (note) => alertOfMention(note, { username, t, onOpen }),
  );
  const [wasLost] = useDebouncedValue(state === 'lost', GRACE_MS);
  const isLost = wasLost && state === 'lost';
  useEffect(() => onPoll(isLost ? POLL_MS : false), [isLost, onPoll]);
  return (
    <>
      <VisuallyHidden role="status">{arrived !== '' && t('arrived', { text: arrived })}</VisuallyHidden>
      {isLost && (
        <Alert color="amber" icon={<WifiOff size={18} />} role="status">
          {t('lost')}
        </Alert>
      )}
    </>
  );
}
