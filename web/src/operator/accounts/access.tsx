import { Group, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { Facts } from '../../ui/values/facts.tsx';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { Num } from '../../ui/values/num.tsx';
import { Section } from '../../ui/section.tsx';
import { OPERATOR } from '../shared/need.ts';
import { ACCOUNT_KEYS, type AccountDetails, ACCOUNTS } from './account.ts';

type Props = { readonly account: AccountDetails };

/** The account's users, API keys and allowed IP addresses. */
export function Access({ account }: Props) {
  const { t } = useTranslation('operator');
  return (
    <Section title={t('access.title')}>
      <Facts
        facts={[
          { label: t('access.people'), value: <People people={account.people} /> },
          { label: t('access.apiKeys'), value: <Num value={account.apiKeys} /> },
          { label: t('access.addresses'), value: <Addresses account={account} /> },
        ]}
      />
    </Section>
  );
}

function People({ people }: Pick<AccountDetails, 'people'>) {
  const { t } = useTranslation('operator');
  return (
    <Stack gap={6}>
      {people.map(({ id, username, role, isOperator }) => (
        <Group key={id} gap="xs" justify="space-between">
          <bdi>{username}</bdi>
          <Text size="sm" c="dimmed">
            {t(`access.role.${role}`)}
            {isOperator && ` · ${t('access.isOperator')}`}
          </Text>
        </Group>
      ))}
    </Stack>
  );
}

function Addresses({ account }: Props) {
  const { t } = useTranslation('operator');
  if (!account.allowListEnforced) return <span>{t('access.everyAddress')}</span>;
  return (
    <Stack gap="xs" align="flex-start">
      <Text size="sm" className="tabular" dir="ltr">
        {account.ipAllowList.join(', ')}
      </Text>
      <OpenToAll account={account} />
    </Stack>
  );
}

/** Button that clears the IP allowlist, for an owner who is locked out. */
function OpenToAll({ account: { id, name } }: Props) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const open = useAction({
    run: () => ok(api.PUT(`${ACCOUNTS}/{id}`, { params: { path: { id } }, body: { allowListEnforced: false } })),
    refresh: ACCOUNT_KEYS,
    done: t('access.open.done', { name }),
    onDone: asking.close,
  });
  return (
    <>
      <GuardedButton need={OPERATOR} size="xs" variant="default" onClick={asking.open}>
        {t('access.open.open')}
      </GuardedButton>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t('access.open.title', { name })}
        action={t('access.open.submit')}
        onConfirm={() => open.run()}
        busy={open.busy}
      >
        {t('access.open.text')}
      </ConfirmDialog>
    </>
  );
}
