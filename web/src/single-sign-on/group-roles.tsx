import { Button, Group, Input, Select, Stack, TextInput } from '@mantine/core';
import { Plus, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { GuardedIcon } from '../ui/actions/guarded-button.tsx';
import { NEED, ROLES, type SettingsFormApi } from './settings.ts';

/** Roles of groups, in the order in which they count. */
export function GroupRoles({ form, isNew }: { readonly form: SettingsFormApi; readonly isNew: boolean }) {
  const { t } = useTranslation('single-sign-on');
  const { groupRoles } = form.values;
  const { error } = form.getInputProps('groupRoles');
  const add = (): void => {
    // Admins who name groups mostly want no other people in. A chosen or stored role stays.
    if (isNew && groupRoles.length === 0 && !form.isTouched('defaultRole')) form.setFieldValue('defaultRole', '');
    form.insertListItem('groupRoles', { group: '', role: 'viewer' });
  };
  return (
    <Input.Wrapper label={t('groups.label')} description={t('groups.hint')} error={error} labelElement="div">
      <Stack gap="xs" mt="xs">
        {groupRoles.map((_, index) => (
          // Rows have no identity but their place.
          <Row key={index} form={form} index={index} />
        ))}
        <Button
          variant="default"
          size="xs"
          w="fit-content"
          leftSection={<Plus size={14} />}
          disabled={groupRoles.length >= 100}
          onClick={add}
        >
          {t('groups.add')}
        </Button>
      </Stack>
    </Input.Wrapper>
  );
}

function Row({ form, index }: { readonly form: SettingsFormApi; readonly index: number }) {
  const { t } = useTranslation('single-sign-on');
  const number = index + 1;
  return (
    <Group gap="xs" align="flex-start" wrap="nowrap">
      <TextInput
        aria-label={t('groups.group', { number })}
        placeholder={t('groups.placeholder')}
        maxLength={200}
        style={{ flex: 1 }}
        {...form.getInputProps(`groupRoles.${index}.group`)}
      />
      <Select
        aria-label={t('groups.role', { number })}
        data={ROLES.map((role) => ({ value: role, label: t(`role.${role}`) }))}
        allowDeselect={false}
        w={160}
        {...form.getInputProps(`groupRoles.${index}.role`)}
      />
      <GuardedIcon
        need={NEED}
        label={t('groups.remove', { number })}
        onClick={() => form.removeListItem('groupRoles', index)}
      >
        <Trash2 size={16} />
      </GuardedIcon>
    </Group>
  );
}
