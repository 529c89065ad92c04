import { type MantineColorScheme, Menu, Text, useMantineColorScheme } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Building2, CircleQuestionMark, CircleUserRound, LogOut, Monitor, Moon, Sun } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { forgetDrafts } from '../../api/drafts-key.ts';
import { useSession } from '../../api/session.ts';
import { type OpenerButton, useOpenWhenDrawn } from '../../ui/on-demand.tsx';
import { AccountChoice } from './account-choice.tsx';
import { type Language, LANGUAGES } from '../../api/languages.ts';
import { changeLanguage } from '../i18n.ts';

const SCHEMES = [
  { scheme: 'light', icon: Sun },
  { scheme: 'dark', icon: Moon },
  { scheme: 'auto', icon: Monitor },
] as const;

/** The items of the user menu, loaded by `UserMenu` on the first click. */
export function UserMenuItems({ button }: { readonly button: OpenerButton }) {
  const { t } = useTranslation('app');
  const { user, role } = useSession();
  const [isChoosing, choosing] = useDisclosure();
  const signOut = useSignOut();
  const navigate = useNavigate();
  const { target, ...state } = useOpenWhenDrawn(button);
  return (
    <>
      <Menu width={240} {...state}>
        <Menu.Target>{target}</Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            <Text size="sm" fw={600} truncate>
              {user.username}
            </Text>
            <Text size="xs">{t(`role.${role}`)}</Text>
          </Menu.Label>
          <Menu.Divider />
          {user.isOperator && (
            <>
              <Menu.Item leftSection={<Building2 size={16} />} onClick={choosing.open}>
                {t('switch.open')}
              </Menu.Item>
              <Menu.Divider />
            </>
          )}
          <Menu.Item leftSection={<CircleUserRound size={16} />} onClick={() => void navigate({ to: '/profile' })}>
            {t('profile')}
          </Menu.Item>
          <Menu.Item component="a" href="/help/" target="_blank" leftSection={<CircleQuestionMark size={16} />}>
            {t('help')}
          </Menu.Item>
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
      {user.isOperator && <AccountChoice opened={isChoosing} onClose={choosing.close} />}
    </>
  );
}

function useSignOut() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useAction({
    run: () => ok(api.DELETE('/api/partner-gateway/v1/session')),
    onDone: () => {
      forgetDrafts();
      void navigate({ to: '/sign-in' }).then(() => queries.clear());
    },
  });
}

function SchemeItems() {
  const { t } = useTranslation('app');
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu.RadioGroup value={colorScheme} onChange={(value) => setColorScheme(value as MantineColorScheme)}>
      {SCHEMES.map(({ scheme, icon: Icon }) => (
        <Menu.RadioItem key={scheme} value={scheme} rightSection={<Icon size={16} />}>
          {t(`scheme.${scheme}`)}
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  );
}

function LanguageItems() {
  const { t, i18n } = useTranslation('app');
  return (
    <Menu.RadioGroup value={i18n.language} onChange={(value) => void changeLanguage(i18n, value as Language)}>
      {LANGUAGES.map((language) => (
        <Menu.RadioItem key={language} value={language} lang={language}>
          {t(`language.${language}`)}
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  );
}
