import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../../api/client.ts';
import { useCredit } from '../../../api/credit.ts';
import type { FieldFault } from '../../../api/errors.ts';
import { useSession } from '../../../api/session.ts';
import { useNow } from '../../../ui/values/use-now.ts';
import { CAMPAIGNS } from '../../campaign.ts';
import { contentOf, type Draft, missingOf } from '../draft.ts';

const reviewContent = (body: ReturnType<typeof contentOf>, signal: AbortSignal) =>
  ok(api.POST(`${CAMPAIGNS}/preview/review`, { body, signal }));

export type Review = Awaited<ReturnType<typeof reviewContent>>;
export type ChannelPlan = Review['channels'][number];

/** Recipients and cost of the draft, counted for all recipients. Nothing is stored. */
export function useReview(draft: Draft) {
  const content = contentOf(draft);
  return useQuery({
    queryKey: ['campaign-review', JSON.stringify(content)],
    queryFn: ({ signal }) => reviewContent(content, signal),
    placeholderData: keepPreviousData,
  });
}

/** Everything that prevents the confirmation, in the form of server errors. */
export function useUnmet(draft: Draft, review: Review | undefined, reservedBefore: number): readonly FieldFault[] {
  const { t } = useTranslation('campaigns');
  const { account } = useSession();
  const { data: credit } = useCredit();
  const now = useNow();
  const missing = missingOf(draft, now, (key) => t(`fault.${key}`));
  const content = contentOf(draft);
  const recipients = content.contactListIds.length > 0 ? 'contactListIds' : 'destinations';
  const isNobody = content.contactListIds.length === 0 && content.destinations.length === 0;
  const isShort =
    account.plan !== 'unlimited' &&
    credit !== undefined &&
    review !== undefined &&
    review.maxPrice !== null &&
    credit.availableCredit + reservedBefore < review.maxPrice;
  const own = [
    isNobody && { field: 'contactListIds', message: t('unmet.recipients') },
    !isNobody && review?.total === 0 && { field: recipients, message: t('unmet.nobody') },
    isShort && { field: 'credit', message: t('unmet.credit') },
  ].filter((fault) => fault !== false);
  const lacking = Object.entries(missing).map(([field, message]) => ({ field, message }));
  const told = new Set([...lacking, ...own].map(({ field }) => field));
  return [...lacking, ...own, ...(review?.problems ?? []).filter(({ field }) => !told.has(field))];
}
