import {
  Button,
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
import { useForm } from '@mantine/form';
import { Pencil, PlugZap, RefreshCw, Trash2 } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { AddButton, GuardedIcon, SecretOnce } from '../ui/actions.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ConfirmDialog, Dialog, DialogButtons, DialogForm } from '../ui/dialog.tsx';
import { EmptyState, PageFrame, useLast } from '../ui/parts.tsx';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { useListQuery } from '../ui/use-list-query.ts';
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

type SettingsFieldsProps = { readonly form: Pick<ReturnType<typeof useForm<Settings>>, 'getInputProps'> };

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

/** The open dialog and the credential it is about. */
type Open = { readonly what: 'create' } | { readonly what: CredentialAction; readonly credential: Credential } | null;

/** The page of the credentials with which programs bind over SMPP. */
export function Page() {
  const { t } = useTranslation('smpp');
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  const shown = (what: CredentialAction): Credential | null => (open?.what === what ? open.credential : null);
  const create = (
    <AddButton need={NEED} onClick={() => setOpen({ what: 'create' })}>
      {t('create.open')}
    </AddButton>
  );
  return (
    <PageFrame title={t('title')} description={t('description')} actions={create}>
      <CredentialTable create={create} onOpen={setOpen} />
      <CreateDialog opened={open?.what === 'create'} onClose={close} />
      <ChangeDialog credential={shown('change')} onClose={close} />
      <RotateDialog credential={shown('rotate')} onClose={close} />
      <DeleteDialog credential={shown('delete')} onClose={close} />
    </PageFrame>
  );
}

type CredentialTableProps = { readonly create: ReactNode; readonly onOpen: (open: Open) => void };

function CredentialTable({ create, onOpen }: CredentialTableProps) {
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
      actions={(credential) => (
        <CredentialActions credential={credential} onOpen={(what) => onOpen({ what, credential })} />
      )}
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
      {
        id: 'maxBinds',
        header: t('column.maxBinds'),
        align: 'right',
        cell: ({ maxBinds }) => <Num value={maxBinds} />,
      },
      { id: 'window', header: t('field.window'), align: 'right', cell: ({ window }) => <Num value={window} /> },
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
        <Text size="sm" fw={600} dir="auto">
          {name}
        </Text>
      )}
      <Code dir="ltr">{systemId}</Code>
    </Stack>
  );
}

type CreateDialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog that creates a credential. Its password is shown once and forgotten when the dialog closes. */
function CreateDialog({ opened, onClose }: CreateDialogProps) {
  const { t } = useTranslation('smpp');
  const [isCreated, setCreated] = useState(false);
  const close = (): void => {
    setCreated(false);
    onClose();
  };
  return (
    <Dialog opened={opened} onClose={close} title={t('create.title')} locked={isCreated}>
      {opened && <Create onClose={close} onCreated={() => setCreated(true)} />}
    </Dialog>
  );
}

type CreateProps = Pick<CreateDialogProps, 'onClose'> & { readonly onCreated: () => void };

function Create({ onClose, onCreated }: CreateProps) {
  const { t } = useTranslation('smpp');
  const form = useForm<Settings>({
    initialValues: NEW_SETTINGS,
    validate: { name: (name) => (name.trim() === '' ? t('create.nameMissing') : null) },
  });
  const create = useAction({
    run: (settings: Settings) => ok(api.POST(CREDENTIALS, { body: bodyOf(settings) })),
    refresh: [['smpp']],
    form,
    onDone: onCreated,
  });
  if (create.result !== undefined) return <Issued credential={create.result} onClose={onClose} />;
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => create.run(values))}
      action={t('create.submit')}
      busy={create.busy}
      onClose={onClose}
    >
      <SettingsFields form={form} />
    </DialogForm>
  );
}

type RotateDialogProps = { readonly credential: Credential | null; readonly onClose: () => void };

/** Dialog that gives a credential a new password, which is shown once; null closes it. */
function RotateDialog({ credential, onClose }: RotateDialogProps) {
  const { t } = useTranslation('smpp');
  const shown = useLast(credential);
  const [isRotated, setRotated] = useState(false);
  const close = (): void => {
    setRotated(false);
    onClose();
  };
  const title = t('rotate.title', { name: shown ? nameOf(shown) : '' });
  return (
    <Dialog opened={credential !== null} onClose={close} title={title} locked={isRotated}>
      {credential && <Rotate id={credential.id} onClose={close} onRotated={() => setRotated(true)} />}
    </Dialog>
  );
}

