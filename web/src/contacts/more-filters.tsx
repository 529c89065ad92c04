import { Popover, Stack } from '@mantine/core';
import { cloneElement, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { DateField } from '../ui/date-field.tsx';
import { ChoiceFilter } from '../ui/filter-bar.tsx';
import { type OpenerButton, useOpenWhenDrawn } from '../ui/parts.tsx';
import { type Search, type SetSearch, useNamedChannels } from './contact.ts';

type MoreFiltersProps = {
  readonly button: OpenerButton;
  readonly search: Search;
  readonly onSearch: SetSearch;
  /** Filters to show before these. */
  readonly children: ReactNode;
};

/** The less common filters, loaded by `Filters` on the first click. */
export function MoreFilters({ button, search, onSearch, children }: MoreFiltersProps) {
  const { t } = useTranslation('contacts');
  const { target, opened, onChange } = useOpenWhenDrawn(button);
  const named = useNamedChannels();
  return (
    <Popover position="bottom-start" shadow="md" trapFocus returnFocus width={300} opened={opened} onChange={onChange}>
      <Popover.Target>{cloneElement(target, { onClick: () => onChange(!opened) })}</Popover.Target>
      <Popover.Dropdown aria-label={t('filter.more')}>
        <Stack gap="sm">
          {children}
          <ChoiceFilter
            label={t('filter.reach')}
            options={named('filter.reachOn')}
            value={search.reach}
            onChange={(reach) => onSearch({ reach })}
          />
          <ChoiceFilter
            label={t('filter.valid')}
            options={['yes', 'no'].map((value) => ({ value, label: t(`filter.validIs.${value}`) }))}
            value={search.valid}
            onChange={(valid) => onSearch({ valid })}
          />
          <ChoiceFilter
            label={t('filter.kind')}
            options={['test', 'live'].map((value) => ({ value, label: t(`filter.kindIs.${value}`) }))}
            value={search.kind}
            onChange={(kind) => onSearch({ kind })}
          />
          {(['from', 'to'] as const).map((end) => (
            <DateField
              key={end}
              label={t(`filter.${end}`)}
              value={search[end]}
              onChange={(value) => onSearch({ [end]: value })}
            />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
