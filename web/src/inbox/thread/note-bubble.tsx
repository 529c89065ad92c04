import { Text } from '@mantine/core';
import { StickyNote, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { MessageText } from '../../ui/message/message-text.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { type Conversation, NEED } from '../conversation.ts';
import { deleteNote, type Note } from '../desk/tools.ts';
import classes from '../inbox.module.css';

type NoteBubbleProps = { readonly note: Note; readonly conversation: Conversation };

/** A note in the thread. Only colleagues see it. */
export function NoteBubble({ note: { id, text, author, timestamp }, conversation: { chatId } }: NoteBubbleProps) {
  const { t } = useTranslation('inbox');
  const { clock, exact } = useFormat();
  const remove = useAction({ run: deleteNote, refresh: [['inbox', 'notes', chatId]] });
  const at = new Date(timestamp);
  return (
    <li className={classes.noteBubble}>
      <Text size="xs" fw={600} className={classes.note}>
        <StickyNote size={12} aria-hidden="true" />
        {t('note.by', { name: author.name })}
      </Text>
      <MessageText text={text} />
      <span className={classes.meta}>
        <time dateTime={timestamp} title={exact(at)}>
          {clock(at)}
        </time>
        <GuardedIcon
          need={NEED}
          size="xs"
          label={t('note.delete', { name: author.name })}
          loading={remove.busy}
          onClick={() => remove.run({ chatId, id })}
        >
          <Trash2 size={12} />
        </GuardedIcon>
      </span>
    </li>
  );
}
