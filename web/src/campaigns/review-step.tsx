import { Button, Group, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Banknote, Pencil, RotateCw, ShieldCheck, UserMinus, Users } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useCredit } from '../api/data.ts';
import { senderQuery, templateQuery } from '../api/networks.ts';
import { useSession } from '../api/session.ts';
import { useFormat } from '../ui/format.ts';
import { MessageText } from '../ui/message.tsx';
import { ErrorState, Muted, Section } from '../ui/parts.tsx';
import { SmallTable } from '../ui/small-table.tsx';
import { ownZone } from '../ui/time-zone.tsx';
import {
  ChannelBadge,
  type Fact,
  Facts,
  JobProgress,
  Money,
  MsisdnText,
  Num,
  Percent,
  Stat,
  StatusBadge,
} from '../ui/values.tsx';
import { numberColumn } from '../ui/columns.tsx';
import { Breakdown } from './breakdown.tsx';
import { type Channel, chainOf, modeName, useLists } from './campaign.ts';
import { cityOf, type Draft, localTimeOf, numbersIn, type StepId, scheduledAt } from './draft.ts';
import { Confirm, LeftOut, type Review, Unmet, useReview, useUnmet } from './left-out.tsx';
import classesPeople from './people.module.css';
import { BackButton, type Sample, usePreview } from './preview.tsx';
import { TestSend } from './test-send.tsx';
import type { EditorState } from './use-editor.ts';

type SummaryProps = { readonly draft: Draft; readonly goTo: (step: StepId) => void };

/** Summary of the campaign: its name, senders, recipients and time, each with a link to its step. */
function Summary({ draft, goTo }: SummaryProps) {
  const { t } = useTranslation('campaigns');
  const chain = chainOf(draft.sendingMode);
  const senders = useSenders(draft, chain);
  const edit = (step: StepId, value: ReactNode) => (
    <Editable label={t('summary.change', { step: t(`step.${step}`) })} onEdit={() => goTo(step)}>
      {value}
    </Editable>
  );
  return (
    <Section title={t('summary.title')} description={t('summary.hint')}>
      <Facts
        facts={[
          { label: t('channels.name'), value: edit('channels', draft.name || '–') },
          { label: t('channels.title'), value: modeName(t, draft.sendingMode) },
          ...senders,
          { label: t('recipients.title'), value: edit('recipients', <Recipients draft={draft} />) },
          { label: t('time.title'), value: edit('time', <When draft={draft} />) },
          { label: t('quiet.title'), value: <Quiet draft={draft} /> },
          ...(draft.rate === '' ? [] : [{ label: t('rate.title'), value: t('rate.value', { count: draft.rate }) }]),
        ]}
      />
    </Section>
  );
}

type EditableProps = { readonly label: string; readonly onEdit: () => void; readonly children: ReactNode };

const Editable = ({ label, onEdit, children }: EditableProps) => (
  <>
    {children}{' '}
    <Button size="compact-xs" variant="subtle" aria-label={label} onClick={onEdit}>
      <Pencil size={13} aria-hidden="true" />
    </Button>
  </>
);

/** The sender and the template of each channel, by name. */
function useSenders(draft: Draft, chain: readonly Channel[]): readonly Fact[] {
  const { t } = useTranslation('campaigns');
  const enabled = (channel: Channel) => ({ enabled: chain.includes(channel) });
  const found = [
    useQuery({ ...senderQuery('WHATSAPP'), ...enabled('WHATSAPP') }),
    useQuery({ ...templateQuery('WHATSAPP'), ...enabled('WHATSAPP') }),
    useQuery({ ...senderQuery('RCS'), ...enabled('RCS') }),
    useQuery({ ...templateQuery('RCS'), ...enabled('RCS') }),
  ];
  const options = found.flatMap(({ data }) => data ?? []);
  const nameOf = (id: string): string => options.find(({ value }) => value === id)?.label ?? (id || '–');
  const facts: Readonly<Record<Channel, readonly (readonly [field: keyof Draft, value: string])[]>> = {
    WHATSAPP: [
      ['whatsappPhoneNumberId', nameOf(draft.whatsappPhoneNumberId)],
      ['whatsappTemplateId', nameOf(draft.whatsappTemplateId)],
    ],
    RCS: [
      ['rcsAgentId', nameOf(draft.rcsAgentId)],
      ['rcsTemplateId', nameOf(draft.rcsTemplateId)],
    ],
    SMS: [['smsSender', draft.smsSender || '–']],
  };
  return chain.flatMap((channel) => facts[channel].map(([field, value]) => ({ label: t(`channels.${field}`), value })));
}

function Recipients({ draft: { recipients, contactListIds, destinations } }: { readonly draft: Draft }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const isLists = recipients === 'lists' && contactListIds.length > 0;
  const { data } = useLists({ id: contactListIds.join(','), limit: 1000 }, isLists);
  if (recipients === 'numbers') {
    const count = numbersIn(destinations).length;
    return <>{t('recipients.numbersCount', { count, shown: format.number(count) })}</>;
  }
  const names = (data?.data ?? []).filter(({ id }) => contactListIds.includes(id)).map(({ name }) => name);
  return <>{names.length > 0 ? format.list(names) : t('note.lists', { count: contactListIds.length })}</>;
}

