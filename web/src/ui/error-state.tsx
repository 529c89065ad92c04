import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core';
import { CircleAlert, RotateCw } from 'lucide-react';
import { useEffect, useEffectEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { isOutageStatus } from '../api/connection/monitor.ts';
import { ApiError } from '../api/errors.ts';
import { useProblemText } from '../api/problem-text.ts';

type ErrorStateProps = { readonly error: unknown; readonly onRetry?: () => void };

/** Delay of the next try after a server error. */
const AGAIN_MS = 10_000;

/**
 * Shown instead of data that could not be loaded: the error, the request ID for the server's log, and a retry button.
 * If the server could not do its work, it is tried again by itself.
 */
export function ErrorState({ error, onRetry }: ErrorStateProps) {
  const { t } = useTranslation('ui');
  const problemText = useProblemText(false);
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  const isAway = error instanceof ApiError && isOutageStatus(error.status);
  const repeats = isAway && onRetry !== undefined;
  const retry = useEffectEvent(() => onRetry?.());
  useEffect(() => {
    if (!repeats) return;
    const timer = setInterval(() => retry(), AGAIN_MS);
    return () => clearInterval(timer);
  }, [repeats]);
  return (
    <Alert
      color={isAway ? 'yellow' : 'red'}
      icon={<CircleAlert size={20} />}
      title={t(isAway ? 'problem.away' : 'problem.title')}
      role="alert"
    >
      <Stack gap="sm" align="flex-start">
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {problemText(error)} {repeats && t('problem.again')}
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
