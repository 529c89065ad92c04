import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { useLast } from '../../ui/use-last.ts';
import type { AllowListUpdate } from './security-settings.ts';

type Settings = { readonly ipAllowList: string[]; readonly enforced: boolean; readonly callerAddress: string };
export type AllowListDialogProps = {
  readonly settings: Settings;
  readonly change: AllowListUpdate;
  readonly onClose: () => void;
};

/** Confirms that a range is removed from the allowlist; null closes the dialog. */
export function RemoveDialog({
  settings,
  change,
  block,
  onClose,
}: AllowListDialogProps & { readonly block: string | null }) {
  const { t } = useTranslation('security');
  const shown = useLast(block) ?? '';
  const { ipAllowList, enforced } = settings;
  return (
    <ConfirmDialog
      opened={block !== null}
      onClose={onClose}
      title={t('addresses.removeTitle', { block: shown })}
      action={t('addresses.removeSubmit')}
      onConfirm={() => change.run({ ipAllowList: ipAllowList.filter((each) => each !== block), enforced })}
      busy={change.busy}
    >
      <Text size="sm">{t(enforced ? 'addresses.removeEnforced' : 'addresses.removeText', { block: shown })}</Text>
      <Fault change={change} />
    </ConfirmDialog>
  );
}

/** Confirms that the allowlist is enforced, or no longer enforced. */
export function EnforceDialog({
  settings,
  change,
  opened,
  onClose,
}: AllowListDialogProps & { readonly opened: boolean }) {
  const { t } = useTranslation('security');
  const { ipAllowList, enforced } = settings;
  const way = useLast(opened ? (enforced ? 'stop' : 'enforce') : null) ?? 'enforce';
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t(`addresses.${way}Title`)}
      action={t(`addresses.${way}`)}
      kind={way === 'stop' ? 'danger' : 'normal'}
      onConfirm={() => change.run({ ipAllowList, enforced: !enforced })}
      busy={change.busy}
    >
      <Text size="sm">{t(`addresses.${way}Text`)}</Text>
      <Fault change={change} />
    </ConfirmDialog>
  );
}

type LockOutProps = { readonly address: string; readonly change: AllowListUpdate; readonly onClose: () => void };

/** Shown when the server rejects a change because it would block the user's own address. */
export function LockOutDialog({ address, change, onClose }: LockOutProps) {
  const { t } = useTranslation('security');
  return (
    <ConfirmDialog
      opened={change.wouldLockOut}
      onClose={onClose}
      title={t('lockOut.title')}
      action={t('lockOut.submit')}
      onConfirm={change.force}
      busy={change.busy}
      typed={address}
    >
      <Stack gap="xs">
        <Text size="sm">{t('lockOut.text', { address })}</Text>
        <Text size="sm">{t('lockOut.wayBack')}</Text>
      </Stack>
    </ConfirmDialog>
  );
}

function Fault({ change: { fault } }: Pick<AllowListDialogProps, 'change'>) {
  if (fault === null) return null;
  return (
    <Text size="sm" c="red" role="alert" mt="xs">
      {fault}
    </Text>
  );
}
