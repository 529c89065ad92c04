import { ActionIcon } from '@mantine/core';
import { CircleUserRound } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { useSession } from '../../api/session.ts';
import { OnDemand } from '../../ui/on-demand.tsx';

const LazyItems = lazyPart(() =>
  import('./user-menu-items.tsx').then(({ UserMenuItems }) => ({ default: UserMenuItems })),
);

/** The user menu: profile, color scheme, language and sign-out. */
export function UserMenu() {
  const { t } = useTranslation('app');
  const { user } = useSession();
  const button = (
    <ActionIcon variant="subtle" color="gray" size="lg" radius="xl" aria-label={t('userMenu', { name: user.username })}>
      <CircleUserRound size={24} />
    </ActionIcon>
  );
  return (
    <OnDemand button={button} kind="menu">
      <LazyItems button={button} />
    </OnDemand>
  );
}
