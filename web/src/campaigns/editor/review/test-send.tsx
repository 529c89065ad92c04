import { Alert, Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import { Send } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../../api/action.ts';
import { api, ok } from '../../../api/client.ts';
import { useProblemText } from '../../../api/problem-text.ts';
import { useFormat } from '../../../ui/values/format.ts';
import { ButtonLink } from '../../../ui/link.tsx';
import { MsisdnText } from '../../../ui/values/msisdn-text.tsx';
import { Section } from '../../../ui/section.tsx';
import { StatusBadge } from '../../../ui/values/status-badge.tsx';
import { ChannelBadge } from '../../../ui/values/statuses.tsx';
import { CAMPAIGN } from '../../campaign.ts';
import classes from '../../../ui/choice-list.module.css';
import { useLists } from '../../contact-lists.ts';

const sendTest = (id: number, contactListIds: number[]) =>
  ok(api.POST(`${CAMPAIGN}/test`, { params: { path: { id } }, body: { contactListIds } }));

type TestResult = Awaited<ReturnType<typeof sendTest>>['results'][number];

const MAX_LISTS = 100;

/** Sends the saved campaign to the contacts of test lists. */
export function TestSend({ id }: { readonly id: number }) {
  const { t } = useTranslation('campaigns');
  const { data } = useLists({ isTest: true, limit: MAX_LISTS });
  if (data === undefined) return null;
  return (
    <Section title={t('test.title')} description={t('test.hint')}>
      {data.total === 0 ? (
        <Group justify="space-between">
          <Text size="sm">{t('test.none')}</Text>
          <ButtonLink to="/lists" size="xs" variant="default">
            {t('lists.none.open')}
          </ButtonLink>
        </Group>
      ) : (
        <TestForm id={id} lists={data.data} />
      )}
    </Section>
  );
}

type TestList = { readonly id: number; readonly name: string; readonly contactCount: number };

function TestForm({ id, lists }: { readonly id: number; readonly lists: readonly TestList[] }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const problemText = useProblemText();
  const [chosen, setChosen] = useState<string[]>([]);
  const test = useAction({ run: () => sendTest(id, chosen.map(Number)), refresh: [['credit']], quiet: true });
  return (
    <Stack gap="sm">
      <Checkbox.Group aria-label={t('test.lists')} value={chosen} onChange={setChosen}>
        <Stack gap="xs">
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
