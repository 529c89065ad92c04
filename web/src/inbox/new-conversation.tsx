import { Button, Group, NativeSelect, SegmentedControl, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Send } from 'lucide-react';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { useSession } from '../api/session.ts';
import { Dialog } from '../ui/dialog.tsx';
import { useDialog } from '../ui/lazy-props.ts';
import { LiveParts, Problem, useReply } from './answer-form.tsx';
import { CHANNELS, type Channel, sendersQuery } from './conversation.ts';

const TemplateForm = lazyPart(() => import('./template-form.tsx').then((file) => ({ default: file.TemplateForm })));

type NewConversationProps = { readonly onSent: (chatId: string) => void };

/**
 * Dialog that starts a conversation. On WhatsApp this requires a template, because the person has not written within
 * 24 hours.
 */
export function NewConversation({ onSent }: NewConversationProps) {
  const { t } = useTranslation('inbox');
  const { close } = useDialog();
  const sent = (chatId: string): void => {
    close();
    onSent(chatId);
  };
  return (
    <Dialog title={t('new.title')}>
      <Start onSent={sent} />
    </Dialog>
  );
}

function Start({ onSent }: NewConversationProps) {
  const { t } = useTranslation('inbox');
  const session = useSession();
  const channels = CHANNELS.filter((scope) => session.may({ scope, write: true }));
  const [chosen, setChannel] = useState<Channel>();
  const [destination, setDestination] = useState('');
  const channel = chosen ?? channels[0];
  if (channel === undefined) return <Text size="sm">{t('new.noChannel')}</Text>;
  return (
    <Stack>
      <SegmentedControl
        aria-label={t('new.channel')}
        data={channels.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
        value={channel}
        onChange={setChannel}
      />
      <TextInput
        type="tel"
        label={t('new.to')}
        description={t('new.toHint')}
        placeholder="+39 333 123 4567"
        maxLength={50}
        required
        data-autofocus
        value={destination}
        onChange={(event) => setDestination(event.currentTarget.value)}
      />
      <Rest key={channel} channel={channel} destination={destination.trim()} onSent={onSent} />
    </Stack>
  );
}

type RestProps = NewConversationProps & { readonly channel: Channel; readonly destination: string };

function Rest({ channel, destination, onSent }: RestProps) {
  const { t } = useTranslation('inbox');
  const [identity, setIdentity] = useState('');
  const senders = useQuery({ ...sendersQuery(channel), enabled: channel !== 'SMS' });
  const from = identity || (channel === 'SMS' ? '' : (senders.data?.[0]?.value ?? ''));
  const target = { channel, destination, channelIdentity: from };
  const isMissing = destination === '' || from === '';
  return (
    <>
      {channel === 'SMS' ? (
        <TextInput
          label={t('new.from')}
          description={t('new.fromHint')}
          maxLength={20}
          required
          value={identity}
          onChange={(event) => setIdentity(event.currentTarget.value)}
        />
      ) : (
        <NativeSelect
          label={t('new.from')}
          data={[...(senders.data ?? [])]}
          error={senders.data?.length === 0 && t('new.noSender')}
          value={from}
          onChange={(event) => setIdentity(event.currentTarget.value)}
        />
      )}
      {channel === 'WHATSAPP' ? (
        <Suspense>
          <TemplateForm target={target} disabledReason={isMissing ? t('new.missing') : undefined} onSent={onSent} />
        </Suspense>
      ) : (
        <TextForm target={target} isMissing={isMissing} onSent={onSent} />
      )}
    </>
  );
}

type TextFormProps = NewConversationProps & {
  readonly target: { readonly channel: Channel; readonly destination: string; readonly channelIdentity: string };
  readonly isMissing: boolean;
};

function TextForm({ target, isMissing, onSent }: TextFormProps) {
  const { t } = useTranslation('inbox');
  const [text, setText] = useState('');
  const reply = useReply(onSent);
  const canSend = !isMissing && text.trim() !== '';
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (canSend) reply.run({ ...target, text: text.trim() });
      }}
    >
      <Stack>
        <Textarea
          label={t('new.text')}
          autosize
          minRows={3}
          maxRows={10}
          maxLength={3072}
          required
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        {target.channel === 'SMS' && <LiveParts text={text} />}
        {reply.error !== null && <Problem error={reply.error} />}
        <Group justify="flex-end">
          <Button type="submit" rightSection={<Send size={16} />} loading={reply.busy} disabled={!canSend}>
            {t('answer.send')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
