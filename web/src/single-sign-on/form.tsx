import { Alert, Button, Group, Input, PasswordInput, Select, Stack, Switch, TagsInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { Plus, Trash2 } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { useProblemText } from '../api/passkey.ts';
import { api, ok } from '../api/send.ts';
import { GuardedButton, GuardedIcon } from '../ui/actions.tsx';
import { confirm, questionTexts } from '../ui/dialog.tsx';
import { Section } from '../ui/parts.tsx';
import {
  adminsQuery,
  type Draft,
  draftOf,
  NEED,
  PATH,
  putSettings,
  ROLES,
  type SettingsFormApi,
  type Stored,
  settingsQuery,
} from './settings.ts';

/** The form with all settings. */
export function SettingsForm({ stored }: { readonly stored: Stored }) {
  const { t } = useTranslation('single-sign-on');
  const problemText = useProblemText();
  const form = useForm<Draft>({ initialValues: draftOf(stored) });
  const hasSecret = stored?.hasClientSecret === true;
  const save = useAction({
    run: (draft: Draft) => putSettings(draft, { hasSecret }),
    refresh: [settingsQuery.queryKey, ['audit'], ['sign-in-options']],
    done: t('saved'),
    form,
    quiet: true,
  });
  const element = useFocusOnFault(save.error);
  return (
    <form ref={element} onSubmit={form.onSubmit((draft) => save.run(draft))} noValidate>
      <Stack gap="lg">
        {save.error !== null && (
          <Alert color="red" role="alert" tabIndex={-1}>
            {problemText(save.error)}
          </Alert>
        )}
        <Section title={t('client.title')}>
          <ClientFields form={form} hasSecret={hasSecret} />
        </Section>
        <Section title={t('people.title')} description={t('people.text')}>
          <PeopleFields form={form} isNew={stored === null} />
        </Section>
        <Section title={t('use.title')}>
          <UseFields form={form} />
        </Section>
        <Group>
          <GuardedButton need={NEED} type="submit" loading={save.busy}>
            {t('save')}
          </GuardedButton>
          {stored !== null && <RemoveButton />}
        </Group>
      </Stack>
    </form>
  );
}

/** After an error, moves the focus to the first faulty field of the form, or to the alert if there is none. */
function useFocusOnFault(error: unknown) {
  const element = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (error === null) return;
    const place = ['[aria-invalid="true"]', '[role="alert"]'].map((each) => element.current?.querySelector(each));
    const target = place.find((each) => each instanceof HTMLElement);
    target?.focus();
  }, [error]);
  return element;
}

function ClientFields({ form, hasSecret }: { readonly form: SettingsFormApi; readonly hasSecret: boolean }) {
  const { t } = useTranslation('single-sign-on');
  return (
    <Stack>
      <TextInput
        label={t('client.issuer')}
        description={t('client.issuerHint')}
        placeholder="https://login.example.com"
        spellCheck={false}
        maxLength={500}
        {...form.getInputProps('issuer')}
      />
      <TextInput
        label={t('client.id')}
        spellCheck={false}
        autoComplete="off"
        maxLength={500}
        {...form.getInputProps('clientId')}
      />
      <PasswordInput
        label={t('client.secret')}
        description={hasSecret ? t('client.secretKept') : t('client.secretHint')}
        autoComplete="off"
        maxLength={1000}
        visibilityToggleButtonProps={{ 'aria-label': t('client.showSecret') }}
        {...form.getInputProps('clientSecret')}
      />
      <TagsInput label={t('client.scopes')} maxTags={20} {...form.getInputProps('scopes')} />
    </Stack>
  );
}

function PeopleFields({ form, isNew }: { readonly form: SettingsFormApi; readonly isNew: boolean }) {
  const { t } = useTranslation('single-sign-on');
  const roles = ROLES.map((role) => ({ value: role, label: t(`role.${role}`) }));
  return (
    <Stack>
      <TextInput
        label={t('people.shortName')}
        description={t('people.shortNameHint')}
        autoCapitalize="none"
        spellCheck={false}
        maxLength={40}
        {...form.getInputProps('shortName')}
      />
      <TagsInput
        label={t('people.domains')}
        description={t('people.domainsHint')}
        maxTags={50}
        {...form.getInputProps('emailDomains')}
      />
      <TextInput
        label={t('people.groupsClaim')}
        description={t('people.groupsClaimHint')}
        spellCheck={false}
        maxLength={100}
        {...form.getInputProps('groupsClaim')}
      />
      <GroupRoles form={form} isNew={isNew} />
      <Select
        label={t('people.defaultRole')}
        description={t('people.defaultRoleHint')}
        data={[...roles, { value: '', label: t('people.refuse') }]}
        allowDeselect={false}
        {...form.getInputProps('defaultRole')}
      />
    </Stack>
  );
}

function UseFields({ form }: { readonly form: SettingsFormApi }) {
  const { t } = useTranslation('single-sign-on');
  const { data: admins = [] } = useQuery(adminsQuery);
  const { emergencyUserId, required } = form.values;
  const { error } = form.getInputProps('emergencyUserId');
  return (
    <Stack>
      <Switch
        label={t('use.enabled')}
        description={t('use.enabledHint')}
        {...form.getInputProps('enabled', { type: 'checkbox' })}
      />
      <Switch
        label={t('use.required')}
        description={t('use.requiredHint')}
        {...form.getInputProps('required', { type: 'checkbox' })}
      />
      {required && (
        <Select
          label={t('use.emergency')}
          description={t('use.emergencyHint')}
          data={admins.map(({ id, username }) => ({ value: String(id), label: username }))}
          value={emergencyUserId === null ? null : String(emergencyUserId)}
          onChange={(id) => form.setFieldValue('emergencyUserId', id === null ? null : Number(id))}
          error={error}
        />
      )}
    </Stack>
  );
}

/** Roles of groups, in the order in which they count. */
function GroupRoles({ form, isNew }: { readonly form: SettingsFormApi; readonly isNew: boolean }) {
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

/** The button that removes the settings, after a confirmation. */
function RemoveButton() {
  const { t } = useTranslation('single-sign-on');
  const ask = (): void =>
    confirm({
      ...questionTexts(t, 'remove'),
      run: () => ok(api.DELETE(PATH)),
      refresh: [settingsQuery.queryKey, ['audit'], ['sign-in-options']],
    });
  return (
    <GuardedButton need={NEED} type="button" variant="default" color="red" onClick={ask}>
      {t('remove.open')}
    </GuardedButton>
  );
}
