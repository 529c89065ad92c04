import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { DateTime } from '../../ui/values/date-time.tsx';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { Section } from '../../ui/section.tsx';
import { AccountLink } from '../shared/account-link.tsx';
import { OPERATOR } from '../shared/need.ts';
import { MISSED, type Missed, missedQuery, QUEUE_KEYS } from './queue.ts';

/** Scheduled messages that were missed while no worker ran; nothing if there are none. */
export function MissedSchedules() {
  const { t } = useTranslation('operator');
  const { data } = useQuery(missedQuery);
  if (data === undefined || data.total === 0) return null;
  return (
    <Section title={t('missed.title')} description={t('missed.text')}>
      <Stack gap="sm">
        {data.data.map((missed) => (
          <MissedLine key={missed.id} missed={missed} />
        ))}
      </Stack>
    </Section>
  );
}

type Decision = 'release' | 'cancel';

function MissedLine({ missed }: { readonly missed: Missed }) {
  const { t } = useTranslation('operator');
  const [deciding, setDeciding] = useState<Decision | null>(null);
  const { accountId, account, messages, dueAt } = missed;
  return (
    <Group justify="space-between" gap="sm">
      <Group gap="sm">
        <AccountLink id={accountId} name={account} />
        <Text size="sm">{t('missed.messages', { count: messages })}</Text>
        <Text size="sm" c="dimmed" component="div">
          <DateTime value={dueAt} />
        </Text>
      </Group>
      <Group gap="xs">
        <GuardedButton need={OPERATOR} size="xs" variant="default" onClick={() => setDeciding('cancel')}>
          {t('missed.cancel.open')}
        </GuardedButton>
        <GuardedButton need={OPERATOR} size="xs" onClick={() => setDeciding('release')}>
          {t('missed.release.open')}
        </GuardedButton>
      </Group>
      {(['release', 'cancel'] as const).map((decision) => (
        <Decide
          key={decision}
          decision={decision}
          missed={missed}
          opened={deciding === decision}
          onClose={() => setDeciding(null)}
        />
      ))}
    </Group>
  );
}

type DecideProps = {
  readonly decision: Decision;
  readonly missed: Missed;
  readonly opened: boolean;
  readonly onClose: () => void;
};

function Decide({ decision, missed: { id, account, messages }, opened, onClose }: DecideProps) {
  const { t } = useTranslation('operator');
  const decide = useAction({
    run: () => ok(api.POST(`${MISSED}/{id}/${decision}`, { params: { path: { id } } })),
    refresh: QUEUE_KEYS,
    done: t(`missed.${decision}.done`, { account }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t(`missed.${decision}.title`, { count: messages, account })}
      action={t(`missed.${decision}.submit`)}
      onConfirm={() => decide.run()}
      busy={decide.busy}
      kind={decision === 'cancel' ? 'danger' : 'normal'}
    >
      {t(`missed.${decision}.text`)}
    </ConfirmDialog>
  );
}
