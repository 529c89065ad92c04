import { Button, Group, Stack, Text } from '@mantine/core';
import { KeyRound, Smartphone } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { useLast } from '../../ui/use-last.ts';
import { DateTime } from '../../ui/values/date-time.tsx';
import { AFFECTED, type Factors, type Passkey, removePasskey, removeTotp } from './factors.ts';

type Removal = 'totp' | Passkey;

/** The factors of the user, each with a button that removes it. */
export function FactorList({ factors: { totp, passkeys } }: { readonly factors: Factors }) {
  const { t } = useTranslation('security');
  const [removing, setRemoving] = useState<Removal | null>(null);
  return (
    <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
      {totp !== null && (
        <Row
          icon={<Smartphone size={18} aria-hidden="true" />}
          name={t('factors.totp')}
          since={totp.confirmedAt}
          usedAt={null}
          onRemove={() => setRemoving('totp')}
        />
      )}
      {passkeys.map((passkey) => (
        <Row
          key={passkey.id}
          icon={<KeyRound size={18} aria-hidden="true" />}
          name={passkey.name}
          since={passkey.createdAt}
          usedAt={passkey.lastUsedAt}
          onRemove={() => setRemoving(passkey)}
        />
      ))}
      <RemoveDialog removal={removing} onClose={() => setRemoving(null)} />
    </Stack>
  );
}

type RowProps = {
  readonly icon: ReactNode;
  readonly name: string;
  readonly since: string;
  readonly usedAt: string | null;
  readonly onRemove: () => void;
};

function Row({ icon, name, since, usedAt, onRemove }: RowProps) {
  const { t } = useTranslation('security');
  return (
    <Group component="li" justify="space-between" wrap="nowrap">
      <Group gap="xs" wrap="nowrap" style={{ minWidth: 0 }}>
        {icon}
        <Stack gap={0} style={{ minWidth: 0 }}>
          <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
            <bdi>{name}</bdi>
          </Text>
          <Text size="sm" c="dimmed">
            {t('factors.since')} <DateTime value={since} />
            {usedAt !== null && (
              <>
                {' · '}
                {t('factors.usedAt')} <DateTime value={usedAt} />
              </>
            )}
          </Text>
        </Stack>
      </Group>
      <Button variant="default" size="xs" onClick={onRemove} aria-label={t('factors.removeOne', { name })}>
        {t('factors.remove')}
      </Button>
    </Group>
  );
}

function RemoveDialog({ removal, onClose }: { readonly removal: Removal | null; readonly onClose: () => void }) {
  const { t } = useTranslation('security');
  const shown = useLast(removal);
  const name = shown === null || shown === 'totp' ? t('factors.totp') : shown.name;
  const remove = useAction({
    run: (what: Removal) => (what === 'totp' ? removeTotp() : removePasskey(what.id)),
    refresh: AFFECTED,
    done: t('factors.removed', { name }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={removal !== null}
      onClose={onClose}
      title={t('factors.removeTitle', { name })}
      action={t('factors.remove')}
      onConfirm={() => removal !== null && remove.run(removal)}
      busy={remove.busy}
    >
      {t('factors.removeText')}
    </ConfirmDialog>
  );
}
