import {
  Alert,
  Button,
  Checkbox,
  Code,
  Group,
  NativeSelect,
  PasswordInput,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { DateField } from '../ui/date-field.tsx';
import { useProblemText } from '../api/passkey.ts';
import { ApiError, api, ok } from '../api/send.ts';
import { type Need, type Scope, useSession } from '../api/session.ts';
import { SecretOnce } from '../ui/actions.tsx';
import type { Column } from '../ui/data-table.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { Hint } from '../ui/hint.tsx';
import { DateTime, Facts, type Purpose, StatusBadge, usePurposes } from '../ui/values.tsx';

type NewKey = {
  readonly name: string;
  readonly description: string;
  readonly operations: Scope[];
  readonly expiresAt: string;
  readonly purpose: Purpose;
};

const endOfDay = (day: string): string => new Date(`${day}T23:59:59`).toISOString();

/** Dialog that creates a key. The value is shown once. */
export function CreateDialog() {
  const { t } = useTranslation('api-keys');
  const { may } = useSession();
  const purposes = usePurposes();
  return (
    <FormDialog<NewKey, { readonly apiKey: string }>
      title={t('create.title')}
      values={{
        name: '',
        description: '',
        operations: SENDING.filter((scope) => may({ scope })),
        expiresAt: '',
        purpose: '',
      }}
      validate={{
        name: (name) => (name.trim() === '' ? t('create.nameMissing') : null),
        operations: (chosen) => (chosen.length === 0 ? t('create.scopeMissing') : null),
      }}
      run={({ expiresAt, purpose, ...rest }) => {
        const expires = expiresAt === '' ? null : endOfDay(expiresAt);
        return ok(api.POST(KEYS, { body: { ...rest, expiresAt: expires, purpose: purpose || null } }));
      }}
      refresh={[['api-keys']]}
      action={t('create.submit')}
      result={({ apiKey }) => <SecretOnce label={t('key')} secret={apiKey} />}
      finish={t('create.done')}
    >
      {(form) => (
        <>
          <TextInput
            label={t('column.name')}
            description={t('create.nameHint')}
            maxLength={200}
            data-autofocus
            {...form.getInputProps('name')}
          />
          <Textarea
            label={t('create.description')}
            maxLength={1000}
            autosize
            minRows={2}
            {...form.getInputProps('description')}
          />
          <ScopePicker {...form.getInputProps('operations')} />
          <DateField
            label={t('create.expiresAt')}
            description={t('create.expiresHint')}
            {...form.getInputProps('expiresAt')}
          />
          <NativeSelect label={t('ui:purpose.label')} data={purposes} {...form.getInputProps('purpose')} />
        </>
      )}
    </FormDialog>
  );
}

/** Dialog that finds the key to a value, for example one found in a log or a file. */
export function FindDialog() {
  const { t } = useTranslation('api-keys');
  const problemText = useProblemText();
  return (
    <FormDialog
      title={t('find.title')}
      values={{ value: '' }}
      run={({ value }) => findApiKey(value.trim())}
      stays
      quiet
      action={t('find.submit')}
      isDisabled={({ value }) => value.trim() === ''}
    >
      {(form, { error, output }) => {
        const isUnknown = error instanceof ApiError && error.status === 404;
        return (
          <>
            <PasswordInput
              label={t('find.value')}
              description={t('find.hint')}
              placeholder="pg_live_…"
              autoComplete="off"
              data-autofocus
              visibilityToggleButtonProps={{ 'aria-label': t('find.show') }}
              {...form.getInputProps('value')}
            />
            {error !== null && (
              <Alert color="red" role="alert">
                {isUnknown ? t('find.unknown') : problemText(error)}
              </Alert>
            )}
            {output && <Found apiKey={output} />}
          </>
        );
      }}
    </FormDialog>
  );
}

function Found({ apiKey }: { readonly apiKey: ApiKey }) {
  const { t } = useTranslation('api-keys');
  const { username, status, operations, createdAt, lastUsedAt } = apiKey;
  return (
    <Facts
      facts={[
        { label: t('column.name'), value: <bdi>{nameOf(apiKey)}</bdi> },
        { label: t('column.status'), value: t(`status.${status}`) },
        { label: t('column.operations'), value: <ScopeNames scopes={operations} /> },
        { label: t('column.username'), value: <bdi>{username ?? t('byOperator')}</bdi> },
        { label: t('column.createdAt'), value: <DateTime value={createdAt} /> },
        { label: t('column.lastUsedAt'), value: lastUsedAt ? <DateTime value={lastUsedAt} /> : t('never') },
      ]}
    />
  );
}

export function useKeyColumns(): readonly Column<ApiKey>[] {
  const { t } = useTranslation('api-keys');
  return useMemo(
    () => [
      { id: 'name', header: t('column.name'), phone: 'title', cell: (key) => <Name apiKey={key} /> },
      {
        id: 'operations',
        header: t('column.operations'),
        cell: ({ operations }) => <ScopeNames scopes={operations} />,
      },
      { id: 'status', header: t('column.status'), cell: (key) => <Status apiKey={key} /> },
      {
        id: 'lastUsedAt',
        header: t('column.lastUsedAt'),
        cell: ({ lastUsedAt }) => (lastUsedAt ? <DateTime value={lastUsedAt} /> : t('never')),
      },
      {
        id: 'expiresAt',
        header: t('column.expiresAt'),
        cell: ({ expiresAt }) => (expiresAt ? <DateTime value={expiresAt} /> : t('never')),
      },
      {
        id: 'username',
        header: t('column.username'),
        hidden: true,
        cell: ({ username }) => username ?? t('byOperator'),
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

function Name({ apiKey: { name, description, prefix } }: { readonly apiKey: ApiKey }) {
  return (
    <Stack gap={2}>
      <Group gap="xs">
        {name !== '' && (
          <Text size="sm" fw={500} dir="auto">
            {name}
          </Text>
        )}
        <Code>{prefix}…</Code>
      </Group>
      {description !== '' && (
        <Text size="xs" c="dimmed" fw={400} className="foreign-text" dir="auto" lineClamp={2}>
          {description}
        </Text>
      )}
    </Stack>
  );
}

function Status({ apiKey }: { readonly apiKey: ApiKey }) {
  const { t } = useTranslation('api-keys');
  const { status } = apiKey;
  if (expiresSoon(apiKey)) return <StatusBadge tone="warning">{t('status.soon')}</StatusBadge>;
  return <StatusBadge tone={status === 'active' ? 'good' : 'neutral'}>{t(`status.${status}`)}</StatusBadge>;
}

const AREAS: readonly { readonly id: string; readonly scopes: readonly Scope[] }[] = [
  { id: 'channels', scopes: ['SMS', 'WHATSAPP', 'RCS'] },
  { id: 'data', scopes: ['campaigns', 'contacts', 'tracking', 'inbox', 'exports', 'media', 'social', 'verify'] },
  { id: 'access', scopes: ['webhooks', 'money', 'keys'] },
];

type ScopePickerProps = {
  readonly value?: string[];
  readonly onChange?: (value: string[]) => void;
  readonly error?: React.ReactNode;
};

/** The choice of a key's scopes, by area. Scopes that the plan or the role lacks are disabled and show the reason. */
function ScopePicker(props: ScopePickerProps) {
  const { t } = useTranslation('api-keys');
  const { may } = useSession();
  return (
    <Checkbox.Group label={t('create.scopes')} description={t('create.scopesHint')} {...props}>
      <Stack gap="sm" mt="xs">
        <Group gap="xs">
          {[['sending', SENDING] as const, ['all', SCOPES] as const].map(([name, scopes]) => (
            <Button
              key={name}
              size="compact-xs"
              variant="default"
              onClick={() => props.onChange?.(scopes.filter((scope) => may({ scope })))}
            >
              {t(`create.preset.${name}`)}
            </Button>
          ))}
        </Group>
        {AREAS.map(({ id, scopes }) => (
          <div key={id} role="group" aria-labelledby={`scopes-${id}`}>
            <Text id={`scopes-${id}`} size="xs" fw={500} c="dimmed" mb={6}>
              {t(`area.${id}`)}
            </Text>
            <SimpleGrid cols={{ base: 2, xs: 3 }} spacing="xs">
              {scopes.map((scope) => (
                <ScopeBox key={scope} scope={scope} />
              ))}
            </SimpleGrid>
          </div>
        ))}
      </Stack>
    </Checkbox.Group>
  );
}

function ScopeBox({ scope }: { readonly scope: Scope }) {
  const { t } = useTranslation('api-keys');
  const refusal = useSession().refusal({ scope });
  return (
    <Checkbox
      value={scope}
      label={t(`scope.${scope}`)}
      disabled={refusal !== null}
      {...(refusal !== null && { description: t(`create.${refusal === 'plan' ? 'notInPlan' : 'notYours'}`) })}
    />
  );
}

/** All scopes, in display order. */
const SCOPES = [
  'SMS',
  'WHATSAPP',
  'RCS',
  'campaigns',
  'contacts',
  'tracking',
  'inbox',
  'exports',
  'webhooks',
  'media',
  'money',
  'social',
  'verify',
  'keys',
] as const;

/** The scopes that a new key has: a program that sends needs no others. */
const SENDING: readonly Scope[] = ['SMS', 'WHATSAPP', 'RCS', 'tracking'];

const MAX_SHOWN = 3;

/** The scopes of a key: the first few by name, all of them in a tooltip. */
function ScopeNames({ scopes }: { readonly scopes: readonly string[] }) {
  const { t } = useTranslation('api-keys');
  const format = useFormat();
  const names = SCOPES.filter((scope) => scopes.includes(scope)).map((scope) => t(`scope.${scope}`));
  if (names.length === SCOPES.length) return <Text size="sm">{t('scope.all')}</Text>;
  if (names.length <= MAX_SHOWN) return <Text size="sm">{format.list(names)}</Text>;
  return (
    <Hint label={format.list(names)}>
      <Text size="sm" tabIndex={0} w="fit-content">
        {t('scope.more', { some: names.slice(0, MAX_SHOWN - 1).join(', '), count: names.length - MAX_SHOWN + 1 })}
      </Text>
    </Hint>
  );
}

/** The permission that changes to API keys require. */
export const NEED: Need = { scope: 'keys', write: true };

export const KEYS = '/api/partner-gateway/v1/authentication';

export const STATES = ['active', 'expired'] as const;

type KeySearch = {
  readonly page: number;
  readonly limit: number;
  /** The ID of the user who created the keys; '' for all users. */
  readonly person: string;
  readonly status: (typeof STATES)[number] | '';
};

export function listApiKeys({ page, limit, person, status }: KeySearch, signal: AbortSignal) {
  const query = { page, limit, ...(person && { userId: Number(person) }), ...(status && { status }) };
  return ok(api.GET(KEYS, { params: { query }, signal }));
}

/** Finds a key by its secret value. */
const findApiKey = (value: string) => ok(api.GET(`${KEYS}/{id}`, { params: { path: { id: value } } }));

export type ApiKey = Awaited<ReturnType<typeof listApiKeys>>['data'][number];

/** The name of a key, or its prefix if it has none. */
export const nameOf = ({ name, prefix }: Pick<ApiKey, 'name' | 'prefix'>): string => name || `${prefix}…`;

const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

/** Returns true if an active key expires within two weeks. */
const expiresSoon = ({ status, expiresAt }: Pick<ApiKey, 'status' | 'expiresAt'>): boolean =>
  status === 'active' && expiresAt !== null && Date.parse(expiresAt) - Date.now() < SOON_DAYS * DAY_MS;
