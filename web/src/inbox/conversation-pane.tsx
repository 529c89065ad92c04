import { Anchor, Group, Loader, Text, VisuallyHidden } from '@mantine/core';
import { useDocumentVisibility } from '@mantine/hooks';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import {
  BellOff,
  BellRing,
  Check,
  CheckCheck,
  CircleAlert,
  CircleHelp,
  Clock,
  Download,
  FileText,
  Hourglass,
  MessageCircleOff,
  StickyNote,
  Trash2,
} from 'lucide-react';
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { sameOriginUrl } from '../api/media.ts';
import { splitMentions } from '../api/mentions.ts';
import { refresh } from '../api/refresh.ts';
import { ApiError } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { GuardedIcon } from '../ui/actions.tsx';
import { SidePanel } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { callName } from '../ui/initials.tsx';
import { MessageText } from '../ui/message.tsx';
import { ButtonLink, EmptyState, ErrorState } from '../ui/parts.tsx';
import { Bytes, useNow } from '../ui/values.tsx';
import { Composer } from './composer.tsx';
import {
  type Conversation,
  deleteNote,
  findConversation,
  NEED,
  type Note,
  notesQuery,
  readConversation,
  useAssignable,
  useColleagueName,
} from './conversation.ts';
import { ContactPane, ConversationHeader } from './conversation-header.tsx';
import { LoadMore } from './drafts.tsx';
import classes from './inbox.module.css';
import { MessageContent } from './message-content.tsx';
import { CONVERSATION } from './use-keys.ts';
import { listMessages, type Message, messagesOf, olderThan, threadKey, useReportPresence } from './use-live.ts';

type MessagesProps = { readonly conversation: Conversation; readonly pollMs: number | false };

/**
 * The messages of a thread, scrolled to the end. Rendered with column-reverse, so that the view keeps its place when
 * older messages are prepended and stays at the end when new ones arrive.
 */
