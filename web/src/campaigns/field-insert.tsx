import { Button, NativeSelect, Popover, Stack, TextInput } from '@mantine/core';
import { Braces } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { placeholderOf } from './completion.ts';
import type { Field } from './text-editor.tsx';

type FieldInsertProps = { readonly fields: readonly Field[]; readonly onInsert: (placeholder: string) => void };

/** A field of the contact, with what stands there for those who have none, put where the caret is. */
export function FieldInsert({ fields, onInsert }: FieldInsertProps) {
  const { t } = useTranslation('campaigns');
  const [opened, setOpened] = useState(false);
  return (
    <Popover opened={opened} onChange={setOpened} trapFocus returnFocus shadow="md" position="bottom-start" width={280}>
      <Popover.Target>
        <Button
          variant="default"
          size="xs"
          leftSection={<Braces size={14} />}
          onClick={() => setOpened(!opened)}
          aria-haspopup="dialog"
        >
          {t('text.insert')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('text.insert')}>
        <Chooser
          fields={fields}
          onInsert={(placeholder) => {
            setOpened(false);
            onInsert(placeholder);
          }}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

function Chooser({ fields, onInsert }: FieldInsertProps) {
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
