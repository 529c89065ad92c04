import { Alert, Badge, Code, Group, Stack, Text } from '@mantine/core';
import { CircleAlert, Send, TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { confirm, openDialog, questionTexts } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { Section } from '../ui/parts.tsx';
import { DateTime, Facts, StatusBadge } from '../ui/values.tsx';
import { TestDialog } from './delivery-panel.tsx';
import { type Endpoint, ENDPOINTS, endpointsQuery, NEED, WEBHOOK_KEYS } from './endpoints.ts';

const form = () => import('./endpoint-form.tsx');
/** The dialog that adds or changes an endpoint; loaded when it is opened, as are the two others. */
export const EndpointDialog = lazyPart(() => form().then((file) => ({ default: file.EndpointDialog })));
const AddressDialog = lazyPart(() => form().then((file) => ({ default: file.AddressDialog })));
const RotateDialog = lazyPart(() => form().then((file) => ({ default: file.RotateDialog })));

type EndpointProps = { readonly endpoint: Endpoint };

/** An endpoint: its state, its settings and its actions. */
export function EndpointSection({ endpoint }: EndpointProps) {
  return (
    <Section title={endpoint.name} actions={<EndpointActions endpoint={endpoint} />}>
      <Trouble endpoint={endpoint} />
      <EndpointFacts endpoint={endpoint} />
    </Section>
  );
}

function EndpointActions({ endpoint }: EndpointProps) {
  const { t } = useTranslation('webhooks');
  const path = { id: endpoint.id };
  const remove = (): void =>
    confirm({
      ...questionTexts(t, 'delete', { host: new URL(endpoint.url).host }),
      run: () => ok(api.DELETE(`${ENDPOINTS}/{id}`, { params: { path } })),
      // Its log is gone as well.
      refresh: [endpointsQuery.queryKey],
    });
  const isOwn = endpoint.format === 'v2';
  return (
    <>
      <GuardedButton
        need={NEED}
        size="xs"
        leftSection={<Send size={14} />}
        onClick={() => openDialog(<TestDialog endpoint={endpoint} />)}
      >
        {t('test.open')}
      </GuardedButton>
      <GuardedButton
        need={NEED}
        variant="default"
        size="xs"
        onClick={() =>
          openDialog(isOwn ? <EndpointDialog endpoint={endpoint} /> : <AddressDialog url={endpoint.url} />)
        }
      >
        {t(isOwn ? 'edit.open' : 'address.open')}
      </GuardedButton>
      <GuardedButton
        need={NEED}
        variant="default"
        size="xs"
        onClick={() => openDialog(<RotateDialog endpoint={endpoint} />)}
      >
        {t('rotate.open')}
      </GuardedButton>
      {endpoint.state !== 'DISABLED' && <PauseButton endpoint={endpoint} />}
      <GuardedButton need={NEED} variant="subtle" color="red" size="xs" onClick={remove}>
        {t('delete.open')}
      </GuardedButton>
    </>
  );
}

function PauseButton({ endpoint: { id, state } }: EndpointProps) {
  const { t } = useTranslation('webhooks');
  const isPaused = state === 'PAUSED';
  const change = useAction({
    run: () =>
      ok(
        api.PATCH(`${ENDPOINTS}/{id}`, { params: { path: { id } }, body: { status: isPaused ? 'ACTIVE' : 'PAUSED' } }),
      ),
    refresh: WEBHOOK_KEYS,
    done: t(isPaused ? 'pause.resumed' : 'pause.paused'),
  });
  return (
    <GuardedButton need={NEED} variant="default" size="xs" loading={change.busy} onClick={() => change.run()}>
      {t(isPaused ? 'pause.resume' : 'pause.pause')}
    </GuardedButton>
  );
}

const TONES = { active: 'good', paused: 'paused', failing: 'warning', disabled: 'bad' } as const;

/** The state of an endpoint. */
export function EndpointState({ endpoint }: EndpointProps) {
  const { t } = useTranslation('webhooks');
  const state = stateOf(endpoint);
  return <StatusBadge tone={TONES[state]}>{t(`state.${state}`)}</StatusBadge>;
}

function EndpointFacts({ endpoint }: EndpointProps) {
  const { t } = useTranslation('webhooks');
  const { url, format, eventTypes, filters, headers, retry, maxPerSecond, createdAt } = endpoint;
  const isOwn = format === 'v2';
  return (
    <Facts
      facts={[
        {
          label: t('fact.url'),
          value: (
            <Code className="foreign-text" fz="sm" dir="ltr">
              {url}
            </Code>
          ),
        },
        { label: t('fact.state'), value: <EndpointState endpoint={endpoint} /> },
        { label: t('fact.events'), value: isOwn ? <Words words={eventTypes} /> : t('fact.v1') },
        ...(Object.keys(filters).length > 0
          ? [{ label: t('fact.filters'), value: <Words words={filterTexts(filters)} /> }]
          : []),
        ...(headers.length > 0 ? [{ label: t('fact.headers'), value: <Words words={headers} /> }] : []),
        { label: t('fact.retry'), value: t(`retry.${retry}`) },
        ...(maxPerSecond === null ? [] : [{ label: t('fact.maxPerSecond'), value: String(maxPerSecond) }]),
        { label: t('fact.createdAt'), value: <DateTime value={createdAt} show="exact" /> },
      ]}
    />
  );
}

const filterTexts = (filters: Endpoint['filters']): string[] =>
  Object.entries(filters).map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') : String(value)}`);

/** Technical words, such as types of events. */
export const Words = ({ words }: { readonly words: readonly string[] }) => (
  <Group gap={4} component="span">
    {words.map((word) => (
      <Badge key={word} variant="default" tt="none" ff="monospace" component="span" className="foreign-text" dir="ltr">
        {word}
      </Badge>
    ))}
  </Group>
);

/** Trouble of an endpoint and its remedy; nothing if it is working. */
function Trouble({ endpoint }: EndpointProps) {
  const { t } = useTranslation('webhooks');
  const format = useFormat();
  const state = stateOf(endpoint);
  if (state === 'active' || state === 'paused') return null;
  const since = endpoint.failingSince === null ? '' : format.brief(new Date(endpoint.failingSince));
  const isDisabled = state === 'disabled';
  return (
    <Alert
      color={isDisabled ? 'red' : 'amber'}
      icon={isDisabled ? <CircleAlert size={18} /> : <TriangleAlert size={18} />}
      title={t(`trouble.${state}.title`, { since })}
    >
      <Stack gap="xs" align="flex-start">
        {endpoint.reason !== null && <Text size="sm">{t('trouble.because', { reason: endpoint.reason })}</Text>}
        <Text size="sm">{t(`trouble.${state}.text`)}</Text>
        {isDisabled && <EnableButton endpoint={endpoint} />}
      </Stack>
    </Alert>
  );
}

function EnableButton({ endpoint: { id } }: EndpointProps) {
  const { t } = useTranslation('webhooks');
  const enable = useAction({
    run: () => ok(api.POST(`${ENDPOINTS}/{id}/enable`, { params: { path: { id } } })),
    refresh: WEBHOOK_KEYS,
    done: t('trouble.enabled'),
  });
  return (
    <GuardedButton need={NEED} size="xs" loading={enable.busy} onClick={() => enable.run()}>
      {t('trouble.enable')}
    </GuardedButton>
  );
}

type State = 'active' | 'paused' | 'failing' | 'disabled';

const stateOf = ({ state, failingSince }: Endpoint): State => {
  if (state === 'DISABLED') return 'disabled';
  if (state === 'PAUSED') return 'paused';
  return failingSince === null ? 'active' : 'failing';
};
