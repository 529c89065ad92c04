import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { BellOff, Clock, FileText } from 'lucide-react';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { Countdown } from '../../ui/values/date-time.tsx';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { GuardedButton, useDisabledReason } from '../../ui/actions/guarded-button.tsx';
import { useNow } from '../../ui/values/use-now.ts';
import { AnswerForm } from './answer-form.tsx';
import { type Conversation, NEED } from '../conversation.ts';
import { Colleagues } from '../presence/colleagues.tsx';
import { onKey } from '../use-keys.ts';
import { NoteForm } from './note-form.tsx';
import classes from '../inbox.module.css';

const TemplateForm = lazyPart(() => import('./template-form.tsx').then((file) => ({ default: file.TemplateForm })));

type ComposerProps = { readonly conversation: Conversation };

/** The forms for replies and notes, or the reason why the user cannot write. */
export function Composer({ conversation }: ComposerProps) {
  const { t } = useTranslation('inbox');
  const [isTemplate, setTemplate] = useState(false);
  const { channel, contact } = conversation;
  const reason = useDisabledReason(NEED);
  const planReason = useDisabledReason({ scope: channel });
  const isClosed = useIsClosed(conversation);
  const openTemplate = (): void => setTemplate(true);
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
        <Text size="sm" c="dimmed">
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
      <Dialog opened={isTemplate} onClose={() => setTemplate(false)} title={t('template.title')}>
        <Suspense>
          <TemplateForm target={{ chatId: conversation.chatId }} onSent={() => setTemplate(false)} />
        </Suspense>
      </Dialog>
    </div>
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

const Refused = ({ text }: { readonly text: string }) => (
  <div className={classes.composer}>
    <Text size="sm" c="dimmed">
      {text}
    </Text>
  </div>
);

function OptedOut({ conversation: { contact, channel } }: ComposerProps) {
  const { t } = useTranslation('inbox');
  return (
    <Alert color="red" icon={<BellOff size={18} />}>
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
    <Alert color="amber" icon={<Clock size={18} />} title={t('window.title')}>
      <Stack gap="sm" align="flex-start">
        <Text size="sm">{t(key, { name: conversation.contact.name })}</Text>
        <GuardedButton need={NEED} size="sm" leftSection={<FileText size={16} />} onClick={onTemplate}>
          {t('template.open')}
        </GuardedButton>
      </Stack>
    </Alert>
  );
}
