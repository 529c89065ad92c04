import { Anchor, Code, Stack, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Plus, Webhook as WebhookIcon } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { GuardedButton } from '../ui/actions.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { EmptyState, ErrorState, PageFrame, Section, TableSkeleton } from '../ui/parts.tsx';
import { SmallTable } from '../ui/small-table.tsx';
import { useUrlState } from '../ui/url-state.ts';
import { Deliveries, FIELDS } from './deliveries.tsx';
import { EndpointDialog, EndpointSection, EndpointState, Words } from './endpoint.tsx';
import { type Endpoint, endpointsQuery, NEED } from './endpoints.ts';
import { EventTypes } from './event-types.tsx';

const VIEWS = ['endpoints', 'types'] as const;

/** The page of the endpoints for events, with their logs, and of the types of events. */
export function Page() {
  const { t } = useTranslation('webhooks');
  const [{ view }, setSearch] = useUrlState(FIELDS);
  const { data: endpoints, error, refetch } = useQuery(endpointsQuery);
  const open = (next: string | null): void => setSearch({ view: VIEWS.find((each) => each === next) ?? 'endpoints' });
  return (
    <PageFrame
      title={t('title')}
      description={t('description')}
      actions={endpoints !== undefined && endpoints.length > 0 && <AddEndpoint />}
    >
      <Tabs value={view} onChange={open} keepMounted={false}>
        <Tabs.List mb="lg">
          {VIEWS.map((each) => (
            <Tabs.Tab key={each} value={each}>
              {t(`view.${each}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="endpoints">
          {endpoints === undefined && error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
          {endpoints === undefined && error === null && <TableSkeleton rows={4} />}
          {endpoints?.length === 0 && <Nothing />}
          {endpoints !== undefined && endpoints.length > 0 && <Endpoints endpoints={endpoints} />}
        </Tabs.Panel>
        <Tabs.Panel value="types">
          <EventTypes endpoints={endpoints ?? []} />
        </Tabs.Panel>
      </Tabs>
    </PageFrame>
  );
}

const AddEndpoint = () => {
  const { t } = useTranslation('webhooks');
  return (
    <GuardedButton need={NEED} leftSection={<Plus size={16} />} onClick={() => openDialog(<EndpointDialog />)}>
      {t('register.open')}
    </GuardedButton>
  );
};

function Nothing() {
  const { t } = useTranslation('webhooks');
  return (
    <EmptyState icon={WebhookIcon} title={t('empty.title')} text={t('empty.text')} help="api#webhooks">
      <AddEndpoint />
    </EmptyState>
  );
}

/** The endpoints, of which one is shown with its log. */
function Endpoints({ endpoints }: { readonly endpoints: readonly Endpoint[] }) {
  const [{ endpoint: chosen }, setSearch] = useUrlState(FIELDS);
  const shown = endpoints.find(({ id }) => id === chosen) ?? endpoints[0];
  if (shown === undefined) return null;
  return (
    <Stack gap="lg">
      {endpoints.length > 1 && (
        <EndpointTable endpoints={endpoints} onOpen={(endpoint) => setSearch({ endpoint, event: '' })} />
      )}
      <EndpointSection endpoint={shown} />
      <Deliveries key={shown.id} endpoint={shown} />
    </Stack>
  );
}

type EndpointTableProps = { readonly endpoints: readonly Endpoint[]; readonly onOpen: (id: string) => void };

function EndpointTable({ endpoints, onOpen }: EndpointTableProps) {
  const { t } = useTranslation('webhooks');
  return (
    <Section title={t('view.endpoints')}>
      <SmallTable<Endpoint>
        label={t('view.endpoints')}
        rows={endpoints}
        rowId={({ id }) => id}
        columns={[
          {
            id: 'name',
            header: t('field.name'),
            cell: ({ id, name }) => (
              <Anchor component="button" type="button" size="sm" fw={600} onClick={() => onOpen(id)}>
                {name}
              </Anchor>
            ),
          },
          {
            id: 'url',
            header: t('fact.url'),
            phone: 'none',
            cell: ({ url }) => (
              <Code className="foreign-text" dir="ltr">
                {url}
              </Code>
            ),
          },
          {
            id: 'events',
            header: t('fact.events'),
            phone: 'none',
            cell: ({ format, eventTypes }) => (format === 'v2' ? <Words words={eventTypes} /> : t('fact.v1')),
          },
          { id: 'state', header: t('fact.state'), cell: (endpoint) => <EndpointState endpoint={endpoint} /> },
        ]}
      />
    </Section>
  );
}