type RotateProps = { readonly id: number; readonly onClose: () => void; readonly onRotated: () => void };

function Rotate({ id, onClose, onRotated }: RotateProps) {
  const { t } = useTranslation('smpp');
  const rotate = useAction({
    run: () => ok(api.POST(`${CREDENTIALS}/{id}/rotate`, { params: { path: { id } } })),
    refresh: [['smpp']],
    onDone: onRotated,
  });
  if (rotate.result !== undefined) return <Issued credential={rotate.result} onClose={onClose} />;
  return (
    <Stack>
      <Text size="sm">{t('rotate.text')}</Text>
      <DialogButtons
        onClose={onClose}
        action={t('rotate.submit')}
        busy={rotate.busy}
        kind="danger"
        onConfirm={() => rotate.run()}
      />
    </Stack>
  );
}

type ChangeDialogProps = { readonly credential: Credential | null; readonly onClose: () => void };

/** Dialog that changes a credential; null closes it. */
function ChangeDialog({ credential, onClose }: ChangeDialogProps) {
  const { t } = useTranslation('smpp');
  const shown = useLast(credential);
  const title = t('change.title', { name: shown ? nameOf(shown) : '' });
  return (
    <Dialog opened={credential !== null} onClose={onClose} title={title}>
      {credential && <Change credential={credential} onClose={onClose} />}
    </Dialog>
  );
}

function Change({ credential, onClose }: { readonly credential: Credential; readonly onClose: () => void }) {
  const { t } = useTranslation('smpp');
  const { id } = credential;
  const form = useForm<Settings>({ initialValues: settingsOf(credential) });
  const change = useAction({
    run: (settings: Settings) =>
      ok(api.PATCH(`${CREDENTIALS}/{id}`, { params: { path: { id } }, body: bodyOf(settings) })),
    refresh: [['smpp']],
    done: t('change.done', { name: nameOf(credential) }),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => change.run(values))}
      action={t('ui:save')}
      busy={change.busy}
      onClose={onClose}
    >
      <SettingsFields form={form} />
    </DialogForm>
  );
}

type DeleteDialogProps = { readonly credential: Credential | null; readonly onClose: () => void };

/** Confirms that a credential is deleted; null closes the dialog. */
function DeleteDialog({ credential, onClose }: DeleteDialogProps) {
  const { t } = useTranslation('smpp');
  const shown = useLast(credential);
  const name = shown === null ? '' : nameOf(shown);
  const remove = useAction({
    run: (id: number) => ok(api.DELETE(`${CREDENTIALS}/{id}`, { params: { path: { id } } })),
    refresh: [['smpp']],
    done: t('delete.done', { name }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={credential !== null}
      onClose={onClose}
      title={t('delete.title', { name })}
      action={t('delete.submit')}
      onConfirm={() => credential && remove.run(credential.id)}
      busy={remove.busy}
    >
      {t('delete.text')}
    </ConfirmDialog>
  );
}

/** Actions for one credential. */
type CredentialAction = 'change' | 'rotate' | 'delete';

type CredentialActionsProps = {
  readonly credential: Credential;
  readonly onOpen: (what: CredentialAction) => void;
};

const ICONS = { change: Pencil, rotate: RefreshCw, delete: Trash2 } as const;

/** The actions for one credential. The page owns the dialogs, because rows may disappear while one is open. */
function CredentialActions({ credential, onOpen }: CredentialActionsProps) {
  const { t } = useTranslation('smpp');
  const name = nameOf(credential);
  return (['change', 'rotate', 'delete'] as const).map((what) => {
    const Icon = ICONS[what];
    return (
      <GuardedIcon key={what} need={NEED} label={t(`${what}.label`, { name })} onClick={() => onOpen(what)}>
        <Icon size={16} />
      </GuardedIcon>
    );
  });
}

type IssuedProps = {
  readonly credential: { readonly systemId: string; readonly password: string };
  readonly onClose: () => void;
};

/** Credentials with which a client binds: the password is shown only here. */
function Issued({ credential: { systemId, password }, onClose }: IssuedProps) {
  const { t } = useTranslation('smpp');
  return (
    <Stack>
      <Group gap="xs">
        <Text size="sm">{t('column.systemId')}</Text>
        <Code aria-label={t('column.systemId')} dir="ltr">
          {systemId}
        </Code>
      </Group>
      <SecretOnce label={t('password')} secret={password} />
      <Group justify="flex-end">
        <Button onClick={onClose}>{t('create.done')}</Button>
      </Group>
    </Stack>
  );
}
