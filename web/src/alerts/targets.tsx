import { Alert, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { MailX } from 'lucide-react';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/connection/lazy-part.ts';
import { AddButton } from '../ui/actions/add-button.tsx';
import { ErrorState } from '../ui/error-state.tsx';
import { Section } from '../ui/section.tsx';
import { TableSkeleton } from '../ui/table/table-skeleton.tsx';
import { DateTime } from '../ui/values/date-time.tsx';
import { StatusBadge } from '../ui/values/status-badge.tsx';
import { OPERATOR, type Target, targetsQuery } from './alert.ts';
import classes from './lines.module.css';
import { TargetActions } from './target-actions.tsx';

const TargetDialog = lazyPart(() => import('./target-dialog.tsx').then((file) => ({ default: file.TargetDialog })));

/** Recipients of alerts. */
export function Targets() {
  const { t } = useTranslation('alerts');
  const [edited, setEdited] = useState<Target | 'new' | null>(null);
  const { data, error } = useQuery(targetsQuery);
  return (
    <Section
      title={t('target.title')}
      description={t('target.hint')}
      actions={
        <AddButton need={OPERATOR} onClick={() => setEdited('new')}>
          {t('target.add')}
        </AddButton>
      }
    >
      {error && !data && <ErrorState error={error} />}
      {!data && !error && <TableSkeleton rows={2} />}
      {data && <NoMail isMissing={!data.canMail && data.data.some(({ kind }) => kind !== 'webhook')} />}
      {data?.data.length === 0 && (
        <Text size="sm" c="dimmed">
          {t('target.none')}
        </Text>
      )}
      {data && data.data.length > 0 && (
        <ul className={classes.list} aria-label={t('target.title')}>
          {data.data.map((target) => (
            <li key={target.id}>
              <TargetLine target={target} onEdit={() => setEdited(target)} />
            </li>
          ))}
        </ul>
      )}
      <Suspense>
        {edited !== null && <TargetDialog target={edited === 'new' ? null : edited} onClose={() => setEdited(null)} />}
      </Suspense>
    </Section>
  );
}

function NoMail({ isMissing }: { readonly isMissing: boolean }) {
  const { t } = useTranslation('alerts');
  if (!isMissing) return null;
  return (
    <Alert color="amber" icon={<MailX size={18} />}>
      {t('target.noMail')}
    </Alert>
  );
}

function TargetLine({ target, onEdit }: { readonly target: Target; readonly onEdit: () => void }) {
  const { t } = useTranslation('alerts');
  const { kind, address, severity, quiet, timeZone, breaksQuiet, failingSince, lastError, waiting } = target;
  const name = address === '' ? t('target.owners') : address;
  return (
    <Group justify="space-between" gap="sm" align="flex-start">
      <Stack gap={2} style={{ minWidth: 0, flex: '1 1 260px' }}>
        <Group gap="xs">
          <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
            <bdi>{name}</bdi>
          </Text>
          {failingSince !== null && <StatusBadge tone="bad">{t('target.failing')}</StatusBadge>}
        </Group>
        <Text size="xs" c="dimmed">
          {t(`target.kind.${kind}`)} · {t(`target.severity.${severity}`)}
        </Text>
        {quiet !== null && (
          <Text size="xs" c="dimmed">
            {t(breaksQuiet ? 'target.quietBut' : 'target.quiet', { ...quiet, timeZone })}
          </Text>
        )}
        {failingSince !== null && (
          <Text size="xs" component="div" className="foreign-text">
            {t('target.waiting', { count: waiting })} <DateTime value={failingSince} />: {lastError}
          </Text>
        )}
      </Stack>
      <TargetActions target={target} name={name} onEdit={onEdit} />
    </Group>
  );
}
