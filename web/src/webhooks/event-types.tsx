import { NativeSelect, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { JsonView } from '../ui/json-view.tsx';
import { ErrorState, TableSkeleton } from '../ui/parts.tsx';
import { useUrlState } from '../ui/url-state.ts';
import { FIELDS } from './deliveries.tsx';
import { type Endpoint, type EventType, typesQuery } from './endpoints.ts';
import { findDelivery, listDeliveries } from './replay-dialog.tsx';

type EventTypesProps = { readonly endpoints: readonly Endpoint[] };

/** The types of events: one at a time, with its schema and an example. */
export function EventTypes({ endpoints }: EventTypesProps) {
  const { t } = useTranslation('webhooks');
  const [search, setSearch] = useUrlState(FIELDS);
  const { data: types, error, refetch } = useQuery(typesQuery);
  if (types === undefined && error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (types === undefined) return <TableSkeleton rows={6} />;
  const shown = types.find(({ type }) => type === search.type) ?? types[0];
  if (shown === undefined) return null;
  return (
    <Stack gap="lg" maw={760}>
      <NativeSelect
        label={t('types.type')}
        data={types.map(({ type }) => type)}
        value={shown.type}
        onChange={(event) => setSearch({ type: event.currentTarget.value })}
      />
      <Text size="sm">{shown.description}</Text>
      <Example key={shown.type} type={shown} endpoints={endpoints.filter(({ format }) => format === 'v2')} />
      <Part title={t('types.schema')} value={shown.schema} />
    </Stack>
  );
}

/** The last event of the type that one of the account's endpoints got, or else a made-up one. */
function Example({ type, endpoints }: { readonly type: EventType; readonly endpoints: readonly Endpoint[] }) {
  const { t } = useTranslation('webhooks');
  const { data: last } = useQuery({
    queryKey: ['webhooks', 'last', type.type, endpoints.map(({ id }) => id)],
    queryFn: ({ signal }) => findLast(endpoints, type.type, signal),
  });
  return <Part title={t(last ? 'types.last' : 'types.example')} value={last ?? type.example} />;
}

async function findLast(endpoints: readonly Endpoint[], type: string, signal: AbortSignal): Promise<string | null> {
  const search = { page: 0, limit: 1, status: '', type, period: '', message: '' } as const;
  for (const { id } of endpoints) {
    const [delivery] = (await listDeliveries(id, search, signal)).data;
    const found = delivery && (await findDelivery(id, delivery.id, signal));
    if (found?.request) return found.request.body;
  }
  return null;
}

const Part = ({ title, value }: { readonly title: string; readonly value: unknown }) => (
  <Stack gap="xs" component="section">
    <Title order={2} size="h5">
      {title}
    </Title>
    <JsonView value={value} label={title} maxHeight={420} />
  </Stack>
);
