import { Code, Group, NativeSelect, Paper, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { type Scope, useSession } from '../api/session.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { ErrorState, Muted, PageFrame, Section, TableSkeleton } from '../ui/parts.tsx';
import { DateTime, StatusBadge, type Tone } from '../ui/values.tsx';
import { agentsQuery, MS, numbersQuery } from './account.tsx';

/** The page of the account's senders. */
export function Page() {
  const { t } = useTranslation('account');
  const ask = (
    <GuardedButton
      need={{ scope: 'RCS' }}
      variant="default"
      size="xs"
      leftSection={<Plus size={14} />}
      onClick={() => openDialog(<AgentDialog />)}
    >
      {t('agent.open')}
    </GuardedButton>
  );
  return (
    <PageFrame title={t('part.senders.title')} description={t('part.senders.description')}>
      <Section title={t('ui:channel.SMS')} description={t('senders.sms')}>
        {null}
      </Section>
      <ChannelSection channel="WHATSAPP" description={t('senders.whatsapp')}>
        <Numbers />
      </ChannelSection>
      <ChannelSection channel="RCS" description={t('senders.rcs')} actions={ask}>
        <Agents />
      </ChannelSection>
    </PageFrame>
  );
}

type ChannelSectionProps = {
  readonly channel: Extract<Scope, 'WHATSAPP' | 'RCS'>;
  readonly description: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
};

/** A channel that the person may not use shows the reason instead of its data, which is not requested. */
function ChannelSection({ channel, description, actions, children }: ChannelSectionProps) {
  const { t } = useTranslation('account');
  const refusal = useSession().refusal({ scope: channel });
  return (
    <Section title={t(`ui:channel.${channel}`)} description={description} actions={actions}>
      {refusal === null ? children : <Muted>{t(`ui:why.${refusal}`)}</Muted>}
    </Section>
  );
}

type SenderListProps<T> = {
  readonly query: Pick<UseQueryResult<{ readonly data: readonly T[] }>, 'data' | 'error' | 'refetch'>;
  readonly none: string;
  readonly children: (row: T) => ReactNode;
};

function SenderList<T>({ query: { data, error, refetch }, none, children }: SenderListProps<T>) {
  if (data === undefined && error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <TableSkeleton rows={2} />;
  if (data.data.length === 0) {
    return <Muted>{none}</Muted>;
  }
  return <Stack gap="xs">{data.data.map(children)}</Stack>;
}

const QUALITY: Readonly<Record<string, Tone>> = { GREEN: 'good', YELLOW: 'warning', RED: 'bad' };

function Numbers() {
  const { t } = useTranslation('account');
  const { number } = useFormat();
  return (
    <SenderList query={useQuery(numbersQuery)} none={t('senders.noNumber')}>
      {({ phoneNumberId, displayPhoneNumber, verifiedName, qualityRating, messagingLimit, common }) => (
        <Card
          key={phoneNumberId}
          name={verifiedName || (displayPhoneNumber ?? phoneNumberId)}
          detail={displayPhoneNumber}
          code={phoneNumberId}
          isShared={common}
        >
          {messagingLimit && messagingLimit.people !== null && (
            <Muted>
              {t('senders.limit', { used: number(messagingLimit.used), people: number(messagingLimit.people) })}
            </Muted>
          )}
          <StatusBadge tone={QUALITY[qualityRating] ?? 'neutral'}>
            {t(`quality.${qualityRating}`, { defaultValue: qualityRating })}
          </StatusBadge>
        </Card>
      )}
    </SenderList>
  );
}

function Agents() {
  const { t } = useTranslation('account');
  return (
    <SenderList query={useQuery(agentsQuery)} none={t('senders.noAgent')}>
      {({ id, agentId, displayName, status, common, createdAt }) => (
        <Card
          key={id}
          name={displayName}
          detail={
            status === 'PENDING' && (
              <>
                {t('senders.askedFor')} <DateTime value={createdAt} />
              </>
            )
          }
          code={agentId}
          isShared={common}
        >
          <StatusBadge tone={status === 'LAUNCHED' ? 'good' : 'progress'}>{t(`agentStatus.${status}`)}</StatusBadge>
        </Card>
      )}
    </SenderList>
  );
}

type CardProps = {
  readonly name: string;
  readonly detail: ReactNode;
  readonly code: string | null;
  readonly isShared: boolean;
  /** The status badge. */
  readonly children: ReactNode;
};

function Card({ name, detail, code, isShared, children }: CardProps) {
  const { t } = useTranslation('account');
  return (
    <Paper p="sm">
      <Group justify="space-between" gap="xs">
        <Stack gap={2} style={{ minWidth: 0 }}>
          <Text size="sm" fw={500} className="foreign-text" dir="auto">
            {name}
          </Text>
          <Text size="xs" c="dimmed">
            {detail}
          </Text>
        </Stack>
        <Group gap="sm">
          {code !== null && <Code className="foreign-text">{code}</Code>}
          {isShared && <StatusBadge tone="neutral">{t('senders.shared')}</StatusBadge>}
          {children}
        </Group>
      </Group>
    </Paper>
  );
}

const USES = ['TRANSACTIONAL', 'PROMOTIONAL', 'OTP', 'MULTI_USE'] as const;
const EMPTY = {
  displayName: '',
  description: '',
  useCase: 'TRANSACTIONAL',
  color: '',
  logoUrl: '',
  heroUrl: '',
  privacyUrl: '',
  termsUrl: '',
};
type Draft = typeof EMPTY;
const ADDRESSES = ['logoUrl', 'heroUrl', 'privacyUrl', 'termsUrl'] as const;

/** The body of the request; empty fields are omitted. */
function toRequestBody({ displayName, useCase, ...rest }: Draft) {
  const filled = Object.fromEntries(Object.entries(rest).filter(([, value]) => value.trim() !== ''));
  return {
    displayName: displayName.trim(),
    useCase: USES.find((each) => each === useCase) ?? 'TRANSACTIONAL',
    ...filled,
  };
}

/** Dialog that requests an RCS agent from the operator. */
function AgentDialog() {
  const { t } = useTranslation('account');
  return (
    <FormDialog
      title={t('agent.title')}
      values={EMPTY}
      validate={{ displayName: (name) => (name.trim() === '' ? t('agent.nameMissing') : null) }}
      run={(draft) => ok(api.POST(`${MS}/rcs/agents`, { body: toRequestBody(draft) }))}
      refresh={[['account', 'agents']]}
      done={t('agent.done')}
      action={t('agent.submit')}
    >
      {(form) => (
        <>
          <Text size="sm">{t('agent.text')}</Text>
          <TextInput
            label={t('agent.displayName')}
            maxLength={100}
            data-autofocus
            {...form.getInputProps('displayName')}
          />
          <TextInput label={t('agent.description')} maxLength={100} {...form.getInputProps('description')} />
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <NativeSelect
              label={t('agent.useCase')}
              data={USES.map((value) => ({ value, label: t(`use.${value}`) }))}
              {...form.getInputProps('useCase')}
            />
            <TextInput label={t('agent.color')} placeholder="#0057B8" maxLength={7} {...form.getInputProps('color')} />
            {ADDRESSES.map((name) => (
              <TextInput
                key={name}
                type="url"
                label={t(`agent.${name}`)}
                placeholder="https://"
                {...form.getInputProps(name)}
              />
            ))}
          </SimpleGrid>
        </>
      )}
    </FormDialog>
  );
}
