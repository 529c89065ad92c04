import { Alert, Button, Checkbox, Group, NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { Send, Smartphone } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { useProblemText } from '../api/passkey.ts';
import { api, ok } from '../api/send.ts';
import classes from '../ui/choice-list.module.css';
import { useFormat } from '../ui/format.ts';
import { Section } from '../ui/parts.tsx';
import { ChannelBadge, MsisdnText, StatusBadge } from '../ui/values.tsx';
import { CAMPAIGN, CAMPAIGNS, type Channel, chainOf, useLists } from './campaign.ts';
import { contentOf, type Draft } from './draft.ts';
import { useOwner } from './local-copy.ts';
import { usePreview } from './preview.tsx';
import type { EditorState } from './use-editor.ts';

const sendTest = (id: number, contactListIds: number[]) =>
  ok(api.POST(`${CAMPAIGN}/test`, { params: { path: { id } }, body: { contactListIds } }));

type TestResult = Awaited<ReturnType<typeof sendTest>>['results'][number];

const MAX_LISTS = 100;

type TestSendProps = { readonly editor: EditorState; readonly isComplete: boolean };

/** Sends the campaign as it is now to the user's own phone, or to the contacts of test lists. */
export function TestSend({ editor, isComplete }: TestSendProps) {
  const { t } = useTranslation('campaigns');
  const { data } = useLists({ isTest: true, limit: MAX_LISTS });
  const draft = editor.form.getValues();
  return (
    <Section title={t('test.title')} description={t('test.hint')}>
      {isComplete ? (
        <Stack gap="lg">
          <PhoneTest draft={draft} />
          {/* A scheduled campaign would be tested as it was, without the changes. */}
          {data !== undefined && data.total > 0 && editor.scheduled === null && (
            <ListTest editor={editor} lists={data.data} />
          )}
        </Stack>
      ) : (
        <Text size="sm">{t('test.incomplete')}</Text>
      )}
    </Section>
  );
}

/** The number that this user tested with last, in this browser. */
const lastPhone = (owner: string): string => {
  try {
    return localStorage.getItem(`test-phone/${owner}`) ?? '';
  } catch {
    // Without storage the number is typed again.
    return '';
  }
};

function rememberPhone(owner: string, number: string): void {
  try {
    localStorage.setItem(`test-phone/${owner}`, number);
  } catch {
    // Without storage the number is typed again.
  }
}

const sendToPhone = (draft: Draft, to: { phoneNumber: string; channel: Channel; contactId?: number }) => {
  const { contactListIds: _lists, destinations: _numbers, ...content } = contentOf(draft);
  return ok(api.POST(`${CAMPAIGNS}/preview/send`, { body: { ...content, ...to } }));
};

function PhoneTest({ draft }: { readonly draft: Draft }) {
  const { t } = useTranslation('campaigns');
  const problemText = useProblemText();
  const owner = useOwner();
  const [phone, setPhone] = useState(() => lastPhone(owner));
  const chain = chainOf(draft.sendingMode);
  const [wanted, setWanted] = useState<string>('');
  const channel = chain.find((each) => each === wanted) ?? chain[0] ?? 'SMS';
  const [as, setAs] = useState('');
  const { data: preview } = usePreview(draft, { limit: 3, offset: 0 });
  const people = (preview?.data ?? []).filter(({ contactId }) => contactId !== null);
  const test = useAction({
    run: () => {
      rememberPhone(owner, phone.trim());
      return sendToPhone(draft, { phoneNumber: phone.trim(), channel, ...(as !== '' && { contactId: Number(as) }) });
    },
    refresh: [['credit']],
    quiet: true,
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        test.run();
      }}
    >
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, sm: chain.length > 1 ? 3 : 2 }} style={{ alignItems: 'end' }}>
          <TextInput
            label={t('test.phone')}
            type="tel"
            placeholder="+39…"
            value={phone}
            onChange={(event) => setPhone(event.currentTarget.value)}
          />
          <NativeSelect
            label={t('test.as')}
            data={[
              { value: '', label: t('test.asNobody') },
              ...people.map(({ contactId, name, phoneNumber }) => ({
                value: String(contactId),
                label: name || phoneNumber || t('samples.unnamed'),
              })),
            ]}
            value={as}
            onChange={(event) => setAs(event.currentTarget.value)}
          />
          {chain.length > 1 && (
            <NativeSelect
              label={t('test.channel')}
              data={chain.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
              value={channel}
              onChange={(event) => setWanted(event.currentTarget.value)}
            />
          )}
        </SimpleGrid>
        <Group>
          <Button
            type="submit"
            variant="default"
            leftSection={<Smartphone size={16} />}
            disabled={phone.trim() === ''}
            loading={test.busy}
          >
            {t('test.toPhone')}
          </Button>
        </Group>
        {test.error !== null && <Alert color="red">{problemText(test.error)}</Alert>}
        {test.result && <Results results={test.result.results} />}
      </Stack>
    </form>
  );
}

type TestList = { readonly id: number; readonly name: string; readonly contactCount: number };

function ListTest({ editor, lists }: { readonly editor: EditorState; readonly lists: readonly TestList[] }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const problemText = useProblemText();
  const [chosen, setChosen] = useState<string[]>([]);
  const test = useAction({
    run: async () => {
      const saved = await editor.save();
      return saved && sendTest(saved.id, chosen.map(Number));
    },
    refresh: [['credit']],
    quiet: true,
  });
  return (
    <Stack gap="sm">
      <Checkbox.Group label={t('test.lists')} value={chosen} onChange={setChosen}>
        <Stack gap="xs" mt="xs">
          {lists.map((list) => (
            <Checkbox
              key={list.id}
              value={String(list.id)}
              label={`${list.name} · ${t('lists.contacts', { count: list.contactCount, shown: format.number(list.contactCount) })}`}
            />
          ))}
        </Stack>
      </Checkbox.Group>
      <Group>
        <Button
          variant="default"
          leftSection={<Send size={16} />}
          disabled={chosen.length === 0}
          loading={test.busy}
          onClick={() => test.run()}
        >
          {t('test.submit')}
        </Button>
      </Group>
      {test.error !== null && <Alert color="red">{problemText(test.error)}</Alert>}
      {test.result && <Results results={test.result.results} />}
    </Stack>
  );
}

function Results({ results }: { readonly results: readonly TestResult[] }) {
  const { t } = useTranslation('campaigns');
  return (
    <ul className={classes.lists} aria-label={t('test.results')}>
      {results.map(({ phoneNumber, channel, accepted, reasons }) => (
        <li key={phoneNumber} className={classes.list}>
          <Group gap="sm">
            <MsisdnText number={phoneNumber} />
            {channel !== null && <ChannelBadge channel={channel} />}
          </Group>
          <StatusBadge tone={accepted ? 'good' : 'bad'}>
            {accepted ? t('test.accepted') : reasons.join(', ')}
          </StatusBadge>
        </li>
      ))}
    </ul>
  );
}
