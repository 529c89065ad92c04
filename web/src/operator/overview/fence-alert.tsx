import { Alert, Group, Stack, Text } from '@mantine/core';
import { OctagonPause } from 'lucide-react';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { DateTime } from '../../ui/values/date-time.tsx';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { OPERATOR } from '../shared/need.ts';
import type { Overview } from './overview.ts';

const ResumeDialog = lazyPart(() => import('./resume-dialog.tsx').then((file) => ({ default: file.ResumeDialog })));

/** The alert that sending is paused, with the reason and a button to resume. */
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
        <GuardedButton need={OPERATOR} onClick={() => setIsOpen(true)}>
          {t('fence.resume.open')}
        </GuardedButton>
      </Group>
      <Suspense>{isOpen && <ResumeDialog onClose={() => setIsOpen(false)} />}</Suspense>
    </Alert>
  );
}
