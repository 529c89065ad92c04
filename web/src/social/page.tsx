import { Alert, Anchor, Avatar, Button, Code, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link2, RefreshCw, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { notify } from '../api/notify.ts';
import { useProblemText } from '../api/passkey.ts';
import { ApiError, api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { confirm, questionTexts, SidePanel } from '../ui/dialog.tsx';
import { ErrorState, Muted, PageFrame, TableSkeleton, useLast } from '../ui/parts.tsx';
import { DateTime, Facts, StatusBadge } from '../ui/values.tsx';
import classes from './social.module.css';

type NetworkCardProps = {
  readonly network: Network;
  /** The connected profile; undefined if there is none. */
  readonly profile: Profile | undefined;
  readonly connecting: Connecting | undefined;
  /** Starts connecting. `since` is when the profile to be replaced was connected; null if there is none. */
  readonly onConnect: (since: string | null) => void;
  readonly onGiveUp: () => void;
  /** Shows the pages linked to the profile. */
  readonly onLinked: () => void;
};

/** The card of one network: its connected profile and the possible actions. */
function NetworkCard(props: NetworkCardProps) {
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
  return <Muted>{t(`about.${platform}`)}</Muted>;
}

function Connected({ profile, onLinked }: NetworkCardProps & { readonly profile: Profile }) {
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
                <Anchor component="button" type="button" size="sm" onClick={onLinked}>
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
        <Text fw={500} dir="auto" className="foreign-text">
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

function Actions({ network: { label, platform }, profile, connecting, onConnect }: NetworkCardProps) {
  const { t } = useTranslation('social');
  const disconnect = (): void =>
    confirm({
      ...questionTexts(t, 'disconnect', { network: label }),
      run: () => ok(api.DELETE(`${SOCIALS}/{platform}`, { params: { path: { platform } } })),
      refresh: [['socials']],
    });
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
          onClick={disconnect}
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

/** The state of connecting a network. */
type Connecting =
  | { readonly step: 'asking' }
  /** `since` is when the existing profile was connected; null if there is none. */
  | { readonly step: 'waiting'; readonly authorizeUrl: string; readonly since: string | null }
  /** `missing` are the server settings named in the error. */
  | { readonly step: 'failed'; readonly reason: string; readonly missing: readonly string[] };

/** The names of server settings, such as `FACEBOOK_CLIENT_ID`. */
const SETTING = /\b[A-Z]+_CLIENT_(?:ID|SECRET)\b/g;

type All = Partial<Record<Platform, Connecting>>;

/**
 * Connects profiles: the user confirms at the network in another tab, and this page polls until the profile is
 * connected. The network's tab gets nothing from this page but the URL.
 */
function useConnecting() {
  const { t } = useTranslation('social');
  const problemText = useProblemText();
  const [all, setAll] = useState<All>({});
  const set = (platform: Platform, now: Connecting | undefined): void =>
    setAll((before) => ({ ...before, [platform]: now }));
  const begin = async (platform: Platform, since: string | null): Promise<void> => {
    set(platform, { step: 'asking' });
    try {
      const { authorizeUrl } = await connectProfile(platform);
      set(platform, { step: 'waiting', authorizeUrl, since });
      window.open(authorizeUrl, '_blank', 'noopener,noreferrer');
    } catch (error) {
      const missing = error instanceof ApiError && error.status === 502 ? (error.message.match(SETTING) ?? []) : [];
      set(platform, { step: 'failed', reason: problemText(error), missing });
    }
  };
  const isDone = ({ platform }: Network, profiles: readonly Profile[]): boolean => {
    const now = all[platform];
    const profile = profiles.find((each) => each.platform === platform);
    return now?.step === 'waiting' && profile !== undefined && profile.connectedAt !== now.since;
  };
  return {
    of: (platform: Platform): Connecting | undefined => all[platform],
    begin: (platform: Platform, since: string | null): void => void begin(platform, since),
    giveUp: (platform: Platform): void => set(platform, undefined),
    /** Ends the waiting for networks whose profile is now connected. */
    updateFrom(profiles: readonly Profile[]): void {
      for (const network of PLATFORMS.filter((each) => isDone(each, profiles))) {
        set(network.platform, undefined);
        void notify({
          message: t('connect.done', { network: network.label }),
          tone: 'good',
          closeLabel: t('ui:close'),
        });
      }
    },
    isWaiting: Object.values(all).some((now) => now?.step === 'waiting'),
  };
}

/** Poll interval while the user confirms at a network, in another tab. */
const WAITING_MS = 2_000;

/** The page of the account's social profiles. */
export function Page() {
  const { t } = useTranslation('social');
  const [linked, setLinked] = useState<Network | null>(null);
  const connecting = useConnecting();
  const profiles = useQuery({
    queryKey: ['socials'],
    queryFn: async ({ signal }) => {
      const found = await listProfiles(signal);
      connecting.updateFrom(found);
      return found;
    },
    refetchInterval: connecting.isWaiting ? WAITING_MS : false,
    refetchOnWindowFocus: 'always',
  });
  if (profiles.isError)
    return (
      <PageFrame title={t('title')} description={t('description')}>
        <ErrorState error={profiles.error} onRetry={() => void profiles.refetch()} />
      </PageFrame>
    );
  return (
    <PageFrame title={t('title')} description={t('description')}>
      {profiles.data === undefined ? (
        <TableSkeleton rows={6} />
      ) : (
        <SimpleGrid cols={{ base: 1, sm: 2, xl: 3 }} spacing="md">
          {PLATFORMS.map((network) => (
            <NetworkCard
              key={network.platform}
              network={network}
              profile={profiles.data.find(({ platform }) => platform === network.platform)}
              connecting={connecting.of(network.platform)}
              onConnect={(since) => connecting.begin(network.platform, since)}
              onGiveUp={() => connecting.giveUp(network.platform)}
              onLinked={() => setLinked(network)}
            />
          ))}
        </SimpleGrid>
      )}
      <LinkedPanel network={linked} onClose={() => setLinked(null)} />
    </PageFrame>
  );
}

type LinkedPanelProps = { readonly network: Network | null; readonly onClose: () => void };

/** Side panel with the pages, organisations and locations linked to a profile; null closes it. */
function LinkedPanel({ network, onClose }: LinkedPanelProps) {
  const { t } = useTranslation('social');
  const shown = useLast(network);
  return (
    <SidePanel opened={network !== null} onClose={onClose} title={t('linked.title', { network: shown?.label ?? '' })}>
      {shown && <Linked network={shown} />}
    </SidePanel>
  );
}

function Linked({ network: { platform } }: { readonly network: Network }) {
  const { t } = useTranslation('social');
  const profile = useQuery({
    queryKey: ['social-profile', platform],
    queryFn: ({ signal }) => findProfile(platform, signal),
  });
  if (profile.isError) return <ErrorState error={profile.error} onRetry={() => void profile.refetch()} />;
  if (!profile.data) return <TableSkeleton rows={4} />;
  return (
    <ul className={classes.linked}>
      {profile.data.linked.map(({ id, name, type }) => (
        <li key={`${type} ${id}`}>
          <Group justify="space-between" wrap="nowrap">
            <Text size="sm" fw={500} dir="auto" className="foreign-text">
              {name}
            </Text>
            <Text size="xs" c="dimmed">
              {t(`linked.${type}`, { defaultValue: type })}
            </Text>
          </Group>
          <Text size="xs" c="dimmed" className="foreign-text">
            {id}
          </Text>
        </li>
      ))}
    </ul>
  );
}

const SOCIALS = '/api/partner-gateway/v1/socials';

/** The permission that connecting profiles requires. */
const NEED: Need = { scope: 'social', write: true };

/** The networks in display order; their names are the same in every language. */
const PLATFORMS = [
  { platform: 'facebook', label: 'Facebook', signs: 'f' },
  { platform: 'instagram', label: 'Instagram', signs: 'Ig' },
  { platform: 'linkedin', label: 'LinkedIn', signs: 'in' },
  { platform: 'google', label: 'Google', signs: 'G' },
  { platform: 'tiktok', label: 'TikTok', signs: 'T' },
] as const;
type Platform = (typeof PLATFORMS)[number]['platform'];
type Network = (typeof PLATFORMS)[number];

const listProfiles = (signal: AbortSignal) => ok(api.GET(SOCIALS, { signal }));
type Profile = Awaited<ReturnType<typeof listProfiles>>[number];

/** The path of one of our URLs: the console may be open under another address than the one that URLs have. */
function pathOf(url: string): string {
  const { pathname, search } = new URL(url, window.location.href);
  return `${pathname}${search}`;
}

const findProfile = (platform: Platform, signal: AbortSignal) =>
  ok(api.GET(`${SOCIALS}/{platform}`, { params: { path: { platform } }, signal }));

const connectProfile = (platform: Platform) =>
  ok(api.POST(`${SOCIALS}/{platform}/connect`, { params: { path: { platform } } }));
