import { Switch } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { INBOX, NEED } from './conversation.ts';
import { settingsQuery } from './drafts.tsx';

const KEY = ['inbox-availability'];

/** Switch for taking new conversations; only if they are assigned in turn. */
export function AvailabilitySwitch() {
  const { t } = useTranslation('inbox');
  const session = useSession();
  const may = session.may(NEED) && !session.isElsewhere;
  const { data: settings } = useQuery(settingsQuery);
  const isInTurn = settings?.assignment === 'ROUND_ROBIN';
  const { data } = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => ok(api.GET(`${INBOX}/availability`, { signal })),
    enabled: may && isInTurn,
  });
  const change = useAction({
    run: (available: boolean) => ok(api.PUT(`${INBOX}/availability`, { body: { available } })),
    refresh: [KEY],
  });
  if (!data) return null;
  return (
    <Switch
      label={t('available')}
      checked={data.available}
      disabled={change.busy}
      onChange={(event) => change.run(event.currentTarget.checked)}
    />
  );
}
