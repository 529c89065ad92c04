import { NativeSelect } from '@mantine/core';
import { UserRound } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { useSession } from '../api/session.ts';
import { Hint } from '../ui/hint.tsx';
import { useDisabledReason } from '../ui/actions/guarded-button.tsx';
import { assignConversation, type Conversation, NEED } from './conversation.ts';
import classes from './inbox.module.css';
import { useAssignable } from './use-assignable.ts';
import { onKey } from './use-keys.ts';

type AssigneeProps = { readonly conversation: Conversation };

/** The select for the assignee of a conversation. */
export function Assignee({ conversation: { chatId, assignee } }: AssigneeProps) {
  const { t } = useTranslation('inbox');
  const { user } = useSession();
  const reason = useDisabledReason(NEED);
  const people = useAssignable();
  const assign = useAction({
    run: assignConversation,
    refresh: [['inbox', 'one', chatId]],
  });
  // The assignee may have been removed or made a viewer since.
  const known = assignee === null || people.some(({ id }) => id === assignee.userId);
  const options = [
    { value: '', label: t('assign.nobody') },
    ...(known ? [] : [{ value: String(assignee.userId), label: assignee.username }]),
    ...people.map(({ id, username }) => ({
      value: String(id),
      label: id === user.id ? t('assign.me', { name: username }) : username,
    })),
  ];
  return (
    <Hint label={reason ?? t('assign.label')}>
      <NativeSelect
        aria-label={t('assign.label')}
        {...onKey('a')}
        className={classes.assignee}
        size="xs"
        leftSection={<UserRound size={14} aria-hidden="true" />}
        data={options}
        value={String(assignee?.userId ?? '')}
        disabled={reason !== undefined || assign.busy}
        onChange={({ currentTarget: { value } }) => assign.run({ chatId, userId: value === '' ? null : Number(value) })}
      />
    </Hint>
  );
}
