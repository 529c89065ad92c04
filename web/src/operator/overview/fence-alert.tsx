import { Alert, Group, Stack, Text } from '@mantine/core';
import { OctagonPause } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DateTime } from '../../ui/values/date-time.tsx';
import { MayButton } from '../../ui/actions/may-button.tsx';
import { OPERATOR } from '../shared/need.ts';
import type { Overview } from './overview.ts';

const ResumeDialog = lazy(() => import('./resume-dialog.tsx').then((file) => ({ default: file.ResumeDialog })));

/** Sending is paused: since when, why, and the way on. */
export function FenceAlert({ fence: { reason, since } }: Pick<Overview, 'fence'>) {
  const { t } = useTranslation('operator');
  const [isOpen, setIsOpen] = useState(false);
  return (
    <Alert color="red" icon={<OctagonPause size={20} />} title={t('fence.paused')} role="alert">
      <Group justify="space-between" align="flex-end" gap="md">
        <Stack gap={4} style={{ flex: '1 1 280px' }}>
          {reason !== null && (
            <Text size="sm" className="foreign-text">
              {reason}
            </Text>
          )}
          <Text size="sm" component="div">
            {t('fence.since')} <DateTime value={since} />. {t('fence.meanwhile')}
          </Text>
        </Stack>
        <MayButton need={OPERATOR} onClick={() => setIsOpen(true)}>
          {t('fence.resume.open')}
        </MayButton>
      </Group>
      <Suspense>{isOpen && <ResumeDialog onClose={() => setIsOpen(false)} />}</Suspense>
    </Alert>
  );
}
