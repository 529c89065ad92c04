import { Checkbox, Popover, Stack } from '@mantine/core';
import { cloneElement } from 'react';
import { useTranslation } from 'react-i18next';
import type { ColumnChoiceProps } from './lazy-props.ts';
import { type OpenerButton, useOpenWhenDrawn } from './parts.tsx';

/** The list of `ColumnChoice`, loaded on the first click. The first column cannot be hidden. */
export function ColumnList({
  columns,
  hidden,
  setHidden,
  button,
}: ColumnChoiceProps & { readonly button: OpenerButton }) {
  const { t } = useTranslation('ui');
  const { target, opened, onChange } = useOpenWhenDrawn(button);
  const toggle = (id: string): void => {
    const next = new Set(hidden);
    if (!next.delete(id)) next.add(id);
    setHidden(next);
  };
  return (
    <Popover position="bottom-end" shadow="md" trapFocus returnFocus opened={opened} onChange={onChange}>
      <Popover.Target>{cloneElement(target, { onClick: () => onChange(!opened) })}</Popover.Target>
      <Popover.Dropdown aria-label={t('table.columns')}>
        <Stack gap="xs">
          {columns.map(({ id, header }, at) => (
            <Checkbox
              key={id}
              size="xs"
              label={header}
              checked={!hidden.has(id)}
              disabled={at === 0}
              onChange={() => toggle(id)}
            />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
