import { Alert, Center, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { ApiError } from '../../api/errors.ts';
import { useProblemText } from '../../api/problem-text.ts';
import { CopyButton } from '../../ui/actions/copy-button.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { AddDialog, type AddDialogProps, type AddFormProps } from './add-dialog.tsx';
import { AFFECTED, beginTotp, confirmTotp } from './factors.ts';
import { QrCode } from './qr-code.tsx';

/** Adds an authenticator app: shows the QR code, asks for a first code, and shows the recovery codes. */
export function TotpDialog(props: AddDialogProps) {
  const { t } = useTranslation('security');
  return <AddDialog {...props} title={t('factors.totpTitle')} form={(form) => <Enrolment {...form} />} />;
}

function Enrolment({ onClose, onMade }: AddFormProps) {
  const { t } = useTranslation('security');
  const problemText = useProblemText();
  const [code, setCode] = useState('');
  // A secret is made for each opening, and not again while the dialog is open.
  const begun = useQuery({ queryKey: ['totp-enrolment'], queryFn: beginTotp, staleTime: Infinity, gcTime: 0 });
  const confirm = useAction({
    run: () => confirmTotp(code),
    refresh: AFFECTED,
    quiet: true,
    done: t('factors.totpDone'),
    onDone: ({ recoveryCodes }) => onMade(recoveryCodes),
  });
  if (begun.error !== null) return <ErrorState error={begun.error} onRetry={() => void begun.refetch()} />;
  const isWrong = confirm.error instanceof ApiError && confirm.error.details.length > 0;
  return (
    <DialogForm
      onSubmit={() => code.trim() !== '' && confirm.run()}
      action={t('factors.totpSubmit')}
      busy={confirm.busy}
      disabled={begun.data === undefined}
      onClose={onClose}
    >
      <Text size="sm">{t('factors.totpText')}</Text>
      {begun.data === undefined ? <Skeleton h={240} /> : <Secret {...begun.data} />}
      {confirm.error !== null && !isWrong && <Alert color="red">{problemText(confirm.error)}</Alert>}
      <TextInput
        label={t('factors.code')}
        value={code}
        onChange={(event) => setCode(event.currentTarget.value)}
        error={isWrong && t('factors.wrongCode')}
        inputMode="numeric"
        autoComplete="one-time-code"
        maxLength={10}
        data-autofocus
      />
    </DialogForm>
  );
}

function Secret({ uri, secret }: { readonly uri: string; readonly secret: string }) {
  const { t } = useTranslation('security');
  return (
    <Stack gap="xs">
      <Center>
        <QrCode text={uri} label={t('factors.qr')} />
      </Center>
      <Text size="sm" c="dimmed" ta="center" style={{ overflowWrap: 'anywhere' }}>
        {t('factors.secret')}{' '}
        <bdi dir="ltr" className="tabular">
          {secret}
        </bdi>
        <CopyButton text={secret} label={t('factors.secretCopy')} />
      </Text>
    </Stack>
  );
}
