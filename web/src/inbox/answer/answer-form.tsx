import { ActionIcon, Button, Group, Stack, Text } from '@mantine/core';
import { FileText, Paperclip, Send, X } from 'lucide-react';
import { Suspense, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { useAction } from '../../api/action.ts';
import { type Media, MEDIA_NEED, uploadMedia } from '../../api/media.ts';
import { useProblemText } from '../../api/problem-text.ts';
import { useSession } from '../../api/session.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { Hint } from '../../ui/hint.tsx';
import { Bytes } from '../../ui/values/num.tsx';
import { Thumbnail } from '../../ui/media/thumbnail.tsx';
import type { Conversation } from '../conversation.ts';
import { useDraft } from '../drafts.ts';
import classes from '../inbox.module.css';
import { LiveParts } from './live-parts.tsx';
import { useReply } from './reply.ts';
import { ReplyField } from './reply-field.tsx';

const Emoji = lazyPart(() => import('./emoji.tsx').then((file) => ({ default: file.Emoji })));
const MediaPicker = lazyPart(() =>
  import('../../ui/media/media-picker.tsx').then((file) => ({ default: file.MediaPicker })),
);

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
  const [isPicking, setPicking] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const reply = useReply(() => setDraft({ text: '', media: null }));
  const mayUpload = useSession().may(MEDIA_NEED);
  const upload = useAction({
    run: (file: File) => uploadMedia(file, { onProgress: () => undefined, signal: new AbortController().signal }),
    onDone: (media) => setDraft({ media }),
  });
  const insert = (piece: string): void => {
    const { selectionStart: from = draft.text.length, selectionEnd: to = from } = field.current ?? {};
    setDraft({ text: draft.text.slice(0, from) + piece + draft.text.slice(to) });
    field.current?.focus();
  };
  const text = draft.text.trim();
  const canSend = !reply.busy && !upload.busy && (draft.media !== null || text !== '');
  const send = (): void => {
    if (!canSend) return;
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
            {channel !== 'SMS' && <Attach onOpen={() => setPicking(true)} />}
            {onTemplate && (
              <Button variant="subtle" color="gray" size="xs" leftSection={<FileText size={16} />} onClick={onTemplate}>
                {t('template.short')}
              </Button>
            )}
            {channel === 'SMS' && <LiveParts text={draft.text} />}
          </Group>
          <Button type="submit" size="sm" rightSection={<Send size={16} />} loading={reply.busy} disabled={!canSend}>
            {t('answer.send')}
          </Button>
        </Group>
      </Stack>
      <Dialog opened={isPicking} onClose={() => setPicking(false)} title={t('answer.attach')}>
        <Suspense>
          <MediaPicker
            onChoose={(media) => {
              setDraft({ media });
              setPicking(false);
            }}
          />
        </Suspense>
      </Dialog>
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
        <Text size="sm" fw={600} truncate dir="auto">
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
