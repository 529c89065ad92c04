import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { CalendarClock, CircleCheck, Send, TriangleAlert } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { useCredit } from '../api/data.ts';
import { useProblemText } from '../api/passkey.ts';
import { ApiError, api, type FieldFault, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { GuardedButton } from '../ui/actions.tsx';
import lists from '../ui/choice-list.module.css';
import { ConfirmDialog, Dialog, openDialog } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { ButtonLink, ErrorState, Muted, TableSkeleton, TextLink } from '../ui/parts.tsx';
import { MsisdnText, useNow } from '../ui/values.tsx';
import { CAMPAIGN, CAMPAIGNS, type Campaign, NEED } from './campaign.ts';
import {
  cityOf,
  contentOf,
  type Draft,
  localTimeOf,
  missingOf,
  placeOf,
  type StepId,
  scheduledAt,
  toBody,
  toReview,
} from './draft.ts';
import { Pager, type Sample } from './preview.tsx';
import type { EditorState } from './use-editor.ts';

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
export function LeftOut({
  review: { skipped, overWeeklyCap },
  draft,
}: {
  readonly review: Review;
  readonly draft: Draft;
}) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const found = Object.entries(skipped).filter(([, count]) => count > 0);
  if (found.length === 0 && overWeeklyCap === 0) return null;
  return (
    <Stack gap="xs">
      <Text size="sm" fw={500}>
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
                onClick={() =>
                  openDialog(
                    <Dialog title={t(`skip.${REASONS[reason]}`)}>
                      <People reason={reason} draft={draft} />
                    </Dialog>,
                  )
                }
              >
                {t('leftOut.show')}
              </Button>
            )}
          </li>
        ))}
        {overWeeklyCap > 0 && (
          <li className={lists.list}>
            <Text size="sm">
              {t('skipped.overWeeklyCap', { count: overWeeklyCap, shown: format.number(overWeeklyCap) })}
            </Text>
          </li>
        )}
      </ul>
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
        <Muted>{t('leftOut.notListed')}</Muted>
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

type ConfirmProps = {
  readonly editor: EditorState;
  readonly review: Review;
  readonly isReady: boolean;
  /** The button to the previous step. */
  readonly back: ReactNode;
};

/** Confirms a saved campaign in the specification's order: the goal, `readyToSend`, then the confirmation. */
async function confirm({ id }: Campaign, maxPrice: number | null, tooDear: string): Promise<Campaign> {
  const params = { path: { id } };
  const { estimatedCost } = await ok(api.POST(`${CAMPAIGN}/calculateGoal`, { params }));
  // A list may have grown since the price was shown.
  if (maxPrice !== null && estimatedCost !== null && estimatedCost > maxPrice)
    throw new ApiError({ status: 400, message: tooDear, details: [{ field: 'goal', message: tooDear }] });
  await ok(api.PUT(CAMPAIGN, { params, body: { readyToSend: true } }));
  return ok(api.PUT(`${CAMPAIGN}/confirm`, { params }));
}

/** Applies the changes to a scheduled campaign: all of them, with the new price, or none. */
function apply(id: number, draft: Draft, maxPrice: number | null): Promise<Campaign> {
  const body = { ...toBody(draft, true), ...(maxPrice !== null && { maxPrice }) };
  return ok(api.PUT(`${CAMPAIGN}/apply`, { params: { path: { id } }, body }));
}

function useSend({ form, save, saving, scheduled }: EditorState, { maxPrice }: Review) {
  const { t } = useTranslation('campaigns');
  return async (): Promise<Campaign | null> => {
    if (scheduled === null) {
      const saved = await save();
      return saved && confirm(saved, maxPrice, t('confirm.dearer'));
    }
    const applied = await apply(scheduled.id, form.getValues(), maxPrice);
    await saving.settle(applied.id);
    return applied;
  };
}

/** The button that confirms the campaign, behind a dialog with the number of recipients, the time and the cost. */
export function Confirm({ editor, review, isReady, back }: ConfirmProps) {
  const { t } = useTranslation('campaigns');
  const problemText = useProblemText();
  const navigate = useNavigate();
  const [opened, setOpened] = useState(false);
  const draft = editor.form.getValues();
  const words = useTexts(draft, review, editor.scheduled !== null);
  const send = useAction({
    run: useSend(editor, review),
    refresh: [['campaigns'], ['campaign'], ['credit']],
    quiet: true,
    onDone(campaign) {
      setOpened(false);
      if (campaign) void navigate({ to: `/campaigns/${campaign.id}` });
    },
  });
  const Sign = draft.when === 'now' ? Send : CalendarClock;
  return (
    <Stack>
      {send.error instanceof ApiError && send.error.details.length > 0 ? (
        <Unmet faults={send.error.details} goTo={editor.goTo} />
      ) : (
        send.error !== null && <Alert color="red">{problemText(send.error)}</Alert>
      )}
      <Group justify="space-between">
        {back}
        <GuardedButton
          need={NEED}
          reason={isReady ? undefined : t('confirm.notReady')}
          size="md"
          leftSection={<Sign size={18} />}
          onClick={() => setOpened(true)}
        >
          {words.open}
        </GuardedButton>
      </Group>
      <ConfirmDialog
        opened={opened}
        onClose={() => setOpened(false)}
        title={words.title}
        action={words.submit}
        kind="normal"
        busy={send.busy}
        onConfirm={() => void send.runAsync().catch(() => setOpened(false))}
      >
        {words.text}
      </ConfirmDialog>
    </Stack>
  );
}

