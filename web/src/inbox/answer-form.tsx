import { ActionIcon, Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { Archive, FileText, Paperclip, Send, X } from 'lucide-react';
import { type KeyboardEvent, type Ref, Suspense, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { lazyPart } from '../api/load.ts';
import { MEDIA_NEED, type Media, uploadMedia } from '../api/media.ts';
import { useProblemText } from '../api/passkey.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { CompletionList, useOptions } from '../ui/completion.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { Hint } from '../ui/hint.tsx';
import { callName } from '../ui/initials.tsx';
import { Thumbnail } from '../ui/media.tsx';
import { PartsCounter } from '../ui/message.tsx';
import { Bytes, fillPlaceholders } from '../ui/values.tsx';
import {
  type CannedAnswer,
  type Channel,
  CONVERSATIONS,
  type Conversation,
  cannedQuery,
  useContact,
} from './conversation.ts';
import { useLeave } from './conversation-header.tsx';
import { useDraft } from './drafts.tsx';
import classes from './inbox.module.css';
import { ANSWER } from './use-keys.ts';
import { changeThread, withMessage } from './use-live.ts';

const Emoji = lazyPart(() => import('./emoji.tsx').then((file) => ({ default: file.Emoji })));
const MediaDialog = lazyPart(() => import('../ui/media-picker.tsx').then((file) => ({ default: file.MediaDialog })));

type AnswerFormProps = {
  readonly conversation: Conversation;
  /** Opens the templates; undefined on channels without templates. */
  readonly onTemplate: (() => void) | undefined;
};

/**
 * The form for a reply: a text or a file. Enter sends, Shift+Enter starts a new line; rejected text stays in the
 * form.
 */
export function AnswerForm({ conversation, onTemplate }: AnswerFormProps) {
  const { t } = useTranslation('inbox');
  const { chatId, channel } = conversation;
  const [draft, setDraft] = useDraft(chatId);
  const field = useRef<HTMLTextAreaElement>(null);
  const leave = useLeave(chatId);
  const [thenArchives, setThenArchives] = useState(false);
  const reply = useReply(() => {
    setDraft({ text: '', media: null });
    if (thenArchives) leave.archive();
  });
  const mayUpload = useSession().may(MEDIA_NEED);
  const upload = useAction({
    run: (file: File) => uploadMedia(file, { onProgress: () => undefined, signal: new AbortController().signal }),
    onDone: (media) => setDraft({ media }),
  });
  const pick = (): void =>
    openDialog(<MediaDialog title={t('answer.attach')} onChoose={(media) => setDraft({ media })} />);
  const insert = (piece: string): void => {
    const { selectionStart: from = draft.text.length, selectionEnd: to = from } = field.current ?? {};
    setDraft({ text: draft.text.slice(0, from) + piece + draft.text.slice(to) });
    field.current?.focus();
  };
  const text = draft.text.trim();
  const canSend = !reply.busy && !upload.busy && (draft.media !== null || text !== '');
  const send = (archives = false): void => {
    if (!canSend) return;
    setThenArchives(archives && !conversation.archived);
    // Now and not once it is sent: by then the agent may have left the field, and the next key be a shortcut.
    field.current?.focus();
    reply.run({ chatId, ...(draft.media ? { mediaId: draft.media.id } : { text }) });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Stack gap={6}>
        {draft.media ? (
          <Attached media={draft.media} onRemove={() => setDraft({ media: null })} />
        ) : (
          <ReplyField
            ref={field}
            conversation={conversation}
            busy={reply.busy}
            value={draft.text}
            onChange={(next) => setDraft({ text: next })}
            onSend={send}
            onPicture={channel !== 'SMS' && mayUpload ? (file) => upload.run(file) : undefined}
          />
        )}
        {reply.error !== null && <Problem error={reply.error} />}
        <Group justify="space-between" gap="xs">
          <Group gap={4}>
            {draft.media === null && (
              <Suspense>
                <Emoji onChoose={insert} />
              </Suspense>
            )}
            {channel !== 'SMS' && <Attach onOpen={pick} />}
            {onTemplate && (
              <Button variant="subtle" color="gray" size="xs" leftSection={<FileText size={16} />} onClick={onTemplate}>
                {t('template.short')}
              </Button>
            )}
            {channel === 'SMS' && <LiveParts text={draft.text} />}
          </Group>
          <Group gap={6} wrap="nowrap">
            {!conversation.archived && (
              <Hint label={t('answer.archive')}>
                <ActionIcon
                  variant="default"
                  size={36}
                  aria-label={t('answer.archive')}
                  aria-keyshortcuts="Control+Enter Meta+Enter"
                  disabled={!canSend}
                  onClick={() => send(true)}
                >
                  <Archive size={16} />
                </ActionIcon>
              </Hint>
            )}
            <Button type="submit" size="sm" rightSection={<Send size={16} />} loading={reply.busy} disabled={!canSend}>
              {t('answer.send')}
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  );
}

function Attach({ onOpen }: { readonly onOpen: () => void }) {
  const { t } = useTranslation('inbox');
  const reason = useSession().may({ scope: 'media' }) ? undefined : t('ui:why.scope');
  return (
    <Hint label={reason ?? t('answer.attach')}>
      <Button
        variant="subtle"
        color="gray"
        size="xs"
        leftSection={<Paperclip size={16} />}
        aria-disabled={reason !== undefined}
        data-disabled={reason !== undefined || undefined}
        onClick={() => reason === undefined && onOpen()}
      >
        {t('answer.file')}
      </Button>
    </Hint>
  );
}

function Attached({ media, onRemove }: { readonly media: Media; readonly onRemove: () => void }) {
  const { t } = useTranslation('inbox');
  return (
    <Group gap="sm" wrap="nowrap" className={classes.attached}>
      <div className={classes.small}>
        <Thumbnail media={media} />
      </div>
      <div style={{ minWidth: 0, flex: 1 }}>
        <Text size="sm" fw={500} truncate dir="auto">
          {media.name}
        </Text>
        <Text size="xs" c="dimmed">
          <Bytes count={media.sizeBytes} /> · {t('answer.alone')}
        </Text>
      </div>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={t('answer.remove', { name: media.name })}
        onClick={onRemove}
      >
        <X size={16} />
      </ActionIcon>
    </Group>
  );
}

export function Problem({ error }: { readonly error: unknown }) {
  const { t } = useTranslation('inbox');
  const problemText = useProblemText();
  return (
    <Text size="sm" c="var(--mantine-color-error)" role="alert" style={{ overflowWrap: 'anywhere' }}>
      {t('answer.failed', { reason: problemText(error) })}
    </Text>
  );
}

/** Maximum characters of a text. */
const MAX_LENGTHS = { SMS: 1530, WHATSAPP: 4096, RCS: 3072 } as const;

type ReplyFieldProps = {
  readonly conversation: Conversation;
  readonly ref: Ref<HTMLTextAreaElement>;
  readonly value: string;
  readonly busy: boolean;
  readonly onChange: (text: string) => void;
  /** Sends the reply, and archives the conversation if it is true. */
  readonly onSend: (archives: boolean) => void;
  /** Gets a pasted picture; undefined where the channel takes none. */
  readonly onPicture: ((file: File) => void) | undefined;
};

/** The field for a reply. A slash at its beginning offers the canned answers. */
function ReplyField({ conversation, ref, value, busy, onChange, onSend, onPicture }: ReplyFieldProps) {
  const { t } = useTranslation('inbox');
  const { entries, options } = useCanned(conversation, value, onChange);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (options.onKeyDown(event) || !sendsOn(event)) return;
    event.preventDefault();
    onSend(event.ctrlKey || event.metaKey);
  };
  return (
    <div className={classes.replyField} data-above="">
      {entries.length > 0 && <CompletionList label={t('canned.title')} entries={entries} options={options} />}
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
        {...options.field}
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
export const sendsOn = ({ key, shiftKey, nativeEvent }: KeyboardEvent): boolean =>
  key === 'Enter' && !shiftKey && !nativeEvent.isComposing;

/** The canned answers that the text calls. */
function useCanned(conversation: Conversation, text: string, onChange: (text: string) => void) {
  const { user } = useSession();
  const { contact } = conversation;
  const { data = [] } = useQuery({ ...cannedQuery, enabled: text.startsWith('/') });
  const known = useContact(contact.id);
  const [closedFor, setClosedFor] = useState('');
  const answers = closedFor === text ? [] : calledAnswers(text, data);
  const entries = answers.map((answer) => ({
    key: String(answer.id),
    name: `/${answer.shortcut}`,
    detail: answer.text,
  }));
  const options = useOptions(
    entries.map(({ key }) => key),
    {
      onChoose: (at) =>
        onChange(
          fillCanned(answers[at]?.text ?? '', {
            firstName: known?.firstName ?? undefined,
            lastName: known?.lastName ?? undefined,
            fullName: contact.name.startsWith('+') ? undefined : contact.name,
            agent: callName(user),
          }),
        ),
      onClose: () => setClosedFor(text),
    },
  );
  return { entries, options };
}

/** A reply: the conversation, or the recipient of a new one, and one of text, file and template. */
export type Reply = {
  readonly chatId?: string;
  readonly channel?: Channel;
  readonly destination?: string;
  readonly channelIdentity?: string;
  readonly text?: string;
  readonly mediaId?: number;
  readonly template?: { readonly id: string; readonly variables?: string[]; readonly headerLink?: string };
};

const sendReply = (body: Reply) => ok(api.POST(`${CONVERSATIONS}/reply`, { body }));

/** Sends a reply and adds it to its thread; `error` has the reason if it is rejected. */
export function useReply(onSent: (chatId: string) => void) {
  const queries = useQueryClient();
  return useAction({
    run: sendReply,
    refresh: [['inbox', 'list']],
    quiet: true,
    onDone({ chatId, ...message }) {
      changeThread(queries, chatId, (thread) => withMessage(thread, message));
      onSent(chatId);
    },
  });
}

const TYPING_MS = 300;

/** The number of parts of an SMS as counted by the server, updated shortly after each change. */
export function LiveParts({ text }: { readonly text: string }) {
  const [settled] = useDebouncedValue(text, TYPING_MS);
  const { data } = useQuery({
    queryKey: ['preview', 'SMS', settled],
    queryFn: () =>
      ok(api.POST('/api/partner-gateway/v1/messages/preview', { body: { channel: 'SMS', text: settled } })),
    enabled: settled !== '',
    placeholderData: keepPreviousData,
    retry: false,
  });
  if (text === '' || data === undefined) return null;
  return <PartsCounter {...data} />;
}

const CALL = /^\/([a-z0-9_-]*)$/i;
const MAX_SHOWN = 8;

/** The canned answers that a text calls: it is a slash and the beginning of a shortcut, or a word of the answer. */
export function calledAnswers(text: string, answers: readonly CannedAnswer[]): readonly CannedAnswer[] {
  const word = CALL.exec(text)?.[1]?.toLowerCase();
  if (word === undefined) return [];
  const beginning = answers.filter(({ shortcut }) => shortcut.startsWith(word));
  const within = answers.filter((one) => !beginning.includes(one) && one.text.toLowerCase().includes(word));
  return [...beginning, ...within].slice(0, MAX_SHOWN);
}

/** Values for the placeholders of a canned answer about the contact and the agent; undefined if not known. */
type CannedValues = Readonly<Record<'firstName' | 'lastName' | 'fullName' | 'agent', string | undefined>>;

/**
 * The text of a canned answer for a person. Unknown placeholders stay as they are written, so that the agent sees them.
 */
export const fillCanned = (text: string, values: CannedValues): string =>
  fillPlaceholders(text, (name) => (name in values ? values[name as keyof CannedValues] : undefined));
