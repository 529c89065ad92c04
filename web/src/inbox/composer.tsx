import { Alert, Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { BellOff, Clock, Eye, FileText, PencilLine, StickyNote } from 'lucide-react';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { lazyPart } from '../api/load.ts';
import { openMentionAt } from '../api/mentions.ts';
import { useSession } from '../api/session.ts';
import { GuardedButton, useDisabledReason } from '../ui/actions.tsx';
import { CompletionList, useOptions, useTextAndCaret } from '../ui/completion.tsx';
import { Dialog, openDialog } from '../ui/dialog.tsx';
import { useDialog } from '../ui/lazy-props.ts';
import { useFormat } from '../ui/format.ts';
import { callName } from '../ui/initials.tsx';
import { Countdown, useNow } from '../ui/values.tsx';
import { AnswerForm, sendsOn } from './answer-form.tsx';
import { addNote, type Conversation, NEED, useAssignable, useColleagueName } from './conversation.ts';
import { useDraft } from './drafts.tsx';
import classes from './inbox.module.css';
import { ANSWER, onKey } from './use-keys.ts';
import { useColleagues } from './use-live.ts';

const TemplateForm = lazyPart(() => import('./template-form.tsx').then((file) => ({ default: file.TemplateForm })));

type ComposerProps = { readonly conversation: Conversation };

/** The forms for replies and notes, or the reason why the user cannot write. */
export function Composer({ conversation }: ComposerProps) {
  const { channel, contact } = conversation;
  const reason = useDisabledReason(NEED);
  const planReason = useDisabledReason({ scope: channel });
  const isClosed = useIsClosed(conversation);
  const openTemplate = (): void => openDialog(<TemplateDialog chatId={conversation.chatId} />);
  const [mode, setMode] = useState<Mode>('reply');
  if (reason !== undefined) return <Refused text={reason} />;
  return (
    <div className={classes.composer} data-mode={mode}>
      <Group gap={4} mb={6}>
        <ModeButton name="reply" mode={mode} onChoose={setMode} />
        <ModeButton name="note" mode={mode} onChoose={setMode} />
        <Colleagues chatId={conversation.chatId} />
      </Group>
      {mode === 'note' ? (
        <NoteForm chatId={conversation.chatId} />
      ) : planReason !== undefined ? (
        <Text size="sm" c="dimmed" {...REASON}>
          {planReason}
        </Text>
      ) : contact.optedOut ? (
        <OptedOut conversation={conversation} />
      ) : isClosed ? (
        <Closed conversation={conversation} onTemplate={openTemplate} />
      ) : (
        <Stack gap={6}>
          {channel === 'WHATSAPP' && <TimeLeft conversation={conversation} />}
          <AnswerForm conversation={conversation} onTemplate={channel === 'WHATSAPP' ? openTemplate : undefined} />
        </Stack>
      )}
    </div>
  );
}

function TemplateDialog({ chatId }: Pick<Conversation, 'chatId'>) {
  const { t } = useTranslation('inbox');
  const { close } = useDialog();
  return (
    <Dialog title={t('template.title')}>
      <TemplateForm target={{ chatId }} onSent={close} />
    </Dialog>
  );
}

type Mode = 'reply' | 'note';
type ModeButtonProps = { readonly name: Mode; readonly mode: Mode; readonly onChoose: (mode: Mode) => void };

/** Choice of the kind of text: a reply, or a note that only colleagues see. */
function ModeButton({ name, mode, onChoose }: ModeButtonProps) {
  const { t } = useTranslation('inbox');
  const isChosen = name === mode;
  return (
    <Button
      size="compact-xs"
      variant={isChosen ? 'light' : 'subtle'}
      color={isChosen ? 'amber' : 'gray'}
      aria-pressed={isChosen}
      {...onKey(name === 'reply' ? 'r' : 'n')}
      onClick={() => onChoose(name)}
    >
      {t(`mode.${name}`)}
    </Button>
  );
}

/**
 * Returns true if the WhatsApp window is closed: free-form replies are allowed for 24 hours after the person's last
 * message.
 */
function useIsClosed({ channel, windowExpiresAt }: Conversation): boolean {
  const now = useNow(1_000);
  return channel === 'WHATSAPP' && (windowExpiresAt === null || new Date(windowExpiresAt) <= now);
}

/** The props of a reason that is shown instead of the reply field and takes its focus. */
const REASON = { [ANSWER]: '', tabIndex: -1 };

const Refused = ({ text }: { readonly text: string }) => (
  <div className={classes.composer}>
    <Text size="sm" c="dimmed" {...REASON}>
      {text}
    </Text>
  </div>
);

function OptedOut({ conversation: { contact, channel } }: ComposerProps) {
  const { t } = useTranslation('inbox');
  return (
    <Alert color="red" icon={<BellOff size={18} />} {...REASON}>
      {t('refusedOptedOut', { name: contact.name, channel: t(`ui:channel.${channel}`) })}
    </Alert>
  );
}

function TimeLeft({ conversation: { windowExpiresAt } }: ComposerProps) {
  const { t } = useTranslation('inbox');
  if (windowExpiresAt === null) return null;
  return (
    <Group gap={6} wrap="nowrap">
      <Clock size={14} aria-hidden="true" />
      <Text size="xs" c="dimmed">
        {t('window.open')} <Countdown to={windowExpiresAt} ended={t('window.ended')} />
      </Text>
    </Group>
  );
}

function Closed({ conversation, onTemplate }: ComposerProps & { readonly onTemplate: () => void }) {
  const { t } = useTranslation('inbox');
  const key = conversation.windowExpiresAt === null ? 'window.never' : 'window.closed';
  return (
    <Alert color="amber" icon={<Clock size={18} />} title={t('window.title')} {...REASON}>
      <Stack gap="sm" align="flex-start">
        <Text size="sm">{t(key, { name: conversation.contact.name })}</Text>
        <GuardedButton need={NEED} size="sm" leftSection={<FileText size={16} />} onClick={onTemplate}>
          {t('template.open')}
        </GuardedButton>
      </Stack>
    </Alert>
  );
}

const MAX_LENGTH = 4096;

/** The form for a note: only colleagues see it. Enter saves it. */
function NoteForm({ chatId }: { readonly chatId: string }) {
  const { t } = useTranslation('inbox');
  const [draft, setDraft] = useDraft(`${chatId}:note`);
  const [wasSaved, setSaved] = useState(false);
  const add = useAction({
    run: addNote,
    refresh: [['inbox', 'notes', chatId]],
    onDone: () => {
      setDraft({ text: '' });
      setSaved(true);
    },
  });
  const text = draft.text.trim();
  const save = (): void => {
    if (text !== '' && !add.busy) add.run({ chatId, text });
  };
  const area = useRef<HTMLTextAreaElement>(null);
  const write = (next: string): void => {
    setDraft({ text: next });
    setSaved(false);
  };
  const { entries, options, close, look } = useMention(useTextAndCaret(area, write), draft.text);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <Stack gap={6}>
        <div className={classes.replyField} data-above="">
          {entries.length > 0 && <CompletionList label={t('note.colleagues')} entries={entries} options={options} />}
          <Textarea
            ref={area}
            {...{ [ANSWER]: '' }}
            aria-label={t('note.label')}
            placeholder={t('note.placeholder')}
            autosize
            minRows={1}
            maxRows={7}
            maxLength={MAX_LENGTH}
            autoFocus
            readOnly={add.busy}
            value={draft.text}
            {...options.field}
            onChange={(event) => {
              write(event.currentTarget.value);
              look(event.currentTarget);
            }}
            onClick={(event) => look(event.currentTarget)}
            onBlur={close}
            onKeyDown={(event) => {
              if (options.onKeyDown(event) || !sendsOn(event)) return;
              event.preventDefault();
              save();
            }}
          />
        </div>
        <Group justify="space-between" gap="xs">
          <Text size="xs" c="dimmed" role="status">
            {t(wasSaved ? 'note.saved' : 'note.private')}
          </Text>
          <Button
            type="submit"
            size="sm"
            rightSection={<StickyNote size={16} />}
            loading={add.busy}
            disabled={text === ''}
          >
            {t('note.save')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** The colleagues whose names complete an @ at the caret of a note. */
function useMention(write: ReturnType<typeof useTextAndCaret>, text: string) {
  const { user } = useSession();
  const people = useAssignable();
  const [typed, setTyped] = useState<ReturnType<typeof openMentionAt>>(null);
  const wanted = typed?.name.toLowerCase() ?? '';
  const entries = (typed === null ? [] : people)
    .filter(({ id }) => id !== user.id)
    .map((person) => ({ key: person.username, name: callName(person), detail: `@${person.username}` }))
    .filter(({ name, detail }) => `${detail} ${name}`.toLowerCase().includes(wanted));
  const close = (): void => setTyped(null);
  const options = useOptions(
    entries.map(({ key }) => key),
    {
      onChoose: (at) => {
        if (typed === null) return;
        const before = `${text.slice(0, typed.from)}@${entries[at]?.key} `;
        write({ text: before + text.slice(typed.to), caret: before.length });
        close();
      },
      onClose: close,
    },
  );
  const look = ({ value, selectionEnd }: HTMLTextAreaElement): void => setTyped(openMentionAt(value, selectionEnd));
  return { entries, options, close, look };
}

/** Colleagues who type in a conversation or look at it, so that two do not reply at the same time. */
function Colleagues({ chatId }: { readonly chatId: string }) {
  const { t } = useTranslation('inbox');
  const { list } = useFormat();
  const colleagues = useColleagues(chatId);
  const typing = colleagues.filter(({ activity }) => activity === 'TYPING');
  const shown = typing.length > 0 ? typing : colleagues;
  const Sign = typing.length > 0 ? PencilLine : Eye;
  const nameOf = useColleagueName();
  const names = list(shown.map(({ username }) => nameOf(username)));
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