function useTexts(draft: Draft, { total, maxPrice, currency }: Review, isScheduled: boolean) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const local = localTimeOf(draft);
  const instant = local ?? scheduledAt(draft);
  const at = local
    ? t('time.localIn', { at: format.briefIn(local, 'UTC') })
    : instant && t('time.in', { at: format.briefIn(instant, draft.zone), zone: cityOf(draft.zone) });
  const cost = format.money(maxPrice, currency);
  const told = { name: draft.name.trim(), count: total, shown: format.number(total), cost, at: at ?? '' };
  const way = isScheduled ? (instant === null ? 'applyNow' : 'apply') : instant === null ? 'now' : 'later';
  return {
    open: t(`confirm.${way}.open`, told),
    title: t(`confirm.${way}.title`, told),
    text: t(`confirm.${way}.text`, told),
    submit: t(`confirm.${way}.submit`, told),
  };
}

type UnmetProps = { readonly faults: readonly FieldFault[]; readonly goTo: (step: StepId) => void };

/** The issues to resolve before the campaign can be confirmed, each with a link to its step. */
export function Unmet({ faults, goTo }: UnmetProps) {
  const { t } = useTranslation('campaigns');
  const sentence = useSentence();
  if (faults.length === 0)
    return (
      <Alert color="green" icon={<CircleCheck size={20} />} title={t('unmet.ready.title')}>
        {t('unmet.ready.text')}
      </Alert>
    );
  return (
    <Alert color="amber" icon={<TriangleAlert size={20} />} title={t('unmet.title')}>
      <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
        {faults.map((fault) => (
          <Group key={`${fault.field} ${fault.message}`} component="li" justify="space-between" gap="xs">
            <Text size="sm" style={{ overflowWrap: 'anywhere', flex: '1 1 240px' }}>
              {sentence(fault)}
            </Text>
            <GoToStep fault={fault} goTo={goTo} />
          </Group>
        ))}
      </Stack>
    </Alert>
  );
}

/** The field names to put before messages such as "must be…" and "Required". */
const NAMES: Readonly<Record<string, string>> = {
  name: 'channels.name',
  smsSender: 'channels.smsSender',
  smsBody: 'text.label',
  rcsAgentId: 'channels.rcsAgentId',
  rcsTemplateId: 'channels.rcsTemplateId',
  whatsappPhoneNumberId: 'channels.whatsappPhoneNumberId',
  whatsappTemplateId: 'channels.whatsappTemplateId',
  wallTime: 'time.at',
};

function useSentence(): (fault: FieldFault) => string {
  const { t } = useTranslation('campaigns');
  return ({ field, message }) => {
    const name = NAMES[field];
    return name === undefined ? message : `${t(name)}: ${message}`;
  };
}

function GoToStep({ fault, goTo }: { readonly fault: FieldFault; readonly goTo: (step: StepId) => void }) {
  const { t } = useTranslation('campaigns');
  const step = placeOf(fault.field)?.[1];
  if (fault.field === 'credit')
    return (
      <ButtonLink to="/account" size="compact-sm" variant="default">
        {t('unmet.toAccount')}
      </ButtonLink>
    );
  if (step === undefined) return null;
  return (
    <Button size="compact-sm" variant="default" onClick={() => goTo(step)}>
      {t('unmet.goToStep', { step: t(`step.${step}`) })}
    </Button>
  );
}

const reviewContent = (body: ReturnType<typeof toReview>, signal: AbortSignal) =>
  ok(api.POST(`${CAMPAIGNS}/preview/review`, { body, signal }));

export type Review = Awaited<ReturnType<typeof reviewContent>>;

/** Recipients and cost of the draft, counted for all recipients. Nothing is stored. */
export function useReview(draft: Draft) {
  const body = toReview(draft, useNow());
  return useQuery({
    queryKey: ['campaign-review', JSON.stringify(body)],
    queryFn: ({ signal }) => reviewContent(body, signal),
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
