import { ActionIcon, Avatar, Menu, Text, useMantineColorScheme } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Check, Languages, LogOut, Monitor, Moon, Sun } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { changeLanguage, LANGUAGES } from './i18n.ts';

const SCHEMES = [
  { scheme: 'light', icon: Sun },
  { scheme: 'dark', icon: Moon },
  { scheme: 'auto', icon: Monitor },
] as const;

/** Who is signed in, how the console looks and in which language, and the way out. */
export function UserMenu() {
  const { t } = useTranslation('app');
  const { user, role } = useSession();
  const signOut = useSignOut();
  return (
    <Menu width={240}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" radius="xl" aria-label={t('userMenu', { name: user.username })}>
          <Avatar size={30} radius="xl" color="amber" variant="light" aria-hidden="true">
            {user.username.slice(0, 2).toUpperCase()}
          </Avatar>
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="sm" fw={600} truncate>
            {user.username}
          </Text>
          <Text size="xs">{t(`role.${role}`)}</Text>
        </Menu.Label>
        <Menu.Divider />
        <SchemeItems />
        <Menu.Divider />
        <LanguageItems />
        <Menu.Divider />
        <Menu.Item leftSection={<LogOut size={16} />} onClick={() => signOut.run()}>
          {t('signOut')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function useSignOut() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useAction({
    run: () => ok(api.DELETE('/api/partner-gateway/v1/session')),
    async onDone() {
      await navigate({ to: '/sign-in' });
      queries.clear();
    },
  });
}

function SchemeItems() {
  const { t } = useTranslation('app');
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return SCHEMES.map(({ scheme, icon: Icon }) => (
    <ChoiceItem key={scheme} isChosen={colorScheme === scheme} icon={<Icon size={16} />} onClick={() => setColorScheme(scheme)}>
      {t(`scheme.${scheme}`)}
    </ChoiceItem>
  ));
}

function LanguageItems() {
  const { t, i18n } = useTranslation('app');
  return LANGUAGES.map((language) => (
    <ChoiceItem
      key={language}
      isChosen={i18n.language === language}
      icon={<Languages size={16} />}
      onClick={() => void changeLanguage(i18n, language)}
    >
      <span lang={language}>{t(`language.${language}`)}</span>
    </ChoiceItem>
  ));
}

type ChoiceProps = {
  readonly isChosen: boolean;
  readonly icon: ReactNode;
  readonly onClick: () => void;
  readonly children: ReactNode;
};

function ChoiceItem({ isChosen, icon, onClick, children }: ChoiceProps) {
  return (
    <Menu.Item
      role="menuitemradio"
      aria-checked={isChosen}
      leftSection={icon}
      rightSection={isChosen ? <Check size={16} /> : null}
      closeMenuOnClick={false}
      onClick={onClick}
    >
      {children}
    </Menu.Item>
  );
}
