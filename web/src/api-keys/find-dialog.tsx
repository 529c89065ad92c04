import { Alert, Button, Group, PasswordInput, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { ApiError } from '../api/errors.ts';
import { useProblemText } from '../api/problem-text.ts';
import { DateTime } from '../ui/values/date-time.tsx';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { Facts } from '../ui/values/facts.tsx';
import { type ApiKey, findApiKey, nameOf } from './api-key.ts';
import { ScopeNames } from './scope-names.tsx';

type FindDialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog that finds the key to a value, for example one found in a log or a file. */
export function FindDialog({ opened, onClose }: FindDialogProps) {
  const { t } = useTranslation('api-keys');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('find.title')}>
      {opened && <Find />}
    </Dialog>
  );
}

function Find() {
  const { t } = useTranslation('api-keys');
  const problemText = useProblemText();
  const [value, setValue] = useState('');
  const find = useAction({ run: findApiKey, quiet: true });
  const isUnknown = find.error instanceof ApiError && find.error.status === 404;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (value.trim() !== '') find.run(value.trim());
      }}
    >
      <Stack>
        <PasswordInput
          label={t('find.value')}
          description={t('find.hint')}
          placeholder="pg_live_…"
          value={value}
          onChange={(event) => setValue(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
          visibilityToggleButtonProps={{ 'aria-label': t('find.show') }}
        />
        {find.error !== null && (
          <Alert color="red" role="alert">
            {isUnknown ? t('find.unknown') : problemText(find.error)}
          </Alert>
        )}
        {find.result && <Found apiKey={find.result} />}
        <Group justify="flex-end">
          <Button type="submit" loading={find.busy}>
            {t('find.submit')}
          </Button>
        </Group>
      </Stack>
    </form>
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
