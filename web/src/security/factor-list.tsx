import { Alert, Button, Center, Code, Group, SimpleGrid, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { KeyRound, LifeBuoy, Smartphone } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { encode } from 'uqr';
import { canUsePasskeys, makePasskeyWith, useProblemText } from '../api/passkey.ts';
import { ApiError, api, ok } from '../api/send.ts';
import { CopyButton } from '../ui/actions.tsx';
import { confirm, openDialog } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { ErrorState, Muted, Section, TableSkeleton } from '../ui/parts.tsx';
import { DateTime } from '../ui/values.tsx';

/** The factors of the user, each with a button that removes it. */
function FactorList({ factors: { totp, passkeys } }: { readonly factors: Factors }) {
  const { t } = useTranslation('security');
  return (
    <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
      {totp !== null && (
        <Row
          icon={<Smartphone size={18} aria-hidden="true" />}
          name={t('factors.totp')}
          since={totp.confirmedAt}
          usedAt={null}
          remove={removeTotp}
        />
      )}
      {passkeys.map((passkey) => (
        <Row
          key={passkey.id}
          icon={<KeyRound size={18} aria-hidden="true" />}
          name={passkey.name}
          since={passkey.createdAt}
          usedAt={passkey.lastUsedAt}
          remove={() => removePasskey(passkey.id)}
        />
      ))}
    </Stack>
  );
}

type RowProps = {
  readonly icon: ReactNode;
  readonly name: string;
  readonly since: string;
  readonly usedAt: string | null;
  readonly remove: () => Promise<unknown>;
};

function Row({ icon, name, since, usedAt, remove }: RowProps) {
  const { t } = useTranslation('security');
  const ask = (): void =>
    confirm({
      title: t('factors.removeTitle', { name }),
      text: t('factors.removeText'),
      action: t('factors.remove'),
      run: remove,
      refresh: AFFECTED,
      done: t('factors.removed', { name }),
    });
  return (
    <Group component="li" justify="space-between" wrap="nowrap">
      <Group gap="xs" wrap="nowrap" style={{ minWidth: 0 }}>
        {icon}
        <Stack gap={0} style={{ minWidth: 0 }}>
          <Text size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
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
      <Button variant="default" size="xs" onClick={ask} aria-label={t('factors.removeOne', { name })}>
        {t('factors.remove')}
      </Button>
    </Group>
  );
}

type AddDialogProps = { readonly onAdded: () => void };

/** Adds an authenticator app: shows the QR code, asks for a first code, and shows the recovery codes. */
function TotpDialog({ onAdded }: AddDialogProps) {
  const { t } = useTranslation('security');
  const problemText = useProblemText();
  return (
    <FormDialog
      title={t('factors.totpTitle')}
      size="md"
      values={{ code: '' }}
      run={({ code }) => confirmTotp(code)}
      refresh={AFFECTED}
      quiet
      done={t('factors.totpDone')}
      onDone={onAdded}
      action={t('factors.totpSubmit')}
      isDisabled={({ code }) => code.trim() === ''}
      result={({ recoveryCodes }) => recoveryCodes && <RecoveryCodes codes={recoveryCodes} />}
      finish={t('factors.codesDone')}
    >
      {(form, { error }) => {
        const isWrong = error instanceof ApiError && error.details.length > 0;
        return (
          <>
            <Text size="sm">{t('factors.totpText')}</Text>
            <NewSecret />
            {error !== null && !isWrong && <Alert color="red">{problemText(error)}</Alert>}
            <TextInput
              label={t('factors.code')}
              inputMode="numeric"
              autoComplete="one-time-code"
              maxLength={10}
              data-autofocus
              {...form.getInputProps('code')}
              error={isWrong && t('factors.wrongCode')}
            />
          </>
        );
      }}
    </FormDialog>
  );
}

/** The secret of a new app. It is made for each opening of the dialog, and not again while that is open. */
function NewSecret() {
  const { data, error, refetch } = useQuery({
    queryKey: ['totp-enrolment'],
    queryFn: beginTotp,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  if (data) return <Secret {...data} />;
  return error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <Skeleton h={240} />;
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
  const added = (): void => onAdded?.();
  const hasAny = factors.totp !== null || factors.passkeys.length > 0;
  const buttons = (
    <>
      <Button
        variant="default"
        leftSection={<Smartphone size={16} />}
        onClick={() => openDialog(<TotpDialog onAdded={added} />)}
      >
        {t(factors.totp === null ? 'factors.totpAdd' : 'factors.totpReplace')}
      </Button>
      {canUsePasskeys() && (
        <Button
          variant="default"
          leftSection={<KeyRound size={16} />}
          onClick={() => openDialog(<PasskeyDialog onAdded={added} />)}
        >
          {t('factors.passkeyAdd')}
        </Button>
      )}
    </>
  );
  return (
    <Stack gap="lg">
      <Section title={t('factors.title')} description={t('factors.text')} actions={buttons}>
        {hasAny ? <FactorList factors={factors} /> : <Text size="sm">{t('factors.none')}</Text>}
        {!canUsePasskeys() && <Muted>{t('factors.noPasskeys')}</Muted>}
      </Section>
      {hasAny && <RecoverySection left={factors.recoveryCodesLeft} />}
    </Stack>
  );
}

/** The number of recovery codes left, and a button that makes new ones. */
function RecoverySection({ left }: { readonly left: number }) {
  const { t } = useTranslation('security');
  const button = (
    <Button variant="default" onClick={() => openDialog(<RenewDialog />)}>
      {t('factors.renew')}
    </Button>
  );
  return (
    <Section title={t('factors.recovery')} description={t('factors.recoveryText')} actions={button}>
      <Text size="sm">{t('factors.recoveryLeft', { count: left })}</Text>
    </Section>
  );
}

/** Dialog that replaces the recovery codes and shows the new ones. */
function RenewDialog() {
  const { t } = useTranslation('security');
  return (
    <FormDialog
      title={t('factors.renewTitle')}
      size="md"
      values={{}}
      run={renewRecoveryCodes}
      refresh={AFFECTED}
      action={t('factors.renew')}
      result={({ recoveryCodes }) => <RecoveryCodes codes={recoveryCodes} />}
      finish={t('factors.codesDone')}
    >
      {() => <Text size="sm">{t('factors.renewText')}</Text>}
    </FormDialog>
  );
}

/** Adds a passkey: asks for a name, then the browser asks for the passkey; shows the recovery codes. */
function PasskeyDialog({ onAdded }: AddDialogProps) {
  const { t } = useTranslation('security');
  const problemText = useProblemText();
  return (
    <FormDialog
      title={t('factors.passkeyTitle')}
      size="md"
      values={{ name: '' }}
      run={({ name }) => addPasskey(name.trim())}
      refresh={AFFECTED}
      quiet
      done={t('factors.passkeyDone')}
      onDone={onAdded}
      action={t('factors.passkeySubmit')}
      isDisabled={({ name }) => name.trim() === ''}
      result={({ recoveryCodes }) => recoveryCodes && <RecoveryCodes codes={recoveryCodes} />}
      finish={t('factors.codesDone')}
    >
      {(form, { error }) => (
        <>
          <Text size="sm">{t('factors.passkeyText')}</Text>
          {error !== null && <Alert color="red">{problemText(error)}</Alert>}
          <TextInput
            label={t('factors.passkeyName')}
            description={t('factors.passkeyNameHint')}
            maxLength={100}
            data-autofocus
            required
            {...form.getInputProps('name')}
          />
        </>
      )}
    </FormDialog>
  );
}

/** The recovery codes, which are shown only once. */
function RecoveryCodes({ codes }: { readonly codes: readonly string[] }) {
  const { t } = useTranslation('security');
  return (
    <>
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
      <CopyButton text={codes.join('\n')} label={t('factors.codesCopy')} />
    </>
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
