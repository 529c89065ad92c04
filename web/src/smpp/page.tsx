import {
  Checkbox,
  Code,
  Group,
  NativeSelect,
  NumberInput,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { PlugZap, RefreshCw } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { AddButton, DeleteIcon, EditIcon, GuardedIcon, SecretOnce } from '../ui/actions.tsx';
import { numberColumn } from '../ui/columns.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { openDialog, questionTexts } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { EmptyState, PageFrame } from '../ui/parts.tsx';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { DateTime, Num } from '../ui/values.tsx';
import {
  ALPHABETS,
  bodyOf,
  CREDENTIALS,
  type Credential,
  ID_FORMATS,
  listCredentials,
  NEED,
  NEW_SETTINGS,
  nameOf,
  type Settings,
  settingsOf,
} from './credential.ts';

type SettingsFieldsProps = { readonly form: Pick<UseFormReturnType<Settings>, 'getInputProps'> };

const FIGURE = { min: 1, allowDecimal: false, hideControls: true } as const;
const LINES = { autosize: true, minRows: 1, maxRows: 8 } as const;

/** The fields of a credential, for a new one and for a change. */
function SettingsFields({ form }: SettingsFieldsProps) {
  const { t } = useTranslation('smpp');
  return (
    <>
      <TextInput
        label={t('column.name')}
        description={t('field.nameHint')}
        maxLength={200}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <NumberInput {...FIGURE} max={100} label={t('field.maxBinds')} {...form.getInputProps('maxBinds')} />
        <NumberInput {...FIGURE} max={1000} label={t('field.window')} {...form.getInputProps('window')} />
        <NumberInput
          {...FIGURE}
          max={100_000}
          label={t('field.tps')}
          placeholder={t('field.tpsOfAccount')}
          {...form.getInputProps('tps')}
        />
      </SimpleGrid>
      <Textarea
        {...LINES}
        label={t('field.addresses')}
        description={t('field.addressesHint')}
        {...form.getInputProps('addresses')}
      />
      <Textarea
        {...LINES}
        label={t('field.senders')}
        description={t('field.sendersHint')}
        {...form.getInputProps('senders')}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <NativeSelect
          label={t('field.alphabet')}
          data={ALPHABETS.map((value) => ({ value, label: t(`alphabet.${value}`) }))}
          {...form.getInputProps('alphabet')}
        />
        <NativeSelect
          label={t('field.messageIds')}
          data={ID_FORMATS.map((value) => ({ value, label: t(`messageIds.${value}`) }))}
          {...form.getInputProps('messageIds')}
        />
      </SimpleGrid>
      <Checkbox label={t('field.inbound')} {...form.getInputProps('inbound', { type: 'checkbox' })} />
    </>
  );
}

const FIELDS = listFields();

/** The page of the credentials with which programs bind over SMPP. */
export function Page() {
  const { t } = useTranslation('smpp');
  const create = (
    <AddButton need={NEED} onClick={() => openDialog(<CreateDialog />)}>
      {t('create.open')}
    </AddButton>
  );
  return (
    <PageFrame title={t('title')} description={t('description')} actions={create}>
      <CredentialTable create={create} />
    </PageFrame>
  );
}

function CredentialTable({ create }: { readonly create: ReactNode }) {
  const { t } = useTranslation('smpp');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useCredentialColumns();
  const query = useListQuery(['smpp', search], (signal) => listCredentials(search, signal));
  return (
    <DataTable<Credential>
      id="smpp-credentials"
      label={t('title')}
      columns={columns}
      query={query}
      rowId={({ id }) => String(id)}
      search={search}
      onSearch={setSearch}
      actions={(credential) => <CredentialActions credential={credential} />}
      empty={
        <EmptyState icon={PlugZap} title={t('empty.title')} text={t('empty.text')} help="smpp#credentials">
          {create}
        </EmptyState>
      }
    />
  );
}

function useCredentialColumns(): readonly Column<Credential>[] {
  const { t } = useTranslation('smpp');
  return useMemo(
    () => [
      { id: 'name', header: t('column.name'), phone: 'title', cell: (credential) => <Name credential={credential} /> },
      numberColumn('maxBinds', t('column.maxBinds')),
      numberColumn('window', t('field.window')),
      {
        id: 'tps',
        header: t('field.tps'),
        align: 'right',
        cell: ({ tps }) => (tps === null ? t('field.tpsOfAccount') : <Num value={tps} />),
      },
      {
        id: 'lastBoundAt',
        header: t('column.lastBoundAt'),
        cell: ({ lastBoundAt }) => (lastBoundAt ? <DateTime value={lastBoundAt} /> : t('never')),
      },
      {
        id: 'inbound',
        header: t('column.inbound'),
        hidden: true,
        cell: ({ inbound }) => t(inbound ? 'yes' : 'no'),
      },
      {
        id: 'createdAt',
        header: t('column.createdAt'),
        hidden: true,
        cell: ({ createdAt }) => <DateTime value={createdAt} />,
      },
    ],
    [t],
  );
}

function Name({ credential: { name, systemId } }: { readonly credential: Credential }) {
  return (
    <Stack gap={2} align="flex-start">
      {name !== '' && (
        <Text size="sm" fw={500} dir="auto">
          {name}
        </Text>
      )}
      <Code dir="ltr">{systemId}</Code>
    </Stack>
  );
}

/** Dialog that creates a credential. Its password is shown once. */
function CreateDialog() {
  const { t } = useTranslation('smpp');
  return (
    <FormDialog
      title={t('create.title')}
      values={NEW_SETTINGS}
      validate={{ name: (name) => (name.trim() === '' ? t('create.nameMissing') : null) }}
      run={(settings) => ok(api.POST(CREDENTIALS, { body: bodyOf(settings) }))}
      refresh={[['smpp']]}
      action={t('create.submit')}
      result={(credential) => <Issued credential={credential} />}
      finish={t('create.done')}
    >
      {(form) => <SettingsFields form={form} />}
    </FormDialog>
  );
}

type DialogProps = { readonly credential: Credential };

/** Dialog that gives a credential a new password, which is shown once. */
function RotateDialog({ credential }: DialogProps) {
  const { t } = useTranslation('smpp');
  const { id } = credential;
  return (
    <FormDialog
      title={t('rotate.title', { name: nameOf(credential) })}
      values={{}}
      run={() => ok(api.POST(`${CREDENTIALS}/{id}/rotate`, { params: { path: { id } } }))}
      refresh={[['smpp']]}
      action={t('rotate.submit')}
      kind="danger"
      result={(issued) => <Issued credential={issued} />}
      finish={t('create.done')}
    >
      {() => <Text size="sm">{t('rotate.text')}</Text>}
    </FormDialog>
  );
}

/** Dialog that changes a credential. */
function ChangeDialog({ credential }: DialogProps) {
  const { t } = useTranslation('smpp');
  const { id } = credential;
  const name = nameOf(credential);
  return (
    <FormDialog
      title={t('change.title', { name })}
      values={settingsOf(credential)}
      run={(settings) => ok(api.PATCH(`${CREDENTIALS}/{id}`, { params: { path: { id } }, body: bodyOf(settings) }))}
      refresh={[['smpp']]}
      done={t('change.done', { name })}
      action={t('ui:save')}
    >
      {(form) => <SettingsFields form={form} />}
    </FormDialog>
  );
}

/** The actions for one credential. */
function CredentialActions({ credential }: DialogProps) {
  const { t } = useTranslation('smpp');
  const { id } = credential;
  const name = nameOf(credential);
  return (
    <>
      <EditIcon need={NEED} label={t('change.label', { name })} dialog={<ChangeDialog credential={credential} />} />
      <GuardedIcon
        need={NEED}
        label={t('rotate.label', { name })}
        onClick={() => openDialog(<RotateDialog credential={credential} />)}
      >
        <RefreshCw size={16} />
      </GuardedIcon>
      <DeleteIcon
        need={NEED}
        label={t('delete.label', { name })}
        question={{
          ...questionTexts(t, 'delete', { name }),
          run: () => ok(api.DELETE(`${CREDENTIALS}/{id}`, { params: { path: { id } } })),
          refresh: [['smpp']],
        }}
      />
    </>
  );
}

type IssuedProps = { readonly credential: { readonly systemId: string; readonly password: string } };

/** Credentials with which a client binds: the password is shown only here. */
function Issued({ credential: { systemId, password } }: IssuedProps) {
  const { t } = useTranslation('smpp');
  return (
    <>
      <Group gap="xs">
        <Text size="sm">{t('column.systemId')}</Text>
        <Code aria-label={t('column.systemId')} dir="ltr">
          {systemId}
        </Code>
      </Group>
      <SecretOnce label={t('password')} secret={password} />
    </>
  );
}
