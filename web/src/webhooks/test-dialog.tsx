import { Button, Group, Loader, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/client.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { ErrorState } from '../ui/error-state.tsx';
import { Facts } from '../ui/values/facts.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Num } from '../ui/values/num.tsx';
import { StatusBadge } from '../ui/values/status-badge.tsx';
import { FORM_A, type Webhook } from './webhook.ts';

type TestDialogProps = { readonly webhook: Webhook; readonly opened: boolean; readonly onClose: () => void };

/** Dialog that sends a sample event when it opens and shows the endpoint's response. */
export function TestDialog({ webhook, opened, onClose }: TestDialogProps) {
  const { t } = useTranslation('webhooks');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('test.title')}>
      {opened && <Test url={webhook.callbackUrl} onClose={onClose} />}
    </Dialog>
  );
}

const sendTest = () => ok(api.POST(`${FORM_A}/test`));

function Test({ url, onClose }: { readonly url: string; readonly onClose: () => void }) {
  const { t } = useTranslation('webhooks');
  const { mutate, data, error, isPending } = useMutation({ mutationFn: sendTest });
  useEffect(() => mutate(), [mutate]);
  return (
    <Stack>
      <Text size="sm" className="foreign-text">
        {t('test.text', { url })}
      </Text>
      {isPending && <Waiting />}
      {!isPending && error !== null && <ErrorState error={error} />}
      {!isPending && data && <Outcome outcome={data} />}
      <Group justify="flex-end">
        <Button variant="default" loading={isPending} onClick={() => mutate()}>
          {t('test.again')}
        </Button>
        <Button onClick={onClose}>{t('ui:close')}</Button>
      </Group>
    </Stack>
  );
}

function Waiting() {
  const { t } = useTranslation('webhooks');
  return (
    <Group gap="sm" role="status" mih={120} justify="center">
      <Loader size="sm" />
      <Text size="sm">{t('test.waiting')}</Text>
    </Group>
  );
}

function Outcome({ outcome }: { readonly outcome: Awaited<ReturnType<typeof sendTest>> }) {
  const { t } = useTranslation('webhooks');
  const { acknowledged, status, durationMs, error, answer } = outcome;
  return (
    <Stack gap="sm" role="status">
      <StatusBadge tone={acknowledged ? 'good' : 'bad'}>{t(acknowledged ? 'test.good' : 'test.bad')}</StatusBadge>
      <Facts
        facts={[
          { label: t('test.status'), value: status ?? error ?? '–' },
          { label: t('test.duration'), value: <Milliseconds value={durationMs} /> },
        ]}
      />
      {answer !== null && answer !== '' && <JsonView value={answer} label={t('test.answer')} maxHeight={200} />}
      {answer === '' && (
        <Text size="sm" c="dimmed">
          {t('test.noBody')}
        </Text>
      )}
      {!acknowledged && <Text size="sm">{t('test.advice')}</Text>}
    </Stack>
  );
}

/** A response time in milliseconds. */
export const Milliseconds = ({ value }: { readonly value: number | null }) => (
  <Num value={value} options={{ style: 'unit', unit: 'millisecond', unitDisplay: 'short' }} />
);
