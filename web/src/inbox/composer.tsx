import { Alert, Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { BellOff, Clock, Eye, FileText, PencilLine, StickyNote } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { lazyPart } from '../api/load.ts';
import { GuardedButton, useDisabledReason } from '../ui/actions.tsx';
import { Dialog, openDialog } from '../ui/dialog.tsx';
import { useDialog } from '../ui/lazy-props.ts';
import { useFormat } from '../ui/format.ts';
import { Countdown, useNow } from '../ui/values.tsx';
import { AnswerForm } from './answer-form.tsx';
import { addNote, type Conversation, NEED, useColleagueName } from './conversation.ts';
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
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <Stack gap={6}>
        <Textarea
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
          onChange={(event) => {
            setDraft({ text: event.currentTarget.value });
            setSaved(false);
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            save();
          }}
        />
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
