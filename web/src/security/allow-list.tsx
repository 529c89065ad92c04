import { Alert, Badge, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Globe, Trash2 } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { AddButton, CopyButton, GuardedButton, GuardedIcon } from '../ui/actions.tsx';
import { ConfirmDialog, Dialog, DialogWhile } from '../ui/dialog.tsx';
import { DialogButtons } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, ErrorState, Muted, Section, TableSkeleton, useLast } from '../ui/parts.tsx';
import { Facts, StatusBadge } from '../ui/values.tsx';
import classes from './blocks.module.css';
import { type AllowListUpdate, NEED, settingsQuery, useUpdateAllowList } from './security-settings.ts';

type Settings = { readonly ipAllowList: string[]; readonly enforced: boolean; readonly callerAddress: string };
type Open = { readonly what: 'add' | 'enforce' } | { readonly what: 'remove'; readonly block: string } | null;

/** The IP allowlist for users and API keys of the account. */
export function AllowList() {
  const query = useQuery(settingsQuery);
  if (query.data !== undefined) return <Loaded settings={query.data} />;
  if (query.error === null) return <TableSkeleton rows={4} />;
  return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
}

function Loaded({ settings }: { readonly settings: Settings }) {
  const { t } = useTranslation('security');
  const [open, setOpen] = useState<Open>(null);
  const change = useUpdateAllowList({ done: t('addresses.saved'), onDone: () => setOpen(null) });
  const close = (): void => {
    setOpen(null);
    change.reset();
  };
  const { ipAllowList, callerAddress } = settings;
  const shared = { settings, change, onClose: close };
  const isAsking = !change.wouldLockOut;
  const add = (
    <AddButton need={NEED} onClick={() => setOpen({ what: 'add' })}>
      {t('addresses.add')}
    </AddButton>
  );
  return (
    <Stack gap="lg">
      <State settings={settings} onSwitch={() => setOpen({ what: 'enforce' })} />
      <Section title={t('addresses.listTitle')} description={t('addresses.listText')} actions={add}>
        {ipAllowList.length === 0 ? (
          <EmptyState icon={Globe} title={t('addresses.none')} text={t('addresses.noneText')} />
        ) : (
          <Blocks {...settings} onRemove={(block) => setOpen({ what: 'remove', block })} />
        )}
      </Section>
      <AddDialog {...shared} opened={open?.what === 'add' && isAsking} />
      <RemoveDialog {...shared} block={open?.what === 'remove' && isAsking ? open.block : null} />
      <EnforceDialog {...shared} opened={open?.what === 'enforce' && isAsking} />
      <LockOutDialog address={callerAddress} change={change} onClose={close} />
    </Stack>
  );
}

function State({ settings, onSwitch }: { readonly settings: Settings; readonly onSwitch: () => void }) {
  const { t } = useTranslation('security');
  const { enforced, ipAllowList, callerAddress } = settings;
  const isEmpty = ipAllowList.length === 0 && !enforced && t('addresses.addFirst');
  const action = (
    <GuardedButton need={NEED} reason={isEmpty} variant="default" onClick={onSwitch}>
      {t(enforced ? 'addresses.stop' : 'addresses.enforce')}
    </GuardedButton>
  );
  const badge: ReactNode = (
    <StatusBadge tone={enforced ? 'good' : 'neutral'}>{t(enforced ? 'addresses.on' : 'addresses.off')}</StatusBadge>
  );
  return (
    <Section title={t('addresses.title')} description={t('addresses.text')} actions={action}>
      <Facts
        facts={[
          { label: t('addresses.state'), value: badge },
          { label: t('addresses.yours'), value: <Address address={callerAddress} /> },
        ]}
      />
      {!enforced && ipAllowList.length > 0 && (
        <Alert color="amber" title={t('addresses.offTitle')}>
          <Text size="sm">{t('addresses.offText')}</Text>
        </Alert>
      )}
    </Section>
  );
}

function Address({ address }: { readonly address: string }) {
  const { t } = useTranslation('security');
  return (
    <Group gap={4}>
      <bdi dir="ltr" className="tabular">
        {address}
      </bdi>
      <CopyButton text={address} label={t('addresses.copy')} />
    </Group>
  );
}

