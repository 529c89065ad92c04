import { Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type Ref, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../api/session.ts';
import type { Conversation } from '../conversation.ts';
import { type CannedAnswer, cannedQuery } from '../desk/tools.ts';
import classes from '../inbox.module.css';
import { useContact } from '../use-contact.ts';
import { ANSWER } from '../use-keys.ts';
import { calledAnswers, fillCanned } from './canned.ts';
import { CannedOptions, optionId } from './canned-options.tsx';

/** Maximum characters of a text. */
const MAX_LENGTHS = { SMS: 1530, WHATSAPP: 4096, RCS: 3072 } as const;

type ReplyFieldProps = {
  readonly conversation: Conversation;
  readonly ref: Ref<HTMLTextAreaElement>;
  readonly value: string;
  readonly busy: boolean;
  readonly onChange: (text: string) => void;
  readonly onSend: () => void;
  /** Gets a pasted picture; undefined where the channel takes none. */
  readonly onPicture: ((file: File) => void) | undefined;
};

/** The field for a reply. A slash at its beginning offers the canned answers. */
export function ReplyField({ conversation, ref, value, busy, onChange, onSend, onPicture }: ReplyFieldProps) {
  const { t } = useTranslation('inbox');
  const list = useId();
  const canned = useCanned(conversation, value, onChange);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (canned.onKey(event)) event.preventDefault();
    else if (sendsOn(event)) {
      event.preventDefault();
      onSend();
    }
  };
  return (
    <div className={classes.replyField}>
      {canned.isOpen && (
        <CannedOptions id={list} answers={canned.answers} active={canned.active} onChoose={canned.choose} />
      )}
      <Textarea
        ref={ref}
        {...{ [ANSWER]: '' }}
        aria-label={t('answer.label')}
        placeholder={t('answer.placeholder')}
        autosize
        minRows={1}
        maxRows={7}
        maxLength={MAX_LENGTHS[conversation.channel]}
        readOnly={busy}
        value={value}
        {...(canned.isOpen && {
          role: 'combobox',
          'aria-expanded': true,
          'aria-controls': list,
          'aria-activedescendant': optionId(list, canned.active),
        })}
        onChange={(event) => onChange(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          const picture = [...event.clipboardData.files].find(({ type }) => type.startsWith('image/'));
          if (!picture || !onPicture) return;
          event.preventDefault();
          onPicture(picture);
        }}
      />
    </div>
  );
}

/** Returns true if a key sends the reply; not while an input method is composing a character. */
const sendsOn = ({ key, shiftKey, nativeEvent }: KeyboardEvent): boolean =>
  key === 'Enter' && !shiftKey && !nativeEvent.isComposing;

/** The canned answers that the text calls, and the keys that choose one. */
function useCanned(conversation: Conversation, text: string, onChange: (text: string) => void) {
  const { user } = useSession();
  const { contact } = conversation;
  const isCalled = text.startsWith('/');
  const { data = [] } = useQuery({ ...cannedQuery, enabled: isCalled });
  const known = useContact(contact.id);
  const [at, setAt] = useState(0);
  const [closedFor, setClosedFor] = useState('');
  const answers = closedFor === text ? [] : calledAnswers(text, data);
  const active = Math.min(at, answers.length - 1);
  const choose = (answer: CannedAnswer): void => {
    onChange(
      fillCanned(answer.text, {
        firstName: known?.firstName ?? undefined,
        lastName: known?.lastName ?? undefined,
        fullName: contact.name.startsWith('+') ? undefined : contact.name,
        agent: user.username,
      }),
    );
    setAt(0);
  };
  const onKey = ({ key }: KeyboardEvent): boolean => {
    const chosen = answers[active];
    if (!chosen) return false;
    if (key === 'ArrowDown') setAt((active + 1) % answers.length);
    else if (key === 'ArrowUp') setAt((active + answers.length - 1) % answers.length);
    else if (key === 'Enter' || key === 'Tab') choose(chosen);
    else if (key === 'Escape') setClosedFor(text);
    else return false;
    return true;
  };
  return { answers, active, isOpen: answers.length > 0, choose, onKey };
}
