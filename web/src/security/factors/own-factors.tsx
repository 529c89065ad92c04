import { Button, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { KeyRound, Smartphone } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { canUsePasskeys } from '../../api/passkey.ts';
import { ErrorState } from '../../ui/error-state.tsx';
import { Section } from '../../ui/section.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import { FactorList } from './factor-list.tsx';
import { factorsQuery, type Factors } from './factors.ts';
import { PasskeyDialog } from './passkey-dialog.tsx';
import { RecoverySection } from './recovery-section.tsx';
import { TotpDialog } from './totp-dialog.tsx';

type OwnFactorsProps = { readonly onAdded?: () => void };

/** The second factors of the user, and the ways to add and remove them. */
export function OwnFactors({ onAdded }: OwnFactorsProps) {
  const query = useQuery(factorsQuery);
  if (query.data !== undefined) return <Loaded factors={query.data} onAdded={onAdded} />;
  if (query.error === null) return <TableSkeleton rows={3} />;
  return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
}

function Loaded({ factors, onAdded }: OwnFactorsProps & { readonly factors: Factors }) {
  const { t } = useTranslation('security');
  const [adding, setAdding] = useState<'totp' | 'passkey' | null>(null);
  const close = (): void => setAdding(null);
  const hasAny = factors.totp !== null || factors.passkeys.length > 0;
  const buttons = (
    <>
      <Button variant="default" leftSection={<Smartphone size={16} />} onClick={() => setAdding('totp')}>
        {t(factors.totp === null ? 'factors.totpAdd' : 'factors.totpReplace')}
      </Button>
      {canUsePasskeys() && (
        <Button variant="default" leftSection={<KeyRound size={16} />} onClick={() => setAdding('passkey')}>
          {t('factors.passkeyAdd')}
        </Button>
      )}
    </>
  );
  return (
    <Stack gap="lg">
      <Section title={t('factors.title')} description={t('factors.text')} actions={buttons}>
        {hasAny ? <FactorList factors={factors} /> : <Text size="sm">{t('factors.none')}</Text>}
        {!canUsePasskeys() && (
          <Text size="sm" c="dimmed">
            {t('factors.noPasskeys')}
          </Text>
        )}
      </Section>
      {hasAny && <RecoverySection left={factors.recoveryCodesLeft} />}
      <TotpDialog opened={adding === 'totp'} onClose={close} onAdded={() => onAdded?.()} />
      <PasskeyDialog opened={adding === 'passkey'} onClose={close} onAdded={() => onAdded?.()} />
    </Stack>
  );
}
