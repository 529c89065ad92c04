import { Alert, Button, Center, Code, Group, SimpleGrid, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { KeyRound, LifeBuoy, Smartphone } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { encode } from 'uqr';
import { useAction } from '../api/action.ts';
import { canUsePasskeys, makePasskeyWith, useProblemText } from '../api/passkey.ts';
import { ApiError, api, ok } from '../api/send.ts';
import { CopyButton } from '../ui/actions.tsx';
import { ConfirmDialog, Dialog, DialogForm } from '../ui/dialog.tsx';
import { ErrorState, Section, useLast } from '../ui/parts.tsx';
import { TableSkeleton } from '../ui/table-skeleton.tsx';
import { DateTime } from '../ui/values.tsx';

type Removal = 'totp' | Passkey;

/** The factors of the user, each with a button that removes it. */
function FactorList({ factors: { totp, passkeys } }: { readonly factors: Factors }) {
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

/** Adds an authenticator app: shows the QR code, asks for a first code, and shows the recovery codes. */
function TotpDialog(props: AddDialogProps) {
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

/** The number of recovery codes left, and a button that makes new ones. */
function RecoverySection({ left }: { readonly left: number }) {
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

/** Adds a passkey: asks for a name, then the browser asks for the passkey; shows the recovery codes. */
function PasskeyDialog(props: AddDialogProps) {
  const { t } = useTranslation('security');
  return <AddDialog {...props} title={t('factors.passkeyTitle')} form={(form) => <Naming {...form} />} />;
}

function Naming({ onClose, onMade }: AddFormProps) {
  const { t } = useTranslation('security');
  const problemText = useProblemText();
  const [name, setName] = useState('');
  const add = useAction({
    run: () => addPasskey(name.trim()),
    refresh: AFFECTED,
    quiet: true,
    done: t('factors.passkeyDone'),
    onDone: ({ recoveryCodes }) => onMade(recoveryCodes),
  });
  return (
    <DialogForm
      onSubmit={() => name.trim() !== '' && add.run()}
      action={t('factors.passkeySubmit')}
      busy={add.busy}
      onClose={onClose}
    >
      <Text size="sm">{t('factors.passkeyText')}</Text>
      {add.error !== null && <Alert color="red">{problemText(add.error)}</Alert>}
      <TextInput
        label={t('factors.passkeyName')}
        description={t('factors.passkeyNameHint')}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={100}
        data-autofocus
        required
      />
    </DialogForm>
  );
}

type AddDialogProps = {
  readonly opened: boolean;
  readonly onClose: () => void;
  /** Called after `onClose` when a factor was added and all about it was shown. */
  readonly onAdded: () => void;
};

type AddFormProps = {
  readonly onClose: () => void;
  /** Takes the recovery codes that came with the factor; null if there are codes already. */
  readonly onMade: (codes: readonly string[] | null) => void;
};

type Props = AddDialogProps & { readonly title: string; readonly form: (props: AddFormProps) => ReactNode };

/** A dialog that adds a factor with this form, and then shows the recovery codes, if any came with it. */
function AddDialog({ opened, onClose, onAdded, title, form }: Props) {
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const finish = (): void => {
    setCodes(null);
    onClose();
    onAdded();
  };
  const onMade = (made: readonly string[] | null): void => (made === null ? finish() : setCodes(made));
  return (
    <Dialog opened={opened} onClose={codes === null ? onClose : finish} title={title} size="md" locked={codes !== null}>
      {codes !== null && <RecoveryCodes codes={codes} onClose={finish} />}
      {opened && codes === null && form({ onClose, onMade })}
    </Dialog>
  );
}

type RecoveryCodesProps = { readonly codes: readonly string[]; readonly onClose: () => void };

/** The recovery codes, which are shown only once. */
function RecoveryCodes({ codes, onClose }: RecoveryCodesProps) {
  const { t } = useTranslation('security');
  return (
    <Stack>
      <Alert color="amber" icon={<LifeBuoy size={18} />} title={t('factors.codesTitle')}>
        <Text size="sm">{t('factors.codesText')}</Text>
      </Alert>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
        {codes.map((code) => (
          <li key={code}>
            <Code dir="ltr" fz="sm">
              {code}
            </Code>
          </li>
        ))}
      </SimpleGrid>
      <Group justify="space-between">
        <CopyButton text={codes.join('\n')} label={t('factors.codesCopy')} />
        <Button onClick={onClose}>{t('factors.codesDone')}</Button>
      </Group>
    </Stack>
  );
}

const OWN = '/api/partner-gateway/v1/users/me/second-factors';

/** The queries that a change of the factors affects; other sessions end with it. */
const AFFECTED = [['second-factors'], ['sessions'], ['audit']] as const;

export const factorsQuery = queryOptions({
  queryKey: ['second-factors'],
  queryFn: ({ signal }) => ok(api.GET(OWN, { signal })),
});

/** The second factors of the user. */
type Factors = Awaited<ReturnType<NonNullable<typeof factorsQuery.queryFn>>>;
type Passkey = Factors['passkeys'][number];

const beginTotp = () => ok(api.POST(`${OWN}/totp`));
const confirmTotp = (code: string) => ok(api.POST(`${OWN}/totp/confirm`, { body: { code } }));
const removeTotp = () => ok(api.DELETE(`${OWN}/totp`));
const removePasskey = (id: number) => ok(api.DELETE(`${OWN}/passkeys/{id}`, { params: { path: { id } } }));
const renewRecoveryCodes = () => ok(api.POST(`${OWN}/recovery-codes`));

async function addPasskey(name: string) {
  const options = await ok(api.POST(`${OWN}/passkeys/options`));
  const passkey = await makePasskeyWith(options);
  return ok(api.POST(`${OWN}/passkeys`, { body: { name, passkey } }));
}

/** A light border of this many modules belongs to the code (ISO/IEC 18004): scanners need it. */
const QUIET_ZONE = 4;

/** A QR code, drawn in the browser. It is dark on light in both color schemes, because not all scanners read the reverse. */
function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      width={200}
      height={200}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