/** Dialog that adds an address or a range, with a shortcut for the user's own address. */
function AddDialog({ opened, onClose, ...rest }: AllowListDialogProps & { readonly opened: boolean }) {
  const { t } = useTranslation('security');
  return (
    <DialogWhile opened={opened} onClose={onClose}>
      <Dialog title={t('addresses.addTitle')} size="md">
        <Add onClose={onClose} {...rest} />
      </Dialog>
    </DialogWhile>
  );
}

function Add({ settings, change, onClose }: AllowListDialogProps) {
  const { t } = useTranslation('security');
  const [range, setRange] = useState('');
  const { ipAllowList, enforced, callerAddress } = settings;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (range.trim() !== '') change.run({ ipAllowList: [...ipAllowList, range.trim()], enforced });
      }}
    >
      <Stack>
        <TextInput
          label={t('addresses.range')}
          description={t('addresses.rangeHint')}
          placeholder="203.0.113.0/24"
          value={range}
          error={change.fault}
          onChange={(event) => setRange(event.currentTarget.value)}
          maxLength={100}
          data-autofocus
          spellCheck={false}
          autoComplete="off"
          required
        />
        {range !== callerAddress && (
          <Button variant="subtle" size="xs" w="fit-content" onClick={() => setRange(callerAddress)}>
            {t('addresses.useYours', { address: callerAddress })}
          </Button>
        )}
        {enforced && <Alert color="blue">{t('addresses.atOnce')}</Alert>}
        <DialogButtons onClose={onClose} action={t('addresses.addSubmit')} busy={change.busy} />
      </Stack>
    </form>
  );
}

type BlocksProps = {
  readonly ipAllowList: readonly string[];
  readonly callerAddress: string;
  readonly onRemove: (block: string) => void;
};

/** The ranges in canonical form, each with its size. */
function Blocks({ ipAllowList, callerAddress, onRemove }: BlocksProps) {
  const { t } = useTranslation('security');
  return (
    <ul className={classes.blocks} aria-label={t('addresses.listTitle')}>
      {ipAllowList.map((block) => (
        <li key={block} className={classes.block}>
          <Group gap="sm">
            <Text size="sm" fw={500} className="tabular" dir="ltr">
              {block}
            </Text>
            <Size block={block} />
            {includesAddress(block, callerAddress) && <Badge color="green">{t('addresses.holdsYou')}</Badge>}
          </Group>
          <GuardedIcon need={NEED} label={t('addresses.removeOne', { block })} onClick={() => onRemove(block)}>
            <Trash2 size={16} />
          </GuardedIcon>
        </li>
      ))}
    </ul>
  );
}

function Size({ block }: { readonly block: string }) {
  const { t } = useTranslation('security');
  const format = useFormat();
  const count = addressCountOf(block);
  return (
    <Muted>
      {count === null ? t('addresses.network') : t('addresses.size', { count, shown: format.number(count) })}
    </Muted>
  );
}

const BITS = 32;

/**
 * The number of addresses in an IPv4 block. For IPv6, 1 for a single address and null for a range, whose size would
 * mean nothing to users.
 */
export function addressCountOf(block: string): number | null {
  const [address = '', prefix = ''] = block.split('/');
  if (address.includes(':')) return prefix === '128' ? 1 : null;
  return 2 ** (BITS - Number(prefix));
}

const numberOf = (address: string): number => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);

/**
 * Returns true if the block is known to include the address. Decided for IPv4 and for single addresses only; the server
 * decides the rest.
 */
export function includesAddress(block: string, address: string): boolean {
  const [first = '', prefix = ''] = block.split('/');
  if (first === address) return true;
  if (first.includes(':') || address.includes(':')) return false;
  const size = 2 ** (BITS - Number(prefix));
  return Math.floor(numberOf(first) / size) === Math.floor(numberOf(address) / size);
}

type AllowListDialogProps = {
  readonly settings: Settings;
  readonly change: AllowListUpdate;
  readonly onClose: () => void;
};

/** Confirms that a range is removed from the allowlist; null closes the dialog. */
function RemoveDialog({ settings, change, block, onClose }: AllowListDialogProps & { readonly block: string | null }) {
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
function EnforceDialog({ settings, change, opened, onClose }: AllowListDialogProps & { readonly opened: boolean }) {
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
function LockOutDialog({ address, change, onClose }: LockOutProps) {
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
