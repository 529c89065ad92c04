import { TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { peopleQuery } from '../../api/people.ts';
import { ChoiceFilter, FilterBar, SearchField } from '../../ui/filter-bar.tsx';
import { ACTIONS, type AuditSearch } from './entry.ts';
import { useAuditText } from './audit-text.ts';

type Action = (typeof ACTIONS)[number] | '';
type Filters = Pick<AuditSearch, 'person' | 'subject' | 'from' | 'to'> & { readonly action: Action };
type Props = { readonly filters: Filters; readonly onChange: (patch: Partial<Filters>) => void };

const NONE: Filters = { person: '', action: '', subject: '', from: '', to: '' };

export function AuditFilters({ filters, onChange }: Props) {
  const { t } = useTranslation('security');
  const { data: people } = useQuery(peopleQuery);
  const actions = useActionOptions();
  const { person, action, subject, from, to } = filters;
  return (
    <FilterBar
      isFiltered={[person, action, subject, from, to].some((value) => value !== '')}
      onClear={() => onChange(NONE)}
    >
      <ChoiceFilter
        label={t('audit.anyone')}
        options={(people ?? []).map(({ id, username }) => ({ value: String(id), label: username }))}
        value={person}
        onChange={(next) => onChange({ person: next })}
      />
      <ChoiceFilter
        label={t('audit.anything')}
        options={actions}
        value={action}
        onChange={(next) => onChange({ action: next })}
      />
      <SearchField
        label={t('audit.subjectFilter')}
        value={subject}
        onChange={(next) => onChange({ subject: next.trim() })}
      />
      <Day label={t('audit.from')} value={from} onChange={(next) => onChange({ from: next })} />
      <Day label={t('audit.to')} value={to} onChange={(next) => onChange({ to: next })} />
    </FilterBar>
  );
}

function useActionOptions() {
  const { i18n } = useTranslation('security');
  const words = useAuditText();
  const options = ACTIONS.map((value) => ({ value, label: words.action(value) }));
  return options.sort((a, b) => a.label.localeCompare(b.label, i18n.language));
}

type DayProps = { readonly label: string; readonly value: string; readonly onChange: (day: string) => void };

const Day = ({ label, value, onChange }: DayProps) => (
  <TextInput
    type="date"
    label={label}
    value={value}
    onChange={(event) => onChange(event.currentTarget.value)}
    w={{ base: '100%', xs: 160 }}
  />
);
