import { ActionIcon, Button, Group, Popover, Stack, Text, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { Trash2 } from 'lucide-react';
import { cloneElement, type SubmitEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { notify } from '../api/notify.ts';
import { type OpenerButton, useOpenWhenDrawn } from './parts.tsx';
import { useViews, type View } from './saved-views.ts';

type ViewListProps = { readonly button: OpenerButton; readonly isFiltered: boolean };

/** The list of `SavedViews`, loaded on the first click. */
export function ViewList({ button, isFiltered }: ViewListProps) {
  const { t } = useTranslation('ui');
  const { target, opened, onChange } = useOpenWhenDrawn(button);
  const { views, save, remove } = useViews();
  const navigate = useNavigate();
  const open = ({ search }: View): void => {
    onChange(false);
    void navigate({ to: '.', search });
  };
  const saveAs = (name: string): void => {
    save(name);
    onChange(false);
    void notify({ message: t('views.saved', { name }), tone: 'good', closeLabel: t('close') });
  };
  return (
    <Popover position="bottom-end" shadow="md" width={300} trapFocus returnFocus opened={opened} onChange={onChange}>
      <Popover.Target>{cloneElement(target, { onClick: () => onChange(!opened) })}</Popover.Target>
      <Popover.Dropdown>
        <Stack gap="xs">
          {views.length === 0 && (
            <Text size="sm" c="dimmed">
              {t('views.none')}
            </Text>
          )}
          {views.map((view) => (
            <Group key={view.name} gap={4} wrap="nowrap" justify="space-between">
              <Button
                variant="subtle"
                size="compact-sm"
                justify="flex-start"
                style={{ minWidth: 0, flexGrow: 1 }}
                onClick={() => open(view)}
              >
                <bdi>{view.name}</bdi>
              </Button>
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={t('views.delete', { name: view.name })}
                onClick={() => remove(view.name)}
              >
                <Trash2 size={16} />
              </ActionIcon>
            </Group>
          ))}
          {isFiltered && <SaveForm onSave={saveAs} />}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

function SaveForm({ onSave }: { readonly onSave: (name: string) => void }) {
  const { t } = useTranslation('ui');
  const [name, setName] = useState('');
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (name.trim() !== '') onSave(name.trim());
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="xs">
        <TextInput
          label={t('views.name')}
          description={t('views.hint')}
          maxLength={60}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Button type="submit" size="xs" disabled={name.trim() === ''}>
          {t('views.save')}
        </Button>
      </Stack>
    </form>
  );
}
