import { Alert, Anchor, Avatar, Button, Code, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { Link2, RefreshCw, TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { DateTime } from '../ui/values/date-time.tsx';
import { Facts } from '../ui/values/facts.tsx';
import { GuardedButton } from '../ui/actions/guarded-button.tsx';
import { StatusBadge } from '../ui/values/status-badge.tsx';
import { NEED, type Network, pathOf, type Profile } from './profile.ts';
import classes from './social.module.css';
import type { Connecting } from './use-connecting.ts';

type NetworkCardProps = {
  readonly network: Network;
  /** The connected profile; undefined if there is none. */
  readonly profile: Profile | undefined;
  readonly connecting: Connecting | undefined;
  /** Starts connecting. `since` is when the profile to be replaced was connected; null if there is none. */
  readonly onConnect: (since: string | null) => void;
  readonly onGiveUp: () => void;
  readonly onOpen: (what: 'disconnect' | 'linked') => void;
};

/** The card of one network: its connected profile and the possible actions. */
export function NetworkCard(props: NetworkCardProps) {
  const { network, profile, connecting } = props;
  return (
    <Paper component="section" p="lg" aria-label={network.label}>
      <Stack h="100%" gap="md">
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <Group gap="sm" wrap="nowrap">
            <span className={classes.sign} data-network={network.platform} aria-hidden="true">
              {network.signs}
            </span>
            <Title order={2} size="h4">
              {network.label}
            </Title>
          </Group>
          <State profile={profile} />
        </Group>
        {profile ? <Connected {...props} profile={profile} /> : <About network={network} />}
        {connecting && <Progress {...props} connecting={connecting} />}
        <Actions {...props} />
      </Stack>
    </Paper>
  );
}

function State({ profile }: { readonly profile: Profile | undefined }) {
  const { t } = useTranslation('social');
  if (!profile) return <StatusBadge tone="neutral">{t('state.none')}</StatusBadge>;
  if (profile.disconnected) return <StatusBadge tone="bad">{t('state.disconnected')}</StatusBadge>;
  return profile.sandbox ? (
    <StatusBadge tone="warning">{t('state.sandbox')}</StatusBadge>
  ) : (
    <StatusBadge tone="good">{t('state.connected')}</StatusBadge>
  );
}

function About({ network: { platform } }: Pick<NetworkCardProps, 'network'>) {
  const { t } = useTranslation('social');
  return (
    <Text size="sm" c="dimmed">
      {t(`about.${platform}`)}
    </Text>
  );
}

function Connected({ profile, onOpen }: NetworkCardProps & { readonly profile: Profile }) {
  const { t } = useTranslation('social');
  const { linkedCount, linkedFault, tokenExpiresAt, connectedAt, disconnected } = profile;
  return (
    <Stack gap="sm">
      <Person profile={profile} />
      {disconnected && (
        <Alert color="red" icon={<TriangleAlert size={18} />}>
          {t('disconnectedText')}
        </Alert>
      )}
      {linkedFault !== null && (
        <Alert color="amber" icon={<TriangleAlert size={18} />} title={t('notListed')}>
          <Text size="sm" dir="auto" className="foreign-text">
            {linkedFault}
          </Text>
        </Alert>
      )}
      <Facts
        facts={[
          {
            label: t('fact.linked'),
            value:
              linkedCount === 0 ? (
                t('fact.noneLinked')
              ) : (
                <Anchor component="button" type="button" size="sm" onClick={() => onOpen('linked')}>
                  {t('fact.linkedCount', { count: linkedCount })}
                </Anchor>
              ),
          },
          { label: t('fact.connected'), value: <DateTime value={connectedAt} /> },
          { label: t('fact.expires'), value: <DateTime value={tokenExpiresAt} show="day" /> },
        ]}
      />
    </Stack>
  );
}

function Person({ profile: { profileName, username, pictureUrl } }: { readonly profile: Profile }) {
  return (
    <Group gap="sm" wrap="nowrap">
      {pictureUrl !== null && <Avatar src={pathOf(pictureUrl)} alt="" size={40} radius="xl" />}
      <div>
        <Text fw={600} dir="auto" className="foreign-text">
          {profileName}
        </Text>
        {username !== null && (
          <Text size="sm" c="dimmed" dir="auto" className="foreign-text">
            {username}
          </Text>
        )}
      </div>
    </Group>
  );
}

function Progress({ network, connecting, onGiveUp }: NetworkCardProps & { readonly connecting: Connecting }) {
  const { t } = useTranslation('social');
  if (connecting.step === 'asking') return null;
  if (connecting.step === 'failed') return <Failed connecting={connecting} />;
  return (
    <Alert color="blue" role="status" title={t('waiting.title', { network: network.label })}>
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{t('waiting.text')}</Text>
        <Group gap="xs">
          <Button
            component="a"
            href={connecting.authorizeUrl}
            target="_blank"
            rel="noopener noreferrer"
            size="xs"
            variant="default"
          >
            {t('waiting.again')}
          </Button>
          <Button size="xs" variant="subtle" color="gray" onClick={onGiveUp}>
            {t('waiting.giveUp')}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}

function Failed({ connecting }: { readonly connecting: Connecting & { readonly step: 'failed' } }) {
  const { t } = useTranslation('social');
  const { missing, reason } = connecting;
  return (
    <Alert color="amber" icon={<TriangleAlert size={18} />} title={t('failed.title')} role="alert">
      <Stack gap="xs">
        <Text size="sm">{missing.length > 0 ? t('failed.missing') : reason}</Text>
        {missing.map((name) => (
          <Code key={name} className={classes.reason}>
            {name}
          </Code>
        ))}
      </Stack>
    </Alert>
  );
}

function Actions({ network: { label }, profile, connecting, onConnect, onOpen }: NetworkCardProps) {
  const { t } = useTranslation('social');
  const busy = connecting?.step === 'asking';
  return (
    <Group gap={4} mt="auto" justify="flex-end">
      {profile && (
        <GuardedButton
          need={NEED}
          variant="subtle"
          color="red"
          size="sm"
          aria-label={t('disconnect.label', { network: label })}
          onClick={() => onOpen('disconnect')}
        >
          {t('disconnect.open')}
        </GuardedButton>
      )}
      {connecting?.step !== 'waiting' && (
        <GuardedButton
          need={NEED}
          variant={profile?.disconnected ? 'filled' : 'default'}
          size="sm"
          loading={busy}
          leftSection={profile ? <RefreshCw size={16} /> : <Link2 size={16} />}
          aria-label={t(profile ? 'connect.againLabel' : 'connect.label', { network: label })}
          onClick={() => onConnect(profile?.connectedAt ?? null)}
        >
          {t(profile ? 'connect.again' : 'connect.open')}
        </GuardedButton>
      )}
    </Group>
  );
}
