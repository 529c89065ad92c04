import { Button, Group, type MantineColorScheme, Menu, Stack, Text, useMantineColorScheme } from '@mantine/core';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Building2, CircleQuestionMark, CircleUserRound, LogOut, Monitor, Moon, Sun } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { forgetDrafts, LANGUAGES, type Language } from '../api/data.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { Dialog, openDialog } from '../ui/dialog.tsx';
import { useDialog } from '../ui/lazy-props.ts';
import { callName } from '../ui/initials.tsx';
import { SearchField } from '../ui/filter-bar.tsx';
import { ErrorState, type OpenerButton, TableSkeleton, useOpenWhenDrawn } from '../ui/parts.tsx';
import { changeLanguage } from './i18n.ts';
import { useSwitchAccount } from './switch-account.ts';

const SCHEMES = [
  { scheme: 'light', icon: Sun },
  { scheme: 'dark', icon: Moon },
  { scheme: 'auto', icon: Monitor },
] as const;

/** The items of the user menu, loaded by `UserMenu` on the first click. */
export function UserMenuItems({ button }: { readonly button: OpenerButton }) {
  const { t } = useTranslation('app');
  const { user, role } = useSession();
  const signOut = useSignOut();
  const navigate = useNavigate();
  const { target, ...state } = useOpenWhenDrawn(button);
  return (
    <Menu width={240} {...state}>
      <Menu.Target>{target}</Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="sm" fw={500} truncate>
            {callName(user)}
          </Text>
          <Text size="xs">{t(`role.${role}`)}</Text>
        </Menu.Label>
        <Menu.Divider />
        {user.isOperator && (
          <>
            <Menu.Item leftSection={<Building2 size={16} />} onClick={() => openDialog(<AccountChoice />)}>
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

const MAX_SHOWN = 8;

const listAccounts = (search: string, signal: AbortSignal) => {
  const query = { page: 0, limit: MAX_SHOWN, ...(search !== '' && { search }) };
  return ok(api.GET('/api/operator/v1/accounts', { params: { query }, signal }));
};

/** Dialog in which operators switch to another account. */
function AccountChoice() {
  const { t } = useTranslation('app');
  return (
    <Dialog title={t('switch.title')} size="md">
      <Accounts />
    </Dialog>
  );
}

function Accounts() {
  const { t } = useTranslation('app');
  const { close } = useDialog();
  const [search, setSearch] = useState('');
  const { data, error, refetch } = useQuery({
    queryKey: ['operator', 'account-choice', search],
    queryFn: ({ signal }) => listAccounts(search, signal),
    placeholderData: keepPreviousData,
  });
  return (
    <Stack>
      <SearchField label={t('switch.search')} value={search} onChange={setSearch} />
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <TableSkeleton rows={4} />}
      {data?.data.map(({ id, name }) => (
        <AccountLine key={id} id={id} name={name} onChosen={close} />
      ))}
      {data && data.total > MAX_SHOWN && (
        <Text size="xs" c="dimmed">
          {t('switch.more', { count: data.total - MAX_SHOWN })}
        </Text>
      )}
      {data?.total === 0 && <Text size="sm">{t('switch.none')}</Text>}
    </Stack>
  );
}

type AccountLineProps = { readonly id: number; readonly name: string; readonly onChosen: () => void };

function AccountLine({ id, name, onChosen }: AccountLineProps) {
  const { t } = useTranslation('app');
  const { account, ownAccountId } = useSession();
  const switching = useSwitchAccount(onChosen);
  const isHere = account.id === id;
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm" className="foreign-text" dir="auto" fw={isHere ? 500 : 400}>
        {name}
      </Text>
      {isHere ? (
        <Text size="xs" c="dimmed">
          {t('switch.here')}
        </Text>
      ) : (
        <Button
          size="xs"
          variant="default"
          loading={switching.busy}
          onClick={() => switching.run(id === ownAccountId ? null : id)}
          aria-label={t('switch.lookAt', { name })}
        >
          {t('switch.look')}
        </Button>
      )}
    </Group>
  );
}
