import { Popover, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { cloneElement } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import { ChoiceFilter } from '../ui/filter-bar.tsx';
import { callName } from '../ui/initials.tsx';
import { type OpenerButton, useOpenWhenDrawn } from '../ui/parts.tsx';
import { CHANNELS, labelsQuery, type Search, useAssignable } from './conversation.ts';

type ListFiltersProps = {
  readonly button: OpenerButton;
  readonly search: Search;
  readonly onSearch: (patch: Partial<Search>) => void;
};

/** The filters of the list that are seldom needed: channel, assignee and label. */
export function ListFilters({ button, search, onSearch }: ListFiltersProps) {
  const { t } = useTranslation('inbox');
  const { user } = useSession();
  const { data: labels = [] } = useQuery(labelsQuery);
  const people = useAssignable().filter(({ id }) => id !== user.id);
  const { target, opened, onChange } = useOpenWhenDrawn(button);
  return (
    <Popover position="bottom-end" shadow="md" trapFocus returnFocus opened={opened} onChange={onChange}>
      <Popover.Target>{cloneElement(target, { onClick: () => onChange(!opened) })}</Popover.Target>
      <Popover.Dropdown aria-label={t('filter.more')}>
        <Stack gap="xs">
          <ChoiceFilter
            label={t('filter.channel')}
            options={CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
            value={search.channel}
            onChange={(channel) => onSearch({ channel })}
          />
          <ChoiceFilter
            label={t('filter.assignee')}
            options={[
              { value: 'me', label: t('filter.me') },
              { value: 'none', label: t('filter.nobody') },
              ...people.map((person) => ({ value: String(person.id), label: callName(person) })),
            ]}
            value={search.assignee}
            onChange={(assignee) => onSearch({ assignee })}
          />
          {labels.length > 0 && (
            <ChoiceFilter
              label={t('filter.label')}
              options={labels.map(({ id, name }) => ({ value: String(id), label: name }))}
              value={search.label}
              onChange={(label) => onSearch({ label })}
            />
          )}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
