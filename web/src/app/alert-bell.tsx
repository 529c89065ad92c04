import { Badge } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Bell } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { Hint } from '../ui/hint.tsx';
import { ButtonLink } from '../ui/parts.tsx';

const REFRESH_MS = 15_000;
const MAX_SHOWN = 99;

/** The number of unacknowledged alerts, with a link to them, which operators may open. */
export function AlertBell() {
  const { t } = useTranslation('app');
  const { data } = useQuery({
    // Below the key of the page, so that an acknowledgement there counts immediately.
    queryKey: ['alerts', 'bell'],
    queryFn: ({ signal }) =>
      ok(api.GET('/api/operator/v1/alerts', { params: { query: { state: 'firing', limit: 1 } }, signal })),
    refetchInterval: REFRESH_MS,
  });
  const count = data?.total ?? 0;
  const label = t('alerts', { count });
  return (
    <Hint label={label}>
      <ButtonLink to="/operator/alerts" variant="subtle" color="gray" size="compact-md" aria-label={label}>
        <Bell size={20} aria-hidden="true" />
        {count > 0 && (
          <Badge color="red" ml={4} px={6} variant="filled" aria-hidden="true">
            {count > MAX_SHOWN ? `${MAX_SHOWN}+` : count}
          </Badge>
        )}
      </ButtonLink>
    </Hint>
  );
}
