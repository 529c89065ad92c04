import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { useFormat } from '../ui/format.ts';
import { NEED, type Search } from './conversation.ts';
import classes from './inbox.module.css';

const WISHES = '/api/partner-gateway/v1/consents/suspected';
const listWishes = (signal: AbortSignal) => ok(api.GET(WISHES, { signal }));
type Wish = Awaited<ReturnType<typeof listWishes>>[number];

const REFRESH_MS = 60_000;
/** The list below keeps its room: further ones follow when these are decided. */
const MAX_SHOWN = 2;

/** The messages that probably ask for no more messages, the oldest first, each with the two possible decisions. */
export function Wishes() {
  const { t } = useTranslation('inbox');
  const { data = [] } = useQuery({
    queryKey: ['inbox', 'wishes'],
    queryFn: ({ signal }) => listWishes(signal),
    refetchInterval: REFRESH_MS,
  });
  if (data.length === 0) return null;
  return (
    <section aria-label={t('wish.title', { count: data.length })} className={classes.wishes}>
      <Text size="xs" fw={600}>
        {t('wish.title', { count: data.length })}
      </Text>
      <Stack gap="sm" mt={6}>
        {data.slice(0, MAX_SHOWN).map((wish) => (
          <WishRow key={wish.messageId} wish={wish} />
        ))}
      </Stack>
    </section>
  );
}

function WishRow({ wish: { messageId, to, text, chatId, since } }: { readonly wish: Wish }) {
  const { t } = useTranslation('inbox');
  const { relative, exact } = useFormat();
  const decide = useAction({
    run: (decision: 'OPT_OUT' | 'DISMISS') =>
      ok(api.POST(`${WISHES}/{messageId}`, { params: { path: { messageId } }, body: { decision } })),
    done: (_, decision) => t(decision === 'OPT_OUT' ? 'wish.optedOut' : 'wish.dismissed', { to }),
    refresh: [
      ['inbox', 'wishes'],
      ['inbox', 'list'],
    ],
  });
  const words = (
    <Text size="sm" dir="auto" lineClamp={2}>
      {text ?? t('type.DELETED')}
    </Text>
  );
  return (
    <div>
      {chatId === null ? (
        words
      ) : (
        <Link to="." search={(before: Partial<Search>) => ({ ...before, chat: chatId })} preload={false}>
          {words}
        </Link>
      )}
      <Group gap="xs" justify="space-between" mt={4}>
        <Text size="xs" c="dimmed">
          <span dir="ltr">{to}</span> ·{' '}
          <time dateTime={since} title={exact(new Date(since))}>
            {relative(new Date(since))}
          </time>
        </Text>
        <Group gap={6}>
          <GuardedButton
            need={NEED}
            size="compact-xs"
            variant="default"
            loading={decide.busy}
            onClick={() => decide.run('DISMISS')}
          >
            {t('wish.dismiss')}
          </GuardedButton>
          <GuardedButton
            need={NEED}
            size="compact-xs"
            color="red"
            variant="light"
            loading={decide.busy}
            onClick={() => decide.run('OPT_OUT')}
          >
            {t('wish.optOut')}
          </GuardedButton>
        </Group>
      </Group>
    </div>
  );
}
