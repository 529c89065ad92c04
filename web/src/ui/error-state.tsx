import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core';
import { CircleAlert, RotateCw } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../api/errors.ts';
import { useProblemText } from '../api/problem-text.ts';

type ErrorStateProps = { readonly error: unknown; readonly onRetry?: () => void };

/**
 * Shown instead of data that could not be loaded: the error, the request ID for the server's log, and a retry button.
 */
export function ErrorState({ error, onRetry }: ErrorStateProps) {
  const { t } = useTranslation('ui');
  const problemText = useProblemText(false);
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  return (
    <Alert color="red" icon={<CircleAlert size={20} />} title={t('problem.title')} role="alert">
      <Stack gap="sm" align="flex-start">
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {problemText(error)}
        </Text>
        {requestId !== undefined && (
          <Group gap="xs">
            <Text size="xs">{t('problem.requestId')}</Text>
            <Code>{requestId}</Code>
          </Group>
        )}
        {onRetry && (
          <Button size="xs" variant="default" leftSection={<RotateCw size={14} />} onClick={onRetry}>
            {t('tryAgain')}
          </Button>
        )}
      </Stack>
    </Alert>
  );
}
