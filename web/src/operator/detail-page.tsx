import { Alert, Button, List, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { CircleAlert, CirclePause, CirclePlay, Megaphone, Pencil, RefreshCw, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { confirm, openDialog, questionTexts } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { ErrorState, Muted, PageFrame, Section, TableSkeleton, TextLink } from '../ui/parts.tsx';
import { ChannelBadge, Facts } from '../ui/values.tsx';
import {
  type Connection,
  CONNECTION_KEYS,
  connectionQuery,
  CONNECTIONS,
  ConnectionState,
} from './connection-choice.tsx';
import { Callback, CarrierSetup, testConnection, TestResult } from './connection-test.tsx';
import {
  type Field,
  fieldsOf,
  filledOf,
  initialOf,
  type Kind,
  settingsOf,
  textOf,
  useFieldTexts,
  useKind,
  useSettingText,
} from './connections-fields.ts';
import { Figures, LinkFields, type LinkValues, Minutes } from './connections-settings-fields.tsx';
import { OPERATOR, Waiting } from './shared.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';

/** The page of one connection: state, figures, related items and settings. */
export function Page() {
  const { t } = useTranslation('operator');
  const { name = '' }: { readonly name?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(connectionQuery(name));
  const trail = [{ label: t('connection.title'), to: '/operator/connections' }];
  if (data) return <Detail connection={data} trail={trail} />;
  return (
    <PageFrame title={name} trail={trail}>
      {error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <TableSkeleton rows={6} />}
    </PageFrame>
  );
}

type DetailProps = { readonly connection: Connection; readonly trail: readonly { label: string; to: string }[] };

function Detail({ connection, trail }: DetailProps) {
  const { t } = useTranslation('operator');
  const { name, kind: kindName, channel, syncsTemplates, hasSetup, callbackUrl } = connection;
  const kind = useKind(connection);
  return (
    <PageFrame
      title={name}
      badge={
        <>
          <ConnectionState connection={connection} />
          <ChannelBadge channel={channel} />
        </>
      }
      description={t(`kind.${kindName}.name`)}
      trail={trail}
      actions={
        <>
          <DeleteButton connection={connection} />
          {kind && <EditButton connection={connection} kind={kind} />}
          <PauseButton connection={connection} />
        </>
      }
    >
      <Trouble connection={connection} />
      <Notices connection={connection} />
      <Figures connection={connection} />
      <Minutes name={name} />
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg">
        <Stack gap="lg">
          <TestSection name={name} />
          <RelatedItems connection={connection} />
          {hasSetup && <CarrierSetup name={name} />}
          {syncsTemplates && <TemplateSync name={name} />}
          {callbackUrl !== null && (
            <Section title={t('connection.callback')}>
              <Callback kind={kindName} url={callbackUrl} />
            </Section>
          )}
        </Stack>
        {kind && <Settings connection={connection} kind={kind} />}
      </SimpleGrid>
    </PageFrame>
  );
}

function EditButton({ connection, kind }: { readonly connection: Connection; readonly kind: Kind }) {
  const { t } = useTranslation('operator');
  return (
    <GuardedButton
      need={OPERATOR}
      reason={connection.sandbox && t('connection.sandboxManaged')}
      variant="default"
      leftSection={<Pencil size={16} />}
      onClick={() => openDialog(<EditDialog connection={connection} kind={kind} />)}
    >
      {t('connection.edit.open')}
    </GuardedButton>
  );
}

/** Reason why the connection is down, the messages that wait while it is paused, or the carrier's last rejection. */
function Trouble({ connection }: { readonly connection: Connection }) {
  const { fault, lastError, lastErrorAt, up, status, queued, waitingAccounts } = connection;
  const { t } = useTranslation('operator');
  const message = fault ?? (up || status === 'paused' ? null : lastError);
  if (message === null && status === 'paused' && queued > 0)
    return (
      <Alert color="violet" icon={<CirclePause size={18} />} title={t('connection.isPaused')}>
        <Text size="sm">
          <Waiting count={queued} accounts={waitingAccounts} />
        </Text>
      </Alert>
    );
  if (message === null && (up || status === 'paused')) return null;
  return (
    <Alert
      color="red"
      icon={<CircleAlert size={18} />}
      title={t(fault === null ? 'connection.isDown' : 'connection.hasFault')}
      role="alert"
    >
      <Text size="sm" className="foreign-text">
        {message ?? t('connection.noWords')}
      </Text>
      {queued > 0 && (
        <Text size="sm" fw={500}>
          <Waiting count={queued} accounts={waitingAccounts} />
        </Text>
      )}
      {fault === null && lastErrorAt !== null && message !== null && (
        <Text size="xs" mt={4}>
          {t('connection.lastErrorNote')}
        </Text>
      )}
    </Alert>
  );
}

/** Reports of the network about our account and its senders. */
function Notices({ connection: { notices } }: { readonly connection: Connection }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  if (notices.length === 0) return null;
  return (
    <Alert
      color={notices.some(({ serious }) => serious) ? 'orange' : 'gray'}
      icon={<Megaphone size={18} />}
      title={t('connection.notices')}
    >
      <Stack gap={4}>
        {notices.map(({ text, at }) => (
          <Text key={`${at} ${text}`} size="sm" className="foreign-text">
            {format.brief(new Date(at))} · {text}
          </Text>
        ))}
      </Stack>
    </Alert>
  );
}

function TestSection({ name }: { readonly name: string }) {
  const { t } = useTranslation('operator');
  const trial = useAction({ run: () => testConnection(name), quiet: true });
  return (
    <Section
      title={t('trial.title')}
      description={t('trial.hint')}
      actions={
        <GuardedButton need={OPERATOR} variant="default" loading={trial.busy} onClick={() => trial.run()}>
          {t(trial.result ? 'trial.again' : 'trial.open')}
        </GuardedButton>
      }
    >
      <TestResult report={trial.result} busy={trial.busy} error={trial.error} />
    </Section>
  );
}

/** Button that deletes a connection, or lists the items that still use it. */
function DeleteButton({ connection }: { readonly connection: Connection }) {
  const { t } = useTranslation('operator');
  const navigate = useNavigate();
  const { name } = connection;
  const ask = (): void =>
    confirm({
      title: t('connection.delete.title', { name }),
      text: <Dependents connection={connection} />,
      action: t('connection.delete.submit'),
      typed: name,
      run: () => ok(api.DELETE(`${CONNECTIONS}/{name}`, { params: { path: { name } } })),
      refresh: CONNECTION_KEYS.slice(1),
      done: t('connection.delete.done', { name }),
      onDone: () => void navigate({ to: '/operator/connections' }),
    });
  return (
    <GuardedButton
      need={OPERATOR}
      reason={connection.sandbox && t('connection.sandboxManaged')}
      variant="default"
      leftSection={<Trash2 size={16} />}
      onClick={ask}
    >
      {t('connection.delete.open')}
    </GuardedButton>
  );
}

function Dependents({ connection: { routes, senders, numbers, queued } }: { readonly connection: Connection }) {
  const { t } = useTranslation('operator');
  const dependents = Object.entries({ routes, senders, numbers, queued }).filter(([, count]) => count > 0);
  if (dependents.length === 0) return <Text size="sm">{t('connection.delete.free')}</Text>;
  return (
    <Stack gap="xs">
      <Text size="sm">{t('connection.delete.inUse')}</Text>
      <List size="sm">
        {dependents.map(([what, count]) => (
          <List.Item key={what}>{t(`connection.delete.${what}`, { count })}</List.Item>
        ))}
      </List>
    </Stack>
  );
}

/** Button that pauses the connection after a confirmation, or resumes it. */
function PauseButton({ connection: { name, status, queued } }: { readonly connection: Connection }) {
  const { t } = useTranslation('operator');
  const isPaused = status === 'paused';
  const move = {
    run: () =>
      ok(
        api.PUT(`${CONNECTIONS}/{name}`, {
          params: { path: { name } },
          body: { status: isPaused ? 'active' : 'paused' },
        }),
      ),
    refresh: CONNECTION_KEYS,
  };
  const resume = useAction({ ...move, done: t('connection.resume.done', { name }) });
  const pause = (): void =>
    confirm({ ...questionTexts(t, 'connection.pause', { name, count: queued }), ...move, kind: 'normal' });
  return (
    <GuardedButton
      need={OPERATOR}
      variant={isPaused ? 'filled' : 'default'}
      leftSection={isPaused ? <CirclePlay size={16} /> : <CirclePause size={16} />}
      loading={resume.busy}
      onClick={() => (isPaused ? resume.run() : pause())}
    >
      {t(isPaused ? 'connection.resume.open' : 'connection.pause.open')}
    </GuardedButton>
  );
}

type SettingsProps = { readonly connection: Connection; readonly kind: Kind };

/**
 * The settings of the connection, without its secrets. Rarely used settings are shown only if they differ from the
 * default.
 */
function Settings({ connection: { settings }, kind }: SettingsProps) {
  const { t } = useTranslation('operator');
  const [isAll, setIsAll] = useState(false);
  const settingText = useSettingText();
  const fieldTexts = useFieldTexts();
  const all = settingsOf(kind).filter(({ name }) => !isEmpty(settings[name]));
  const more = new Set(fieldsOf(kind).more.map(({ name }) => name));
  const few = all.filter((field) => !more.has(field.name) || !isUsual(field, settings[field.name]));
  return (
    <Section title={t('connection.settings')} description={t('connection.settingsHint')}>
      <Facts
        facts={(isAll ? all : few).map((field) => ({
          label: fieldTexts(kind, field).label,
          value: <bdi>{settingText(field, settings[field.name])}</bdi>,
        }))}
      />
      {few.length < all.length && (
        <Button
          variant="subtle"
          color="gray"
          size="xs"
          onClick={() => setIsAll(!isAll)}
          style={{ alignSelf: 'flex-start' }}
        >
          {isAll ? t('connection.fewSettings') : t('connection.allSettings', { count: all.length - few.length })}
        </Button>
      )}
    </Section>
  );
}

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === '';
const isUsual = ({ fallback }: Field, value: unknown): boolean =>
  typeof value === 'boolean' ? value === fallback : textOf(value) === textOf(fallback);

/** Button that synchronises WhatsApp templates and numbers now, rather than at the next ten-minute interval. */
function TemplateSync({ name }: { readonly name: string }) {
  const { t } = useTranslation('operator');
  const sync = useAction({
    run: () => ok(api.POST(`${CONNECTIONS}/{name}/templates/sync`, { params: { path: { name } } })),
    refresh: [
      ['operator', 'senders'],
      ['operator', 'connections'],
    ],
  });
  return (
    <Section
      title={t('sync.title')}
      description={t('sync.hint')}
      actions={
        <GuardedButton
          need={OPERATOR}
          variant="default"
          leftSection={<RefreshCw size={16} />}
          loading={sync.busy}
          onClick={() => sync.run()}
        >
          {t('sync.open')}
        </GuardedButton>
      }
    >
      {sync.result && (
        <Alert color={sync.result.ok ? 'green' : 'red'} role="status">
          {sync.result.ok ? t('sync.done', { count: sync.result.templates ?? 0 }) : sync.result.detail}
        </Alert>
      )}
    </Section>
  );
}

/** Items related to the connection, each with a link to its page. */
function RelatedItems({ connection }: { readonly connection: Connection }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { name, routedBy, routes, senders, numbers, unknowns, unmatchedReceipts } = connection;
  const link = (count: number, to: string, search: Record<string, string>) => (
    <TextLink to={to} search={search}>
      {format.number(count)}
    </TextLink>
  );
  return (
    <Section title={t('leads.title')}>
      <Facts
        facts={[
          routedBy === 'prefix'
            ? { label: t('leads.routes'), value: link(routes, '/operator/routes', { connection: name }) }
            : { label: t('leads.senders'), value: link(senders, '/operator/senders', {}) },
          {
            label: t('leads.numbers'),
            value: link(numbers, '/operator/senders', { tab: 'numbers', connection: name }),
          },
          { label: t('leads.unknowns'), value: link(unknowns, '/operator/unknowns', { connection: name }) },
          {
            label: t('leads.unmatched'),
            value: link(unmatchedReceipts, '/operator/health', { tab: 'receipts', connection: name }),
          },
        ]}
      />
    </Section>
  );
}

type EditProps = { readonly connection: Connection; readonly kind: Kind };

/** Dialog that edits settings and secrets; workers reconnect with them. */
function EditDialog({ connection, kind }: EditProps) {
  const { t } = useTranslation('operator');
  const { name, settings } = connection;
  const { secret } = fieldsOf(kind);
  const before: LinkValues = { name, settings: initialOf(settingsOf(kind), settings), secret: initialOf(secret) };
  return (
    <FormDialog<LinkValues, unknown>
      title={t('connection.edit.title', { name })}
      size="xl"
      values={before}
      run={(values) =>
        ok(
          api.PUT(`${CONNECTIONS}/{name}`, {
            params: { path: { name } },
            body: changesOf(
              filledOf(settingsOf(kind), values.settings, before.settings),
              filledOf(secret, values.secret),
            ),
          }),
        )
      }
      refresh={CONNECTION_KEYS}
      done={t('connection.edit.done', { name })}
      action={t('ui:save')}
    >
      {(form) => (
        <>
          <Muted>{t('connection.edit.text')}</Muted>
          <LinkFields form={form} kind={kind} isKept />
        </>
      )}
    </FormDialog>
  );
}

type FormValues = Readonly<Record<string, unknown>>;

const changesOf = (settings: FormValues, secret: FormValues) => ({
  ...(Object.keys(settings).length > 0 && { settings }),
  ...(Object.keys(secret).length > 0 && { secret }),
});
