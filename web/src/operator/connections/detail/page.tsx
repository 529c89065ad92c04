import { Alert, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { CircleAlert, CirclePause, Megaphone, Pencil } from 'lucide-react';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../../api/connection/lazy-part.ts';
import { useAction } from '../../../api/action.ts';
import { ErrorState } from '../../../ui/error-state.tsx';
import { GuardedButton } from '../../../ui/actions/guarded-button.tsx';
import { Page as Frame } from '../../../ui/page.tsx';
import { Section } from '../../../ui/section.tsx';
import { ChannelBadge } from '../../../ui/values/statuses.tsx';
import { TableSkeleton } from '../../../ui/table/table-skeleton.tsx';
import { OPERATOR } from '../../shared/need.ts';
import { Waiting } from '../../shared/waiting.tsx';
import { Callback } from '../callback.tsx';
import { CarrierSetup } from '../carrier-setup.tsx';
import { type Connection, connectionQuery } from '../connection.ts';
import { type Kind, useKind } from '../kind.ts';
import { DeleteButton } from './delete-button.tsx';
import { Figures, Minutes } from './figures.tsx';
import { RelatedItems } from './related-items.tsx';
import { PauseButton } from './pause-button.tsx';
import { Settings } from './settings.tsx';
import { ConnectionState } from '../state.tsx';
import { TemplateSync } from './template-sync.tsx';
import { useFormat } from '../../../ui/values/format.ts';
import { TestResult, testConnection } from '../connection-test.tsx';

const EditDialog = lazyPart(() => import('./edit-dialog.tsx').then((file) => ({ default: file.EditDialog })));

/** The page of one connection: state, figures, related items and settings. */
export function Page() {
  const { t } = useTranslation('operator');
  const { name = '' }: { readonly name?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(connectionQuery(name));
  const trail = [{ label: t('connection.title'), to: '/operator/connections' }];
  if (data) return <Detail connection={data} trail={trail} />;
  return (
    <Frame title={name} trail={trail}>
      {error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <TableSkeleton rows={6} />}
    </Frame>
  );
}

type DetailProps = { readonly connection: Connection; readonly trail: readonly { label: string; to: string }[] };

function Detail({ connection, trail }: DetailProps) {
  const { t } = useTranslation('operator');
  const { name, kind: kindName, channel, syncsTemplates, hasSetup, callbackUrl } = connection;
  const kind = useKind(connection);
  return (
    <Frame
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
    </Frame>
  );
}

function EditButton({ connection, kind }: { readonly connection: Connection; readonly kind: Kind }) {
  const { t } = useTranslation('operator');
  const [isOpen, setIsOpen] = useState(false);
  const reason = connection.sandbox && t('connection.sandboxManaged');
  return (
    <>
      <GuardedButton
        need={OPERATOR}
        reason={reason}
        variant="default"
        leftSection={<Pencil size={16} />}
        onClick={() => setIsOpen(true)}
      >
        {t('connection.edit.open')}
      </GuardedButton>
      <Suspense>
        {isOpen && <EditDialog connection={connection} kind={kind} onClose={() => setIsOpen(false)} />}
      </Suspense>
    </>
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
        <Text size="sm" fw={600}>
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
