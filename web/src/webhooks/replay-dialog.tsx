import { NativeSelect, SimpleGrid, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import type { ListSearch } from '../ui/data-table.tsx';
import { DateField } from '../ui/date-field.tsx';
import { momentValue } from '../ui/date-text.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import type { Tone } from '../ui/values.tsx';

const DAY_MS = 86_400_000;

type Fields = { readonly since: string; readonly until: string; readonly status: State };
type Range = { readonly since: string; readonly until: string; readonly status: State };

/** The range in the fields; null while it is incomplete or reversed. */
function rangeOf({ since, until, status }: Fields): Range | null {
  const [from, to] = [new Date(since), new Date(until)];
  if (!(from <= to)) return null;
  return { since: from.toISOString(), until: to.toISOString(), status };
}

/** An endpoint by its id: the path of its log. */
export const ENDPOINT = '/api/partner-gateway/v1/webhooks/endpoints/{endpoint}';

const countEvents = async (endpoint: string, range: Range, signal: AbortSignal): Promise<number> => {
  const params = { path: { endpoint }, query: { ...range, limit: 1 } };
  return (await ok(api.GET(`${ENDPOINT}/deliveries`, { params, signal }))).total;
};

/** Dialog that resends the events of a time range, showing their number first. */
export function ReplayDialog({ endpoint }: { readonly endpoint: string }) {
  const { t } = useTranslation('webhooks');
  const format = useFormat();
  const [now] = useState(() => Date.now());
  return (
    <FormDialog<Fields, { readonly replayed: number }>
      title={t('replay.title')}
      values={{
        since: momentValue(new Date(now - DAY_MS)),
        until: momentValue(new Date(now + 60_000)),
        status: 'DEAD',
      }}
      run={({ since, until, status }) =>
        ok(
          api.POST(`${ENDPOINT}/replay`, {
            params: { path: { endpoint } },
            body: { since: new Date(since).toISOString(), until: new Date(until).toISOString(), status },
          }),
        )
      }
      refresh={[['webhooks', 'deliveries']]}
      done={({ replayed }) => t('replay.done', { count: replayed, shown: format.number(replayed) })}
      action={t('replay.submit')}
      isDisabled={(fields) => rangeOf(fields) === null}
    >
      {(form) => (
        <>
          <Text size="sm">{t('replay.text')}</Text>
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <DateField withTime label={t('replay.since')} {...form.getInputProps('since')} />
            <DateField
              withTime
              label={t('replay.until')}
              {...form.getInputProps('until')}
              error={rangeOf(form.values) === null && t('replay.wrong')}
            />
          </SimpleGrid>
          <NativeSelect
            label={t('replay.which')}
            data={STATES.map((value) => ({ value, label: t(`replay.status.${value}`) }))}
            {...form.getInputProps('status')}
          />
          <EventCount endpoint={endpoint} range={rangeOf(form.values)} />
        </>
      )}
    </FormDialog>
  );
}

function EventCount({ endpoint, range }: { readonly endpoint: string; readonly range: Range | null }) {
  const { t } = useTranslation('webhooks');
  const format = useFormat();
  const { data: count = 0, isPending } = useQuery({
    queryKey: ['webhooks', 'deliveries', 'count', endpoint, range],
    queryFn: ({ signal }) => (range === null ? 0 : countEvents(endpoint, range, signal)),
  });
  return (
    <Text size="sm" role="status" fw={600}>
      {isPending ? t('replay.counting') : t('replay.count', { count, shown: format.number(count) })}
    </Text>
  );
}

export const STATES = ['PENDING', 'DELIVERED', 'DEAD'] as const;
export type State = (typeof STATES)[number];
/** The time ranges of the log, in hours. */
export const PERIODS = ['1', '24', '168'] as const;

export const TONES: Readonly<Record<State, Tone>> = { PENDING: 'warning', DELIVERED: 'good', DEAD: 'bad' };

type Search = ListSearch & {
  readonly status: State | '';
  readonly type: string;
  readonly period: (typeof PERIODS)[number] | '';
  readonly message: string;
};

const HOUR_MS = 3_600_000;
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Returns true if the text is a complete message ID; an incomplete one is not used as a filter. */
export const isMessageId = (text: string): boolean => UUID.test(text.trim());

export function listDeliveries(
  endpoint: string,
  { page, limit, status, type, period, message }: Search,
  signal: AbortSignal,
) {
  const query = {
    page,
    limit,
    ...(status !== '' && { status }),
    // The filter offers no other.
    ...(type !== '' && { eventType: type as DeliveryDetail['eventType'] }),
    ...(period !== '' && { since: new Date(Date.now() - Number(period) * HOUR_MS).toISOString() }),
    ...(isMessageId(message) && { messageId: message.trim() }),
  };
  return ok(api.GET(`${ENDPOINT}/deliveries`, { params: { path: { endpoint }, query }, signal }));
}
export type Delivery = Awaited<ReturnType<typeof listDeliveries>>['data'][number];

export const findDelivery = (endpoint: string, id: string, signal: AbortSignal) =>
  ok(api.GET(`${ENDPOINT}/deliveries/{id}`, { params: { path: { endpoint, id } }, signal }));
export type DeliveryDetail = Awaited<ReturnType<typeof findDelivery>>;
export type Attempt = DeliveryDetail['log'][number];