function Messages({ conversation, pollMs }: MessagesProps) {
  const { t } = useTranslation('inbox');
  const { chatId, contact } = conversation;
  const thread = useInfiniteQuery({
    queryKey: threadKey(chatId),
    queryFn: ({ pageParam, signal }) => listMessages(chatId, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: olderThan,
    refetchInterval: pollMs,
  });
  const messages = thread.data ? messagesOf(thread.data) : [];
  const { data: notes = [] } = useQuery(notesQuery(chatId));
  const ref = useKeepPlace(messages.at(-1)?.id, messages.length + notes.length);
  return (
    <div
      ref={ref}
      className={classes.thread}
      // Focusable, so that it can be scrolled by keyboard.
      tabIndex={0}
      role="region"
      aria-label={t('messagesWith', { name: contact.name })}
    >
      {thread.isError && <ErrorState error={thread.error} onRetry={() => void thread.refetch()} />}
      {thread.isPending && <Loader size="sm" m="auto" aria-label={t('ui:loading')} />}
      {thread.data && (
        <div className={classes.messages}>
          {thread.hasNextPage ? (
            <LoadMore
              label={t('older')}
              busy={thread.isFetchingNextPage}
              onMore={() => void thread.fetchNextPage({ cancelRefetch: false })}
            />
          ) : (
            <Text size="xs" c="dimmed" ta="center">
              {t('beginning')}
            </Text>
          )}
          <ol className={classes.bubbles}>{withDays(withNotes(messages, notes, thread.hasNextPage), conversation)}</ol>
        </div>
      )}
    </div>
  );
}

type Entry = { readonly at: string; readonly message: Message } | { readonly at: string; readonly note: Note };

/** Messages and notes by their time. Of a thread that is not shown from its start, notes before the messages wait. */
function withNotes(messages: readonly Message[], notes: readonly Note[], hasOlder: boolean): readonly Entry[] {
  const start = hasOlder ? (messages[0]?.timestamp ?? '') : '';
  const shown = notes.filter(({ timestamp }) => timestamp >= start);
  return [
    ...messages.map((message) => ({ at: message.timestamp, message })),
    ...shown.map((note) => ({ at: note.timestamp, note })),
  ].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

/** The entries with a line at the start of each day. */
function withDays(entries: readonly Entry[], conversation: Conversation): ReactNode[] {
  let day = '';
  const texts = new Map(
    entries.flatMap((entry) => ('message' in entry ? [[entry.message.id, entry.message.text]] : [])),
  );
  return entries.flatMap((entry) => {
    const its = new Date(entry.at).toDateString();
    const line = its === day ? [] : [<DayLine key={its} value={entry.at} />];
    day = its;
    if ('note' in entry)
      return [...line, <NoteBubble key={entry.note.id} note={entry.note} conversation={conversation} />];
    const { message } = entry;
    return [
      ...line,
      <Bubble
        key={message.id}
        message={message}
        name={conversation.contact.name}
        quotedText={texts.get(message.content?.replyTo?.messageId ?? '')}
      />,
      ...(message.consent
        ? [<Consent key={`${message.id} consent`} message={message} conversation={conversation} />]
        : []),
    ];
  });
}

type ConversationPaneProps = {
  readonly chatId: string;
  readonly pollMs: number | false;
  /** True if the contact details are shown next to the conversation; otherwise a button opens them. */
  readonly isWide: boolean;
};

/** One conversation with the details of the person. */
export function ConversationPane({ chatId, pollMs, isWide }: ConversationPaneProps) {
  const { t } = useTranslation('inbox');
  const [isPersonOpen, setPersonOpen] = useState(false);
  const conversation = useQuery({
    queryKey: ['inbox', 'one', chatId],
    queryFn: ({ signal }) => findConversation(chatId, signal),
    refetchInterval: pollMs,
  });
  useMarkAsRead(conversation.data);
  useReportPresence(chatId);
  if (conversation.isError)
    return (
      <div className={classes.nothing}>
        {isUnknown(conversation.error) ? (
          <EmptyState icon={MessageCircleOff} title={t('gone.title')} text={t('gone.text')}>
            <ButtonLink to="/inbox">{t('showAll')}</ButtonLink>
          </EmptyState>
        ) : (
          <ErrorState error={conversation.error} onRetry={() => void conversation.refetch()} />
        )}
      </div>
    );
  if (!conversation.data)
    return (
      <div className={classes.nothing}>
        <Loader aria-label={t('ui:loading')} />
      </div>
    );
  const { contact } = conversation.data;
  return (
    <>
      <section
        className={classes.conversation}
        aria-label={t('conversationWith', { name: contact.name })}
        {...{ [CONVERSATION]: '' }}
      >
        <ConversationHeader
          conversation={conversation.data}
          onPerson={isWide ? undefined : () => setPersonOpen(true)}
        />
        <Messages conversation={conversation.data} pollMs={pollMs} />
        <Composer conversation={conversation.data} />
      </section>
      {isWide ? (
        <aside className={classes.person} aria-label={t('person.title')}>
          <ContactPane conversation={conversation.data} />
        </aside>
      ) : (
        <SidePanel opened={isPersonOpen} onClose={() => setPersonOpen(false)} title={t('person.title')}>
          <ContactPane conversation={conversation.data} />
        </SidePanel>
      )}
    </>
  );
}

/** Returns true if the conversation does not exist: a malformed ID gets a 400, an unknown one a 404. */
const isUnknown = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 400);

/** Marks the conversation as read while its window is visible; viewers change nothing. */
function useMarkAsRead(conversation: Conversation | undefined): void {
  const queries = useQueryClient();
  const isVisible = useDocumentVisibility() === 'visible';
  const mayWrite = useSession().may(NEED);
  const { mutate } = useMutation({
    mutationFn: readConversation,
    onSuccess: () => refresh(queries, ['inbox', 'unread']),
  });
  const chatId = conversation?.chatId;
  const unread = conversation?.unreadCount ?? 0;
  useEffect(() => {
    if (chatId !== undefined && unread > 0 && isVisible && mayWrite) mutate(chatId);
  }, [chatId, unread, isVisible, mayWrite, mutate]);
}

type BubbleProps = {
  readonly message: Message;
  /** The name of the person. */
  readonly name: string;
  /** The text of the message that this one answers. */
  readonly quotedText: string | undefined;
};

/** One message: the person's on the left, replies on the right. */
function Bubble({ message, name, quotedText }: BubbleProps) {
  const { t } = useTranslation('inbox');
  const { clock, exact } = useFormat();
  const { direction, text, messageType, media, content, timestamp, deliveryStatus } = message;
  const isOurs = direction === 'OUTBOUND';
  const sentAt = new Date(timestamp);
  return (
    <li className={classes.bubble} data-ours={isOurs}>
      <VisuallyHidden>{isOurs ? t('weWrote') : t('theyWrote', { name })}</VisuallyHidden>
      {content && <MessageContent content={content} quotedText={quotedText} />}
      {media && <MediaView media={media} messageType={messageType} />}
      {text !== ''
        ? // The text of a form is its fields as JSON.
          !content?.flow && <MessageText text={text} />
        : !media && (
            <Text size="sm" fs="italic">
              {t(`type.${messageType}`, { defaultValue: t('type.OTHER') })}
            </Text>
          )}
      <span className={classes.meta}>
        {messageType === 'TEMPLATE' && <span>{t('type.TEMPLATE')}</span>}
        <time dateTime={timestamp} title={exact(sentAt)}>
          {clock(sentAt)}
        </time>
        {isOurs && deliveryStatus !== null && <Status status={deliveryStatus} />}
      </span>
    </li>
  );
}

const SIGNS: Readonly<Record<string, typeof Check>> = {
  ACCEPTED: Check,
  DELIVERED: CheckCheck,
  READ: CheckCheck,
  UNKNOWN: Clock,
};

/** The status of a reply, as ticks with a label. UNKNOWN is a message in transit without a receipt. */
function Status({ status }: { readonly status: NonNullable<Message['deliveryStatus']> }) {
  const { t } = useTranslation('inbox');
  const isFailed = !(status in SIGNS);
  const Sign = SIGNS[status] ?? (status === 'DELETED' ? CircleHelp : CircleAlert);
  return (
    <span className={classes.status} data-status={isFailed ? 'failed' : status}>
      <Sign size={14} aria-hidden="true" />
      {status === 'UNKNOWN' ? t('underWay') : t(`ui:messageStatus.${status}`, { defaultValue: status })}
    </span>
  );
}

type MediaOf = NonNullable<Message['media']>;
type MediaViewProps = { readonly media: MediaOf; readonly messageType: string };

/** The file of a message: images, videos and audio are shown, other files are downloaded. */
function MediaView({ media, messageType }: MediaViewProps) {
  const { t } = useTranslation('inbox');
  const kind = t(`type.${messageType}`, { defaultValue: t('type.OTHER') });
  const name = media.fileName ?? kind;
  if (media.state !== 'STORED' || media.url === null)
    return <Missing isPending={media.state === 'PENDING'} name={name} />;
  const url = sameOriginUrl(media.url);
  const type = media.mimeType ?? '';
  if (type.startsWith('image/'))
    return (
      <a href={url} target="_blank" rel="noreferrer" className={classes.picture} aria-label={t('media.open', { name })}>
        <img src={media.thumbnailUrl === null ? url : sameOriginUrl(media.thumbnailUrl)} alt={name} loading="lazy" />
      </a>
    );
  // Videos that people send have no captions.
  if (type.startsWith('video/'))
    return <video controls preload="metadata" src={url} aria-label={name} className={classes.video} />;
  if (type.startsWith('audio/'))
    return <audio controls preload="none" src={url} aria-label={name} className={classes.audio} />;
  return <Document media={media} name={name} url={url} />;
}

function Document({ media, name, url }: { readonly media: MediaOf; readonly name: string; readonly url: string }) {
  const { t } = useTranslation('inbox');
  const type = media.mimeType?.split(';', 1)[0]?.split('/')[1]?.toUpperCase() ?? '';
  return (
    <Group gap="sm" wrap="nowrap" className={classes.document}>
      <FileText size={28} aria-hidden="true" />
      <div style={{ minWidth: 0 }}>
        <Anchor href={url} download={name} size="sm" fw={500} className="foreign-text">
          {name} <Download size={14} role="img" aria-label={t('media.download')} />
        </Anchor>
        <Text size="xs">
          {type} · <Bytes count={media.sizeBytes} />
        </Text>
      </div>
    </Group>
  );
}

function Missing({ isPending, name }: { readonly isPending: boolean; readonly name: string }) {
  const { t } = useTranslation('inbox');
  const Sign = isPending ? Hourglass : CircleAlert;
  return (
    <Group gap="xs" wrap="nowrap" className={classes.document}>
      <Sign size={20} aria-hidden="true" />
      <Text size="sm" className="foreign-text">
        {t(isPending ? 'media.pending' : 'media.failed', { name })}
      </Text>
    </Group>
  );
}

type NoteBubbleProps = { readonly note: Note; readonly conversation: Conversation };

/** A note in the thread. Only colleagues see it. */
function NoteBubble({ note: { id, text, author, timestamp }, conversation: { chatId } }: NoteBubbleProps) {
  const { t } = useTranslation('inbox');
  const { clock, exact } = useFormat();
  const name = useColleagueName()(author.name);
  const remove = useAction({ run: deleteNote, refresh: [['inbox', 'notes', chatId]] });
  const at = new Date(timestamp);
  return (
    <li className={classes.noteBubble}>
      <Text size="xs" fw={500} className={classes.note}>
        <StickyNote size={12} aria-hidden="true" />
        {t('note.by', { name })}
      </Text>
      <NoteText text={text} />
      <span className={classes.meta}>
        <time dateTime={timestamp} title={exact(at)}>
          {clock(at)}
        </time>
        <GuardedIcon
          need={NEED}
          size="xs"
          label={t('note.delete', { name })}
          loading={remove.busy}
          onClick={() => remove.run({ chatId, id })}
        >
          <Trash2 size={12} />
        </GuardedIcon>
      </span>
    </li>
  );
}

/** The text of a note, in which colleagues are called by their names. */
function NoteText({ text }: { readonly text: string }) {
  const { user } = useSession();
  const people = useAssignable();
  const parts = splitMentions(
    text,
    [user, ...people].map(({ username }) => username),
  );
  return (
    <Text component="span" size="sm" className="foreign-text" dir="auto" display="block">
      {parts.map((part, at) =>
        part.username === undefined ? (
          part.text
        ) : (
          <mark key={at} className={classes.mention} data-me={part.username === user.username || undefined}>
            @{callName(people.find(({ username }) => username === part.username) ?? user)}
          </mark>
        ),
      )}
    </Text>
  );
}

/** Within this distance of the end, the view follows new messages. */
const NEAR_PX = 40;

/**
 * Keeps the place in a thread rendered with column-reverse, whose scroll position counts from the end: a user who has
 * scrolled up keeps their place when a message is appended. `newest` and `count` identify the content of the thread.
 */
function useKeepPlace(newest: string | undefined, count: number) {
  const ref = useRef<HTMLDivElement>(null);
  const before = useRef<{ readonly newest: string | undefined; readonly height: number } | null>(null);
  useLayoutEffect(() => {
    const thread = ref.current;
    if (!thread) return;
    const last = before.current;
    const isBehind = last?.newest !== undefined && last.newest !== newest;
    if (isBehind && thread.scrollTop < -NEAR_PX) thread.scrollTop -= thread.scrollHeight - last.height;
    before.current = { newest, height: thread.scrollHeight };
  }, [newest, count]);
  return ref;
}

const DAY_MS = 86_400_000;

/** The line at the start of a day in a thread. */
function DayLine({ value }: { readonly value: string }) {
  const { t } = useTranslation('inbox');
  const { day } = useFormat();
  const now = useNow(60_000);
  const its = new Date(value);
  const isDay = (other: Date): boolean => its.toDateString() === other.toDateString();
  const words = isDay(now) ? t('today') : isDay(new Date(now.getTime() - DAY_MS)) ? t('yesterday') : day(its);
  return (
    <li className={classes.line}>
      <Text size="xs" c="dimmed" component="time" dateTime={value.slice(0, 10)}>
        {words}
      </Text>
    </li>
  );
}

type ConsentProps = { readonly message: Message; readonly conversation: Conversation };

/** A note in the thread about an opt-out or opt-in by a keyword such as STOP or START. */
function Consent({ message: { consent }, conversation: { contact, channel } }: ConsentProps) {
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
