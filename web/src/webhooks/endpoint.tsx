import { Alert, Code, Stack, Text } from '@mantine/core';
import { queryOptions } from '@tanstack/react-query';
import { CircleAlert, TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { ApiError, api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { useFormat } from '../ui/format.ts';
import { Section } from '../ui/parts.tsx';
import { DateTime, Facts, StatusBadge } from '../ui/values.tsx';

/** An action on the webhook, each of which opens a dialog. */
export type WebhookAction = 'address' | 'rotate' | 'delete';
type EndpointProps = { readonly webhook: Webhook; readonly onAction: (wish: WebhookAction) => void };

/** The registered webhook: its status and actions. */
export function Endpoint({ webhook, onAction }: EndpointProps) {
  const { t } = useTranslation('webhooks');
  const actions = (
    <>
      <GuardedButton need={NEED} variant="default" size="xs" onClick={() => onAction('address')}>
        {t('address.open')}
      </GuardedButton>
      <GuardedButton need={NEED} variant="default" size="xs" onClick={() => onAction('rotate')}>
        {t('rotate.open')}
      </GuardedButton>
      <GuardedButton need={NEED} variant="subtle" color="red" size="xs" onClick={() => onAction('delete')}>
        {t('delete.open')}
      </GuardedButton>
    </>
  );
  return (
    <Section title={t('receiver.title')} actions={actions}>
      <Trouble webhook={webhook} />
      <WebhookFacts webhook={webhook} />
    </Section>
  );
}

const TONES = { active: 'good', paused: 'warning', failing: 'warning', disabled: 'bad' } as const;

function WebhookFacts({ webhook }: { readonly webhook: Webhook }) {
  const { t } = useTranslation('webhooks');
  const { callbackUrl, form, createdAt } = webhook;
  const state = stateOf(webhook);
  return (
    <Facts
      facts={[
        {
          label: t('fact.url'),
          value: (
            <Code className="foreign-text" fz="sm" dir="ltr">
              {callbackUrl}
            </Code>
          ),
        },
        { label: t('fact.state'), value: <StatusBadge tone={TONES[state]}>{t(`state.${state}`)}</StatusBadge> },
        { label: t('fact.events'), value: t(`form.${form}.title`) },
        { label: t('fact.createdAt'), value: <DateTime value={createdAt} show="exact" /> },
      ]}
    />
  );
}

/** Trouble of the webhook and its remedy; nothing if it is working. */
function Trouble({ webhook }: Pick<EndpointProps, 'webhook'>) {
  const { t } = useTranslation('webhooks');
  const format = useFormat();
  const state = stateOf(webhook);
  if (state === 'active' || state === 'paused') return null;
  const since = webhook.failingSince === null ? '' : format.brief(new Date(webhook.failingSince));
  const isDisabled = state === 'disabled';
  return (
    <Alert
      color={isDisabled ? 'red' : 'amber'}
      icon={isDisabled ? <CircleAlert size={18} /> : <TriangleAlert size={18} />}
      title={t(`trouble.${state}.title`, { since })}
    >
      <Stack gap="xs" align="flex-start">
        {webhook.disabledReason !== null && (
          <Text size="sm">{t('trouble.because', { reason: webhook.disabledReason })}</Text>
        )}
        <Text size="sm">{t(`trouble.${state}.text`)}</Text>
        {isDisabled && <EnableButton webhook={webhook} />}
      </Stack>
    </Alert>
  );
}

/** Button that re-enables the webhook, by setting the same URL again. */
function EnableButton({ webhook: { callbackUrl } }: Pick<EndpointProps, 'webhook'>) {
  const { t } = useTranslation('webhooks');
  const enable = useAction({
    run: () => ok(api.PUT(FORM_A, { body: { callbackUrl } })),
    refresh: [['webhooks']],
    done: t('trouble.enabled'),
  });
  return (
    <GuardedButton need={NEED} size="xs" loading={enable.busy} onClick={() => enable.run()}>
      {t('trouble.enable')}
    </GuardedButton>
  );
}

/** The permission that changing the webhook and resending events require. */
export const NEED: Need = { scope: 'webhooks', write: true };

export const FORM_A = '/api/partner-gateway/v1/webhooks/delivery-status';
export const FORM_B = '/api/webhooks/delivery-status';

const REFRESH_MS = 15_000;

const findWebhook = (signal: AbortSignal) => ok(api.GET(FORM_A, { signal }));
export type Webhook = Awaited<ReturnType<typeof findWebhook>>;

/** The account's webhook; null if it has none. */
export const webhookQuery = queryOptions({
  queryKey: ['webhooks', 'registered'],
  queryFn: ({ signal }): Promise<Webhook | null> =>
    findWebhook(signal).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }),
  refetchInterval: REFRESH_MS,
});

type State = 'active' | 'paused' | 'failing' | 'disabled';

const stateOf = ({ status, failingSince }: Webhook): State =>
  status !== 'active' ? status : failingSince === null ? 'active' : 'failing';
