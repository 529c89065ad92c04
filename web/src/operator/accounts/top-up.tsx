import { useDisclosure } from '@mantine/hooks';
import { Coins } from 'lucide-react';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { OPERATOR } from '../shared/need.ts';
import type { AccountDetails } from './account.ts';

const TopUpForm = lazyPart(() => import('./top-up-form.tsx').then((file) => ({ default: file.TopUpForm })));

type Props = { readonly account: AccountDetails };

/** Button that adds credit to an account. */
export function TopUpButton({ account }: Props) {
  const { t } = useTranslation('operator');
  const [isOpen, { open, close }] = useDisclosure();
  return (
    <>
      <GuardedButton need={OPERATOR} variant="default" leftSection={<Coins size={16} />} onClick={open}>
        {t('account.topUp.open')}
      </GuardedButton>
      <Dialog opened={isOpen} onClose={close} title={t('account.topUp.title', { name: account.name })} size="md">
        <Suspense>{isOpen && <TopUpForm account={account} onClose={close} />}</Suspense>
      </Dialog>
    </>
  );
}
