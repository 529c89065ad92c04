import { Button, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { ApiError } from '../api/errors.ts';
import { canUsePasskeys } from '../api/passkey.ts';
import type { Session } from '../api/session.ts';
import { CodeField } from './code-field.tsx';
import { PasskeyButton } from './passkey-button.tsx';
import { Refused } from './refused.tsx';
import { type Pending, signInWithCode, signInWithPasskey } from './requests.ts';

type SecondStepProps = {
  readonly pending: Pending;
  readonly onSignedIn: (session: Session) => void;
  readonly onRestart: () => void;
};

/** Asks for the second factor, after the password was right. */
export function SecondStep({ pending, onSignedIn, onRestart }: SecondStepProps) {
  const { t } = useTranslation('sign-in');
  const [code, setCode] = useState('');
  const shared = { quiet: true, signsIn: true, onDone: (session: Session) => onSignedIn(session) };
  const byCode = useAction({ run: () => signInWithCode(pending, code), ...shared });
  const byPasskey = useAction({ run: () => signInWithPasskey(pending), ...shared });
  const hasPasskey = pending.factors.includes('passkey') && canUsePasskeys();
  const hasEnded = [byCode.error, byPasskey.error].some((error) => error instanceof ApiError && error.status === 404);
  return (
    <Stack>
      <Text size="sm">{t(pending.factors.includes('totp') ? 'second.text' : 'second.passkeyText')}</Text>
      <Refused error={byCode.error ?? byPasskey.error} wrong={t(byCode.error ? 'code.wrong' : 'passkey.wrong')} />
      {hasPasskey && (
        <PasskeyButton
          busy={byPasskey.busy}
          onClick={() => {
            byCode.reset();
            byPasskey.run();
          }}
        />
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          byPasskey.reset();
          if (code.trim() !== '') byCode.run();
        }}
      >
        <Stack>
          <CodeField value={code} onChange={setCode} />
          <Button type="submit" loading={byCode.busy} disabled={hasEnded} fullWidth>
            {t('submit')}
          </Button>
        </Stack>
      </form>
      <Button variant="subtle" onClick={onRestart}>
        {t('second.restart')}
      </Button>
    </Stack>
  );
}
