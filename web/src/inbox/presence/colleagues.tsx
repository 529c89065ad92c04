import { Text } from '@mantine/core';
import { Eye, PencilLine } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import classes from '../inbox.module.css';
import { useColleagues } from './presence.ts';

/** Colleagues who type in a conversation or look at it, so that two do not reply at the same time. */
export function Colleagues({ chatId }: { readonly chatId: string }) {
  const { t } = useTranslation('inbox');
  const { list } = useFormat();
  const colleagues = useColleagues(chatId);
  const typing = colleagues.filter(({ activity }) => activity === 'TYPING');
  const shown = typing.length > 0 ? typing : colleagues;
  const Sign = typing.length > 0 ? PencilLine : Eye;
  const names = list(shown.map(({ username }) => username));
  return (
    <div role="status" className={classes.colleagues} data-typing={typing.length > 0}>
      {shown.length > 0 && (
        <Text size="xs" className={classes.note}>
          <Sign size={14} aria-hidden="true" />
          {t(typing.length > 0 ? 'presence.typing' : 'presence.looking', { names, count: shown.length })}
        </Text>
      )}
    </div>
  );
}
