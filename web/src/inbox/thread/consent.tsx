import { Text } from '@mantine/core';
import { BellOff, BellRing } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { Conversation } from '../conversation.ts';
import classes from '../inbox.module.css';
import type { Message } from './thread.ts';

type ConsentProps = { readonly message: Message; readonly conversation: Conversation };

/** A note in the thread about an opt-out or opt-in by a keyword such as STOP or START. */
export function Consent({ message: { consent }, conversation: { contact, channel } }: ConsentProps) {
  const { t } = useTranslation('inbox');
  const isOut = consent === 'OPTED_OUT';
  const Sign = isOut ? BellOff : BellRing;
  return (
    <li className={classes.notice} data-kind={isOut ? 'out' : 'in'}>
      <Sign size={14} aria-hidden="true" />
      <Text size="xs" dir="auto">
        {t(isOut ? 'optedOut' : 'optedIn', { name: contact.name, channel: t(`ui:channel.${channel}`) })}
      </Text>
    </li>
  );
}
