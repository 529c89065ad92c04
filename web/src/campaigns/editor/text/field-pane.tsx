import { Button, NativeSelect, Popover, Stack, TextInput } from '@mantine/core';
import { cloneElement, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type OpenerButton, useOpenWhenDrawn } from '../../../ui/on-demand.tsx';
import { placeholderOf } from './completion.ts';
import type { Field } from './contact-fields.ts';

export type FieldPaneProps = {
  readonly button: OpenerButton;
  readonly fields: readonly Field[];
  readonly onInsert: (placeholder: string) => void;
};

/** The pane that `FieldInsert` opens, loaded on demand. */
export function FieldPane({ button, fields, onInsert }: FieldPaneProps) {
  const { t } = useTranslation('campaigns');
  const { opened, onChange, target } = useOpenWhenDrawn(button);
  return (
    <Popover opened={opened} onChange={onChange} trapFocus shadow="md" position="bottom-start" width={280}>
      <Popover.Target>{cloneElement(target, { onClick: () => onChange(!opened) })}</Popover.Target>
      <Popover.Dropdown aria-label={t('text.insert')}>
        <Chooser
          fields={fields}
          onInsert={(placeholder) => {
            onChange(false);
            onInsert(placeholder);
          }}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

function Chooser({ fields, onInsert }: Omit<FieldPaneProps, 'button'>) {
  const { t } = useTranslation('campaigns');
  const [name, setName] = useState('');
  const [fallback, setFallback] = useState('');
  const chosen = name || (fields[0]?.name ?? '');
  return (
    <Stack gap="sm">
      <NativeSelect
        label={t('text.field')}
        data={fields.map((field) => field.name)}
        value={chosen}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextInput
        label={t('text.fallback')}
        description={t('text.fallbackHint')}
        maxLength={200}
        value={fallback}
        onChange={(event) => setFallback(event.currentTarget.value)}
      />
      <Button size="xs" disabled={chosen === ''} onClick={() => onInsert(placeholderOf(chosen, fallback))}>
        {t('text.insertNow')}
      </Button>
    </Stack>
  );
}