/** The time in the zone in which it was chosen, and in the user's own if that is another one. */
function When({ draft }: { readonly draft: Draft }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const at = scheduledAt(draft);
  if (draft.when === 'now') return <>{t('time.now')}</>;
  const local = localTimeOf(draft);
  if (local !== null) return <>{t('time.localIn', { at: format.briefIn(local, 'UTC') })}</>;
  if (at === null) return <>–</>;
  return (
    <>
      {t('time.in', { at: format.briefIn(at, draft.zone), zone: cityOf(draft.zone) })}
      {draft.zone !== ownZone() && (
        <Text span size="sm" c="dimmed">
          {' '}
          {t('time.here', { at: format.exact(at) })}
        </Text>
      )}
    </>
  );
}

function Quiet({ draft: { quiet, quietFrom: from, quietTo: to } }: { readonly draft: Draft }) {
  const { t } = useTranslation('campaigns');
  if (quiet === 'account') return <>{t('quiet.asAccount')}</>;
  return <>{quiet === 'own' ? t('quiet.between', { from, to }) : t('quiet.off')}</>;
}

type PlanProps = {
  readonly review: Review;
  readonly draft: Draft;
  /** Amount already reserved for the campaign. */
  readonly reserved: number;
};

/** Number of people reached and the cost of that, in total and by channel, in the order in which they are tried. */
function Plan({ review, draft, reserved }: PlanProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { channels, currency, total, totalSkipped, expectedPrice, maxPrice, messagingLimit } = review;
  const before = (channel: Channel): Channel | undefined =>
    channels[channels.findIndex((plan) => plan.channel === channel) - 1]?.channel;
  return (
    <Stack>
      <SimpleGrid cols={{ base: 2, md: 4 }}>
        <Stat label={t('goal.recipients')} icon={Users} value={<Num value={total} />} />
        <Stat label={t('goal.skipped')} icon={UserMinus} value={<Num value={totalSkipped} />} />
        <Stat
          label={t('plan.expected')}
          icon={Banknote}
          value={<Money amount={expectedPrice} currency={currency} />}
          note={t(channels.some(({ deliveryRate }) => deliveryRate !== null) ? 'plan.byHistory' : 'plan.noHistory')}
        />
        <Stat
          label={t('plan.most')}
          icon={ShieldCheck}
          value={<Money amount={maxPrice} currency={currency} />}
          note={<Credit cost={maxPrice} reserved={reserved} />}
        />
      </SimpleGrid>
      <SmallTable
        label={t('plan.label')}
        rows={channels}
        rowId={({ channel }) => channel}
        columns={[
          {
            id: 'channel',
            header: t('breakdown.channel'),
            cell: ({ channel }) => <Tried channel={channel} before={before(channel)} draft={draft} />,
          },
          numberColumn('reachable', t('plan.reachable')),
          {
            id: 'tried',
            header: t('plan.tried'),
            align: 'right',
            cell: ({ channel, tried }) => <Num value={before(channel) && tried} />,
          },
          {
            id: 'rate',
            header: t('plan.rate'),
            align: 'right',
            phone: 'none',
            cell: ({ deliveryRate }) => <Percent share={deliveryRate} />,
          },
          {
            id: 'ofAll',
            header: t('plan.ofAll'),
            align: 'right',
            phone: 'none',
            cell: ({ priceOfAll }) => <Money amount={priceOfAll} currency={currency} />,
          },
          {
            id: 'expected',
            header: t('plan.expected'),
            align: 'right',
            cell: (plan) => <Money amount={plan.expectedPrice} currency={currency} />,
          },
        ]}
      />
      {messagingLimit && (
        <Text size="sm">
          {t('plan.limit', {
            people: format.number(messagingLimit.people),
            used: format.number(messagingLimit.used),
            at: format.exact(new Date(messagingLimit.doneAt)),
          })}
        </Text>
      )}
      {channels.length > 1 && <Muted>{t('chain.text')}</Muted>}
    </Stack>
  );
}

type TriedProps = { readonly channel: Channel; readonly before: Channel | undefined; readonly draft: Draft };

/** A channel, and when it is tried after the one before it. */
function Tried({ channel, before, draft }: TriedProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  return (
    <Stack gap={4} align="flex-start">
      <ChannelBadge channel={channel} />
      {before !== undefined && (
        <Text size="xs" c="dimmed">
          {t('plan.after', {
            time: format.duration(before === 'WHATSAPP' ? draft.afterWhatsapp : draft.afterRcs),
          })}
        </Text>
      )}
    </Stack>
  );
}

