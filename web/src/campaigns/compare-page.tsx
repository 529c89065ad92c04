import { Alert, NativeSelect, SimpleGrid, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Scale } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { type Format, useFormat } from '../ui/format.ts';
import { EmptyState, ErrorState, Muted, PageFrame, Section, TableSkeleton, TextLink } from '../ui/parts.tsx';
import { SmallTable } from '../ui/small-table.tsx';
import { useUrlState, whole } from '../ui/url-state.ts';
import { DateTime } from '../ui/values.tsx';
import { stagesOf, useFunnel, useResults } from './answers.tsx';
import { type Campaign, findCampaign, isDeletable, listCampaigns, modeName } from './campaign.ts';

const FIELDS = { a: whole(), b: whole() };
const MAX_CHOICES = 200;
const POLL_MS = 10_000;

/** The page that shows the results of two campaigns side by side (`?a=` and `?b=`). */
export function Page() {
  const { t } = useTranslation('campaigns');
  const [{ a, b }, setSearch] = useUrlState(FIELDS);
  const choices = useChoices();
  return (
    <PageFrame
      title={t('compare.title')}
      description={t('compare.hint')}
      trail={[{ label: t('title'), to: '/campaigns' }]}
    >
      <Section title={t('compare.choose')}>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {(
            [
              ['a', a],
              ['b', b],
            ] as const
          ).map(([side, id]) => (
            <NativeSelect
              key={side}
              label={t(`compare.${side}`)}
              data={[{ value: '0', label: t('channels.choose') }, ...choices]}
              value={String(id)}
              onChange={(event) => setSearch({ [side]: Number(event.currentTarget.value) })}
            />
          ))}
        </SimpleGrid>
      </Section>
      {a === 0 || b === 0 ? (
        <EmptyState icon={Scale} title={t('compare.none.title')} text={t('compare.none.text')} />
      ) : (
        <Both a={a} b={b} />
      )}
    </PageFrame>
  );
}

/** The campaigns that have begun, the newest first. */
function useChoices() {
  const { data } = useQuery({
    queryKey: ['campaigns', 'to-compare'],
    queryFn: ({ signal }) => listCampaigns({ page: 0, limit: MAX_CHOICES, direction: 'DESC' }, signal),
  });
  return (data?.data ?? [])
    .filter((campaign) => !isDeletable(campaign))
    .map(({ id, name }) => ({ value: String(id), label: name }));
}

const useCampaign = (id: number) =>
  useQuery({ queryKey: ['campaign', id], queryFn: ({ signal }) => findCampaign(id, signal) });

function Both({ a, b }: { readonly a: number; readonly b: number }) {
  const [left, right] = [useCampaign(a), useCampaign(b)];
  const error = left.error ?? right.error;
  if (error !== null)
    return <ErrorState error={error} onRetry={() => void Promise.all([left.refetch(), right.refetch()])} />;
  if (left.data === undefined || right.data === undefined) return <TableSkeleton rows={8} />;
  return <Comparison left={left.data} right={right.data} />;
}

type Row = { readonly label: string; readonly values: readonly ReactNode[] };

function Comparison({ left, right }: { readonly left: Campaign; readonly right: Campaign }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const sides = [useSide(left, format), useSide(right, format)];
  if (sides.some((side) => side === null)) return <TableSkeleton rows={8} />;
  const rows: Row[] = (sides[0] ?? []).map(({ label, value }, n) => ({ label, values: [value, sides[1]?.[n]?.value] }));
  return (
    <Section title={t('compare.results')} description={t('compare.resultsHint')}>
      <Stack>
        <SmallTable
          label={t('compare.results')}
          rows={rows}
          rowId={({ label }) => label}
          columns={[
            { id: 'figure', header: t('compare.figure'), cell: ({ label }) => label },
            ...[left, right].map(({ id, name }, n) => ({
              id: n === 0 ? 'a' : 'b',
              header: <TextLink to={`/campaigns/${id}`}>{name}</TextLink>,
              align: 'right' as const,
              cell: ({ values }: Row) => values[n],
            })),
          ]}
        />
        {left.currency !== right.currency && <Alert color="amber">{t('compare.currencies')}</Alert>}
        <Muted>{t('answers.hint')}</Muted>
      </Stack>
    </Section>
  );
}

/** The figures of one campaign, in the order of the table; null while they load. */
function useSide(campaign: Campaign, format: Format): readonly { label: string; value: ReactNode }[] | null {
  const { t } = useTranslation('campaigns');
  const [results, funnel] = [useResults(campaign), useFunnel(campaign, POLL_MS)];
  if (results.data === undefined || funnel.data === undefined) return null;
  const stages = new Map(stagesOf(campaign, results.data, funnel.data).map(({ id, count }) => [id, count]));
  const chosen = stages.get('chosen') ?? 0;
  const tried = stages.get('tried') ?? 0;
  const counted = (id: string, of: number): string => {
    const count = stages.get(id);
    if (count === undefined) return '–';
    return of === 0 ? format.number(count) : `${format.number(count)} (${format.share(count, of)})`;
  };
  const { actualCost, currency, totalSuccess, totalFailed, startedAt, sendingMode } = campaign;
  const perDelivery = actualCost === null || totalSuccess === 0 ? null : actualCost / totalSuccess;
  return [
    { label: t('column.channels'), value: modeName(t, sendingMode) },
    { label: t('column.when'), value: <DateTime value={startedAt} show="exact" /> },
    { label: t('answers.stage.chosen'), value: format.number(chosen) },
    { label: t('answers.stage.tried'), value: counted('tried', chosen) },
    { label: t('answers.stage.delivered'), value: counted('delivered', tried) },
    {
      label: t('figures.failed'),
      value:
        tried === 0
          ? format.number(totalFailed)
          : `${format.number(totalFailed)} (${format.share(totalFailed, tried)})`,
    },
    { label: t('answers.stage.read'), value: counted('read', tried) },
    { label: t('answers.stage.replied'), value: counted('replied', tried) },
    { label: t('answers.stage.optedOut'), value: counted('optedOut', tried) },
    { label: t('figures.cost'), value: format.money(actualCost, currency) },
    { label: t('compare.perDelivery'), value: format.money(perDelivery, currency) },
  ];
}
