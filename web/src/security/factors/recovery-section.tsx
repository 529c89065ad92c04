import { Button, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { Section } from '../../ui/section.tsx';
import { AFFECTED, renewRecoveryCodes } from './factors.ts';
import { RecoveryCodes } from './recovery-codes.tsx';

/** The number of recovery codes left, and a button that makes new ones. */
export function RecoverySection({ left }: { readonly left: number }) {
  const { t } = useTranslation('security');
  const [isAsking, setAsking] = useState(false);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const renew = useAction({
    run: renewRecoveryCodes,
    refresh: AFFECTED,
    onDone({ recoveryCodes }) {
      setAsking(false);
      setCodes(recoveryCodes);
    },
  });
  const button = (
    <Button variant="default" onClick={() => setAsking(true)}>
      {t('factors.renew')}
    </Button>
  );
  return (
    <Section title={t('factors.recovery')} description={t('factors.recoveryText')} actions={button}>
      <Text size="sm">{t('factors.recoveryLeft', { count: left })}</Text>
      <ConfirmDialog
        opened={isAsking}
        onClose={() => setAsking(false)}
        title={t('factors.renewTitle')}
        action={t('factors.renew')}
        onConfirm={() => renew.run()}
        busy={renew.busy}
        kind="normal"
      >
        {t('factors.renewText')}
      </ConfirmDialog>
      <Dialog opened={codes !== null} onClose={() => setCodes(null)} title={t('factors.recovery')} size="md" locked>
        {codes !== null && <RecoveryCodes codes={codes} onClose={() => setCodes(null)} />}
      </Dialog>
    </Section>
  );
}