function Credit({ cost, reserved }: { readonly cost: number | null; readonly reserved: number }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { account } = useSession();
  const { data } = useCredit();
  if (account.plan === 'unlimited') return <>{t('goal.unlimited')}</>;
  if (data === undefined || cost === null) return null;
  const left = data.availableCredit + reserved - cost;
  return <>{t('plan.creditAfter', { amount: format.money(left, data.currency) })}</>;
}

const SHOWN = 3;
/** Number of recipients requested, so that at least three of them get a message. */
const ASKED = 20;

/** Sorts people who get a message first: excluded ones are listed elsewhere with the reason. */
const choose = (samples: readonly Sample[]): readonly Sample[] =>
  [...samples.filter(({ skip }) => skip === null), ...samples.filter(({ skip }) => skip !== null)].slice(0, SHOWN);

/** Messages to three of the recipients, on each channel. */
function People({ draft }: { readonly draft: Draft }) {
  const { t } = useTranslation('campaigns');
  const { data, error, refetch } = usePreview(draft, { limit: ASKED, offset: 0 });
  return (
    <Section title={t('people.title')} description={t('people.hint')}>
      {data !== undefined ? (
        data.data.length === 0 ? (
          <Text size="sm">{t('samples.nobody')}</Text>
        ) : (
          <ul className={classesPeople.people}>
            {choose(data.data).map((sample, at) => (
              <Person key={`${sample.phoneNumber}-${at}`} sample={sample} />
            ))}
          </ul>
        )
      ) : error === null ? (
        <Skeleton h={140} />
      ) : (
        <ErrorState error={error} onRetry={() => void refetch()} />
      )}
    </Section>
  );
}

function Person({ sample: { name, phoneNumber, steps, missing, skip } }: { readonly sample: Sample }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  return (
    <li className={classesPeople.person}>
      <Stack gap={0}>
        <Text size="sm" fw={500} dir="auto" className="foreign-text">
          {name || t('samples.unnamed')}
        </Text>
        {phoneNumber !== null && (
          <Text size="sm" c="dimmed" component="span">
            <MsisdnText number={phoneNumber} />
          </Text>
        )}
      </Stack>
      {skip !== null && <StatusBadge tone="warning">{t(`skip.${skip}`)}</StatusBadge>}
      {steps.map(({ channel, text, reachable }) => (
        <Stack key={channel} gap={4}>
          <div>
            <ChannelBadge channel={channel} />
          </div>
          <div className={classesPeople.text}>
            {text === '' ? <Muted>{t('people.noText')}</Muted> : <MessageText text={text} />}
          </div>
          {skip === null && !reachable && (
            <Text size="xs" c="dimmed">
              {t(text === '' ? 'text.empty' : 'text.unreachable')}
            </Text>
          )}
        </Stack>
      ))}
      {missing.length > 0 && (
        <Text size="xs" c="dimmed">
          {t('text.missing', { fields: format.list(missing) })}
        </Text>
      )}
    </li>
  );
}

/**
 * The review step: content, recipients, time and senders, channel by channel, the cost, open points, a test, and the
 * confirmation. Opening it saves nothing.
 */
export function ReviewStep({ editor }: { readonly editor: EditorState }) {
  const { t } = useTranslation('campaigns');
  const draft = editor.form.getValues();
  const { data, error, isFetching, refetch } = useReview(draft);
  const unmet = useUnmet(draft, data, editor.scheduled?.estimatedCost ?? 0);
  const again = (
    <Button
      variant="default"
      size="xs"
      leftSection={<RotateCw size={14} />}
      loading={isFetching}
      onClick={() => void refetch()}
    >
      {t('review.again')}
    </Button>
  );
  return (
    <Stack mt="md">
      <Summary draft={draft} goTo={editor.goTo} />
      <People draft={draft} />
      <Section title={t('review.title')} description={t('review.hint')} actions={again}>
        {data === undefined && error === null && <JobProgress label={t('review.counting')} done={0} total={null} />}
        {data === undefined && error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
        {data !== undefined && <Counted review={data} editor={editor} />}
      </Section>
      <TestSend editor={editor} isComplete={unmet.every(({ field }) => field === 'credit')} />
      <Unmet faults={unmet} goTo={editor.goTo} />
      {data === undefined ? (
        <Group>{backOf(editor)}</Group>
      ) : (
        <Confirm editor={editor} review={data} isReady={unmet.length === 0 && !isFetching} back={backOf(editor)} />
      )}
    </Stack>
  );
}

const backOf = ({ goTo }: EditorState) => <BackButton onClick={() => goTo('time')} />;

function Counted({ review, editor }: { readonly review: Review; readonly editor: EditorState }) {
  const { breakdown, currency, maxPrice } = review;
  return (
    <Stack>
      <Plan review={review} draft={editor.form.getValues()} reserved={editor.scheduled?.estimatedCost ?? 0} />
      <LeftOut review={review} draft={editor.form.getValues()} />
      {breakdown.length > 0 && maxPrice !== null && <Breakdown price={{ breakdown, currency, price: maxPrice }} />}
    </Stack>
  );
}
