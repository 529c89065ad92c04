import { Alert, Checkbox, Group, Pill, SegmentedControl, Stack, Text, Textarea } from '@mantine/core';
import { ListPlus, Users } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import classes from '../ui/choice-list.module.css';
import { ContactSearch } from '../ui/contact-search.tsx';
import { SearchField } from '../ui/filter-bar.tsx';
import { useFormat } from '../ui/format.ts';
import { ButtonLink, EmptyState, ErrorState, Muted, Section, TableSkeleton } from '../ui/parts.tsx';
import { ChannelBadge, MsisdnText, StatusBadge } from '../ui/values.tsx';
import { type ContactList, useLists } from './campaign.ts';
import { type Draft, numbersIn } from './draft.ts';
import { firstStepOf, Pager, type Sample, usePreview } from './preview.tsx';
import type { DraftForm } from './use-editor.ts';

const MAX_SHOWN = 50;
/** The maximum number of lists in a campaign. */
const MAX_LISTS = 1000;

/** The choice of contact lists with their counts: the chosen ones above, the search results below. */
function ListChoice({ form }: { readonly form: DraftForm }) {
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
      {found.data.total > MAX_SHOWN && <Muted>{t('lists.more', { count: found.data.total - MAX_SHOWN })}</Muted>}
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
  if (contactListIds.length === 0) return <Muted>{t('lists.choose')}</Muted>;
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
      <Text size="sm" fw={500} className="tabular" role="status">
        {t('lists.contacts', { count: contacts, shown: format.number(contacts) })}
      </Text>
    </Group>
  );
}

const PAGE_SIZE = 8;

/** A sample of the recipients, each with its first channel or the reason why it is skipped. */
function Samples({ draft }: { readonly draft: Draft }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const [offset, setOffset] = useState(0);
  const { data, error, refetch } = usePreview(draft, { limit: PAGE_SIZE, offset });
  if (error !== null && data === undefined) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <TableSkeleton rows={3} />;
  if (data.total === 0) return <Nobody />;
  const skipped = data.data.filter(({ skip }) => skip !== null).length;
  return (
    <Stack gap="sm">
      {skipped > 0 && <Alert color="amber">{t('samples.skipped', { count: skipped, of: data.data.length })}</Alert>}
      <ul className={`${classes.lists} ${classes.whole}`} aria-label={t('samples.title')}>
        {data.data.map((sample, at) => (
          <SampleLine key={`${sample.phoneNumber}-${at}`} sample={sample} />
        ))}
      </ul>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" className="tabular" role="status">
          {t('samples.range', {
            first: format.number(offset + 1),
            last: format.number(offset + data.data.length),
            total: format.number(data.total),
          })}
        </Text>
        <Pager offset={offset} pageSize={PAGE_SIZE} hasMore={offset + PAGE_SIZE < data.total} onChange={setOffset} />
      </Group>
    </Stack>
  );
}

function Nobody() {
  const { t } = useTranslation('campaigns');
  return (
    <Group gap="xs" c="dimmed">
      <Users size={16} aria-hidden="true" />
      <Text size="sm">{t('samples.nobody')}</Text>
    </Group>
  );
}

function SampleLine({ sample }: { readonly sample: Sample }) {
  const { t } = useTranslation('campaigns');
  const first = firstStepOf(sample);
  return (
    <li className={classes.list}>
      <Group gap="sm" style={{ minWidth: 0 }}>
        <Text size="sm" fw={500} dir="auto" className="foreign-text">
          {sample.name || t('samples.unnamed')}
        </Text>
        {sample.phoneNumber !== null && (
          <Muted>
            <MsisdnText number={sample.phoneNumber} />
          </Muted>
        )}
      </Group>
      {first === null ? (
        <StatusBadge tone="warning">{t(`skip.${sample.skip ?? 'unsupported'}`)}</StatusBadge>
      ) : (
        <ChannelBadge channel={first.channel} />
      )}
    </li>
  );
}

/** The step for the recipients: contact lists, or single contacts and numbers, with a sample. */
export function RecipientsStep({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('campaigns');
  const { recipients, contactListIds } = form.getValues();
  return (
    <Stack mt="md">
      <Section title={t('recipients.title')} description={t('recipients.hint')}>
        <SegmentedControl
          aria-label={t('recipients.title')}
          data={(['lists', 'numbers'] as const).map((value) => ({ value, label: t(`recipients.${value}`) }))}
          w={{ base: '100%', xs: 'fit-content' }}
          styles={{ label: { paddingInline: 8 } }}
          {...form.getInputProps('recipients')}
        />
        {recipients === 'lists' ? <ListChoice form={form} /> : <Numbers form={form} />}
      </Section>
      <Section title={t('samples.title')} description={t('samples.hint')}>
        <Samples key={`${recipients} ${contactListIds.join()}`} draft={form.getValues()} />
      </Section>
    </Stack>
  );
}

function Numbers({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const numbers = numbersIn(form.getValues().destinations);
  const add = (number: string): void => form.setFieldValue('destinations', [...numbers, number].join('\n'));
  return (
    <Stack>
      <ContactSearch chosen={numbers} onChoose={({ phoneNumber }) => add(phoneNumber)} />
      <Textarea
        label={t('recipients.numbersLabel')}
        description={t('recipients.numbersHint')}
        autosize
        minRows={4}
        maxRows={12}
        {...form.getInputProps('destinations')}
      />
      <Text size="sm" c="dimmed" className="tabular" role="status">
        {t('recipients.numbersCount', { count: numbers.length, shown: format.number(numbers.length) })}
      </Text>
    </Stack>
  );
}
