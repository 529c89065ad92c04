import { Button, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, ok } from '../../../api/client.ts';
import { useSession } from '../../../api/session.ts';
import { Dialog } from '../../../ui/dialog/dialog.tsx';
import { ErrorState } from '../../../ui/error-state.tsx';
import { TextLink } from '../../../ui/link.tsx';
import { TableSkeleton } from '../../../ui/table/table-skeleton.tsx';
import { useFormat } from '../../../ui/values/format.ts';
import { MsisdnText } from '../../../ui/values/msisdn-text.tsx';
import { useLast } from '../../../ui/use-last.ts';
import lists from '../../../ui/choice-list.module.css';
import { CAMPAIGNS } from '../../campaign.ts';
import { contentOf, type Draft } from '../draft.ts';
import { Pager } from '../pager.tsx';
import type { Sample } from '../preview.ts';
import type { Review } from './use-review.ts';

/** The reasons for which people are excluded, by their names in the review and in the preview. */
const REASONS = {
  invalid: 'invalid',
  unsupported: 'unsupported',
  optedOut: 'opted_out',
  text: 'text',
  noRoute: 'no_route',
  noPrice: 'no_price',
} as const;
type Reason = keyof typeof REASONS;

const isReason = (word: string): word is Reason => word in REASONS;

/** Excluded people by reason, each with a list of them. */
export function LeftOut({ review: { skipped }, draft }: { readonly review: Review; readonly draft: Draft }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const [open, setOpen] = useState<Reason | null>(null);
  const shown = useLast(open);
  const found = Object.entries(skipped).filter(([, count]) => count > 0);
  if (found.length === 0) return null;
  return (
    <Stack gap="xs">
      <Text size="sm" fw={600}>
        {t('leftOut.title')}
      </Text>
      <ul className={lists.lists} aria-label={t('leftOut.title')}>
        {found.map(([reason, count]) => (
          <li key={reason} className={lists.list}>
            <Text size="sm">{t(`skipped.${reason}`, { count, shown: format.number(count) })}</Text>
            {isReason(reason) && (
              <Button
                size="compact-sm"
                variant="default"
                aria-label={t('leftOut.showFor', { reason: t(`skip.${REASONS[reason]}`) })}
                onClick={() => setOpen(reason)}
              >
                {t('leftOut.show')}
              </Button>
            )}
          </li>
        ))}
      </ul>
      <Dialog opened={open !== null} onClose={() => setOpen(null)} title={shown ? t(`skip.${REASONS[shown]}`) : ''}>
        {shown && <People key={shown} reason={shown} draft={draft} />}
      </Dialog>
    </Stack>
  );
}

const PAGE_SIZE = 10;

function People({ reason, draft }: { readonly reason: Reason; readonly draft: Draft }) {
  const { t } = useTranslation('campaigns');
  const [offset, setOffset] = useState(0);
  const content = contentOf(draft);
  const body = { ...content, destinations: content.destinations.slice(0, 1000), skip: REASONS[reason] };
  const { data, error, refetch } = useQuery({
    queryKey: ['campaign-preview', 'left-out', JSON.stringify(body), offset],
    queryFn: ({ signal }) =>
      ok(api.POST(`${CAMPAIGNS}/preview`, { body: { ...body, limit: PAGE_SIZE, offset }, signal })),
    placeholderData: keepPreviousData,
  });
  if (error !== null && data === undefined) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <TableSkeleton rows={4} />;
  const people = data.data;
  return (
    <Stack gap="sm">
      <Text size="sm">{t(`leftOut.why.${reason}`)}</Text>
      {people.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('leftOut.notListed')}
        </Text>
      ) : (
        <ul className={lists.lists} aria-label={t('leftOut.people')}>
          {people.map((person, at) => (
            <Person key={`${person.phoneNumber}-${person.contactId}-${at}`} person={person} />
          ))}
        </ul>
      )}
      <Pager
        justify="flex-end"
        offset={offset}
        pageSize={PAGE_SIZE}
        hasMore={people.length === PAGE_SIZE}
        onChange={setOffset}
      />
    </Stack>
  );
}

function Person({ person: { contactId, name, phoneNumber } }: { readonly person: Sample }) {
  const { t } = useTranslation('campaigns');
  const { may } = useSession();
  const label = name || t('samples.unnamed');
  return (
    <li className={lists.list}>
      {contactId !== null && may({ scope: 'contacts' }) ? (
        <TextLink to={`/contacts/${contactId}`}>{label}</TextLink>
      ) : (
        <Text size="sm">{label}</Text>
      )}
      {phoneNumber !== null && (
        <Text size="sm" c="dimmed" component="span">
          <MsisdnText number={phoneNumber} />
        </Text>
      )}
    </li>
  );
}
