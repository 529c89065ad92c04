import { Badge, Group, Stack, Text } from '@mantine/core';
import { Laptop, Smartphone } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../../ui/table/data-table.tsx';
import { DateTime } from '../../ui/values/date-time.tsx';
import { deviceOf } from './device.ts';
import type { Entry } from './session-entry.ts';

/** Returns a function that names the device of a session. */
export function useDeviceName(): (entry: Pick<Entry, 'userAgent'>) => string {
  const { t } = useTranslation('security');
  return ({ userAgent }) => {
    const { browser, system } = deviceOf(userAgent);
    if (browser !== null && system !== null) return t('device.both', { browser, system });
    return browser ?? system ?? t('device.unknown');
  };
}

/** The columns of the sessions; `withPeople` adds the user, for sessions of several users. */
export function useSessionColumns(withPeople: boolean): readonly Column<Entry>[] {
  const { t } = useTranslation('security');
  return useMemo(() => {
    const person: Column<Entry> = {
      id: 'username',
      header: t('session.person'),
      cell: ({ username }) => <bdi>{username}</bdi>,
    };
    return [
      { id: 'device', header: t('session.device'), phone: 'title', cell: (entry) => <Device entry={entry} /> },
      ...(withPeople ? [person] : []),
      {
        id: 'address',
        header: t('session.address'),
        cell: ({ address }) => (
          <bdi dir="ltr" className="tabular">
            {address ?? '–'}
          </bdi>
        ),
      },
      { id: 'method', header: t('session.method'), cell: ({ method }) => t(`method.${method}`) },
      { id: 'lastSeenAt', header: t('session.lastSeenAt'), cell: ({ lastSeenAt }) => <DateTime value={lastSeenAt} /> },
      { id: 'createdAt', header: t('session.createdAt'), cell: ({ createdAt }) => <DateTime value={createdAt} /> },
      {
        id: 'expiresAt',
        header: t('session.expiresAt'),
        hidden: true,
        cell: ({ expiresAt }) => <DateTime value={expiresAt} show="exact" />,
      },
    ];
  }, [t, withPeople]);
}

const PHONES: readonly (string | null)[] = ['iPhone', 'iPad', 'Android'];

function Device({ entry }: { readonly entry: Entry }) {
  const { t } = useTranslation('security');
  const name = useDeviceName()(entry);
  const Icon = PHONES.includes(deviceOf(entry.userAgent).system) ? Smartphone : Laptop;
  return (
    <Group gap="xs" wrap="nowrap">
      <Icon size={18} aria-hidden="true" style={{ flexShrink: 0 }} />
      <Stack gap={4} align="flex-start">
        <Text size="sm" fw={600}>
          {name}
        </Text>
        {entry.current && (
          <Badge color="green" miw="max-content">
            {t('session.current')}
          </Badge>
        )}
      </Stack>
    </Group>
  );
}
