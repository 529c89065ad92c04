import { Alert, Stack, Text } from '@mantine/core';
import { Webhook as WebhookIcon } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { DateTime } from '../../ui/values/date-time.tsx';
import { Facts } from '../../ui/values/facts.tsx';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { Num } from '../../ui/values/num.tsx';
import { Section } from '../../ui/section.tsx';
import { StatusBadge } from '../../ui/values/status-badge.tsx';
import { OPERATOR } from '../shared/need.ts';
import { ACCOUNT_KEYS, type AccountDetails, ACCOUNTS } from './account.ts';

type Props = { readonly account: AccountDetails };

/** The account's webhook and its status. */
export function Webhook({ account: { id, webhook } }: Props) {
  const { t } = useTranslation('operator');
  if (webhook === null) return <None />;
  const tone = webhook.status === 'disabled' ? 'bad' : webhook.failingSince === null ? 'good' : 'warning';
  const state = webhook.status === 'active' && webhook.failingSince !== null ? 'failing' : webhook.status;
  return (
    <Section title={t('webhook.title')} actions={<StatusBadge tone={tone}>{t(`webhook.status.${state}`)}</StatusBadge>}>
      {webhook.status === 'disabled' && <Disabled id={id} reason={webhook.disabledReason} />}
      <Facts
        facts={[
          { label: t('webhook.url'), value: <bdi>{webhook.url}</bdi> },
          ...(webhook.failingSince === null
            ? []
            : [{ label: t('webhook.failingSince'), value: <DateTime value={webhook.failingSince} /> }]),
          { label: t('webhook.pending'), value: <Num value={webhook.pending} /> },
          { label: t('webhook.dead'), value: <Num value={webhook.dead} /> },
        ]}
      />
    </Section>
  );
}

function None() {
  const { t } = useTranslation('operator');
  return (
    <Section title={t('webhook.title')}>
      <Text size="sm" c="dimmed">
        {t('webhook.none')}
      </Text>
    </Section>
  );
}

function Disabled({ id, reason }: { readonly id: number; readonly reason: string | null }) {
  const { t } = useTranslation('operator');
  const enable = useAction({
    run: () => ok(api.POST(`${ACCOUNTS}/{id}/webhook/enable`, { params: { path: { id } } })),
    refresh: ACCOUNT_KEYS,
    done: t('webhook.enabled'),
  });
  return (
    <Alert color="red" icon={<WebhookIcon size={18} />}>
      <Stack gap="xs" align="flex-start">
        {reason ?? t('webhook.status.disabled')}
        <GuardedButton need={OPERATOR} size="xs" variant="default" loading={enable.busy} onClick={() => enable.run()}>
          {t('webhook.enable')}
        </GuardedButton>
      </Stack>
    </Alert>
  );
}
