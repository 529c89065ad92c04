import { Alert, Checkbox, Group, Pill, Stack, Text } from '@mantine/core';
import { ListPlus } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { ErrorState } from '../../../ui/error-state.tsx';
import { SearchField } from '../../../ui/filter-bar.tsx';
import { useFormat } from '../../../ui/values/format.ts';
import { ButtonLink } from '../../../ui/link.tsx';
import { StatusBadge } from '../../../ui/values/status-badge.tsx';
import { TableSkeleton } from '../../../ui/table/table-skeleton.tsx';
import classes from '../../../ui/choice-list.module.css';
import { type ContactList, useLists } from '../../contact-lists.ts';
import type { DraftForm } from '../use-editor.ts';

const MAX_SHOWN = 50;
/** The maximum number of lists in a campaign. */
const MAX_LISTS = 1000;

/** The choice of contact lists with their counts: the chosen ones above, the search results below. */
export function ListChoice({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('campaigns');
  const [search, setSearch] = useState('');
  const found = useLists({ ...(search && { search }), limit: MAX_SHOWN });
  const fault = form.errors['contactListIds'];
  if (found.error !== null) return <ErrorState error={found.error} onRetry={() => void found.refetch()} />;
  if (found.data === undefined) return <TableSkeleton rows={4} />;
  if (found.data.total === 0 && search === '') return <NoLists />;
  return (
    <Stack gap="sm">
      {fault && <Alert color="red">{fault}</Alert>}
      <Chosen form={form} />
      <SearchField label={t('lists.search')} value={search} onChange={setSearch} />
      <Found lists={found.data.data} form={form} />
      {found.data.total > MAX_SHOWN && (
        <Text size="sm" c="dimmed">
          {t('lists.more', { count: found.data.total - MAX_SHOWN })}
        </Text>
      )}
    </Stack>
  );
}

function NoLists() {
  const { t } = useTranslation('campaigns');
  return (
    <EmptyState icon={ListPlus} title={t('lists.none.title')} text={t('lists.none.text')}>
      <ButtonLink to="/lists" variant="default">
        {t('lists.none.open')}
      </ButtonLink>
    </EmptyState>
  );
}

function Found({ lists, form }: { readonly lists: readonly ContactList[]; readonly form: DraftForm }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { contactListIds } = form.getValues();
  if (lists.length === 0) return <Text size="sm">{t('lists.noneFound')}</Text>;
  return (
    <ul className={classes.lists} aria-label={t('lists.label')}>
      {lists.map(({ id, name, contactCount, isTest }) => (
        <li key={id} className={classes.list}>
          <Checkbox
            label={name}
            checked={contactListIds.includes(id)}
            onChange={(event) =>
              form.setFieldValue('contactListIds', toggled(contactListIds, id, event.currentTarget.checked))
            }
            styles={{ label: { overflowWrap: 'anywhere' } }}
          />
          <Group gap="xs" wrap="nowrap">
            {isTest && <StatusBadge tone="neutral">{t('lists.isTest')}</StatusBadge>}
            <Text size="sm" c="dimmed" className="tabular" style={{ whiteSpace: 'nowrap' }}>
              {t('lists.contacts', { count: contactCount, shown: format.number(contactCount) })}
            </Text>
          </Group>
        </li>
      ))}
    </ul>
  );
}

const toggled = (ids: readonly number[], id: number, isChosen: boolean): number[] =>
  isChosen ? [...ids, id] : ids.filter((one) => one !== id);

/** The chosen lists, including those that the search does not match. */
function Chosen({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { contactListIds } = form.getValues();
  const { data } = useLists({ id: contactListIds.join(','), limit: MAX_LISTS }, contactListIds.length > 0);
  const chosen = (data?.data ?? []).filter(({ id }) => contactListIds.includes(id));
  const contacts = chosen.reduce((sum, { contactCount }) => sum + contactCount, 0);
  if (contactListIds.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t('lists.choose')}
      </Text>
    );
  return (
    <Group gap="xs">
      {chosen.map(({ id, name }) => (
        <Pill
          key={id}
          withRemoveButton
          bg="var(--mantine-color-gray-light)"
          onRemove={() => form.setFieldValue('contactListIds', toggled(contactListIds, id, false))}
          removeButtonProps={{ 'aria-label': t('lists.remove', { name }), 'aria-hidden': false, tabIndex: 0 }}
        >
          {name}
        </Pill>
      ))}
      <Text size="sm" fw={600} className="tabular" role="status">
        {t('lists.contacts', { count: contacts, shown: format.number(contacts) })}
      </Text>
    </Group>
  );
}
