import { Alert, VisuallyHidden } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { WifiOff } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLive } from './use-live.ts';

/** A stream that comes back within this time was never missed. */
const PATIENCE_MS = 2_000;
const POLL_MS = 5_000;

type ArrivalsProps = {
  /** The open conversation: what arrives there is read out. */
  readonly chat: string;
  /** How often everything has to ask by itself; false while the stream tells. */
  readonly onPoll: (ms: number | false) => void;
};

/** Follows the inbox; says when it cannot, and what arrives to who cannot see it. */
export function Arrivals({ chat, onPoll }: ArrivalsProps) {
  const { t } = useTranslation('inbox');
  const [arrived, setArrived] = useState('');
  const state = useLive(({ chatId, text }) => {
    if (chatId === chat) setArrived(text);
  });
  const [wasLost] = useDebouncedValue(state === 'lost', PATIENCE_MS);
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
