import {
  ActionIcon,
  type ActionIconProps,
  Alert,
  Button,
  type ButtonProps,
  Code,
  Group,
  Stack,
  Text,
} from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Check, Copy, EllipsisVertical, KeyRound, Pencil, Plus, Trash2 } from 'lucide-react';
import type { ComponentProps, MouseEventHandler, ReactElement, ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { type Need, useSession } from '../api/session.ts';
import { confirm, openDialog } from './dialog.tsx';
import { Hint } from './hint.tsx';
import type { MenuAction, Question } from './lazy-props.ts';
import { OnDemand, type OpenerButton } from './parts.tsx';

type GuardProps = {
  /** The permission required; `write` is true by default. */
  readonly need?: Need;
  /** Another reason why the action is not available now, as a sentence. */
  readonly reason?: string | undefined | false;
  readonly onClick?: MouseEventHandler<HTMLButtonElement>;
};

/** A button that is disabled for users without the permission and shows the reason on hover and focus. */
export function GuardedButton({
  need,
  reason: because,
  onClick,
  children,
  ...rest
}: GuardProps & ButtonProps & { readonly type?: 'submit' | 'button'; readonly children: ReactNode }) {
  const reason = useDisabledReason(need, because);
  return withReason(
    reason,
    <Button {...rest} {...disabledProps(reason, onClick)}>
      {children}
    </Button>,
  );
}

/** Like `GuardedButton`, as an icon without text; `label` is its accessible name. */
export function GuardedIcon({
  need,
  reason: because,
  onClick,
  label,
  children,
  ...rest
}: GuardProps & ActionIconProps & { readonly label: string; readonly children: ReactNode }) {
  const reason = useDisabledReason(need, because);
  return withReason(
    reason ?? label,
    <ActionIcon variant="subtle" color="gray" {...rest} {...disabledProps(reason, onClick)} aria-label={label}>
      {children}
    </ActionIcon>,
  );
}

type DeleteIconProps = Pick<GuardProps, 'need' | 'reason'> & { readonly label: string; readonly question: Question };

type EditIconProps = Pick<GuardProps, 'need' | 'reason'> & { readonly label: string; readonly dialog: ReactElement };

/** The icon that changes an item of a list, in a dialog. */
export const EditIcon = ({ dialog, ...rest }: EditIconProps) => (
  <GuardedIcon {...rest} onClick={() => openDialog(dialog)}>
    <Pencil size={16} />
  </GuardedIcon>
);

/** The icon that deletes an item of a list, after a confirmation. */
export const DeleteIcon = ({ question, ...rest }: DeleteIconProps) => (
  <GuardedIcon {...rest} onClick={() => confirm(question)}>
    <Trash2 size={16} />
  </GuardedIcon>
);

/**
 * Returns the reason why the action is not available, as a sentence; undefined if it is. For menu items and switches.
 */
export function useDisabledReason(need: Need = {}, otherReason?: string | false): string | undefined {
  const { t } = useTranslation('ui');
  const refusal = useSession().refusal({ write: true, ...need });
  if (refusal !== null) return t(`why.${refusal}`, { scope: need.scope });
  return otherReason || undefined;
}

/**
 * The props of a disabled button. It stays focusable, unlike with `disabled`, so that keyboard users can read the
 * reason.
 */
function disabledProps(reason: string | undefined, onClick: GuardProps['onClick']) {
  if (reason === undefined) return { onClick };
  const stop: MouseEventHandler<HTMLButtonElement> = (event) => event.preventDefault();
  return { 'data-disabled': true, 'aria-disabled': true, onClick: stop };
}

const withReason = (reason: string | undefined, button: React.JSX.Element): ReactNode =>
  reason === undefined ? button : <Hint label={reason}>{button}</Hint>;

const LazyList = lazyPart(() =>
  import('./actions-menu-list.tsx').then(({ ActionsMenuList }) => ({ default: ActionsMenuList })),
);

type ActionsMenuProps = {
  /** The accessible name of the button: "Actions for Spring sale". */
  readonly label: string;
  readonly actions: readonly MenuAction[];
  /** A button to use instead of the three dots. */
  readonly button?: OpenerButton;
};

/** A menu of actions for one item, behind three dots. */
export function ActionsMenu({ label, actions, button }: ActionsMenuProps) {
  const dots = (
    <ActionIcon variant="subtle" color="gray" aria-label={label}>
      <EllipsisVertical size={16} />
    </ActionIcon>
  );
  const opener = button ?? dots;
  return (
    <OnDemand button={opener} kind="menu">
      <LazyList button={opener} actions={actions} />
    </OnDemand>
  );
}

type SecretOnceProps = {
  /** Name of the secret: "API key". */
  readonly label: string;
  readonly secret: string;
  /** Use of the secret, or expiry of the old one. */
  readonly note?: string;
};

/** A secret that is shown only once, with a copy button. */
export function SecretOnce({ label, secret, note }: SecretOnceProps) {
  const { t } = useTranslation('ui');
  return (
    <Alert color="amber" icon={<KeyRound size={18} />} title={t('secret.title')}>
      <Stack gap="xs">
        <Text size="sm">{note ?? t('secret.note')}</Text>
        <Group gap="xs" wrap="nowrap" align="center">
          <Code aria-label={label} dir="ltr" fz="sm" p="xs" style={{ overflowWrap: 'anywhere', userSelect: 'all' }}>
            {secret}
          </Code>
          <CopyButton text={secret} label={t('secret.copy', { label })} />
        </Group>
      </Stack>
    </Alert>
  );
}

/** Button that copies a text; `label` is its accessible name: "Copy callback URL". */
export function CopyButton({ text, label }: { readonly text: string; readonly label?: string }) {
  const { t } = useTranslation('ui');
  const { copied, copy } = useClipboard({ timeout: 2000 });
  const name = copied ? t('copied') : (label ?? t('copy'));
  return (
    <Hint label={name}>
      <ActionIcon variant="subtle" color={copied ? 'green' : 'gray'} onClick={() => copy(text)} aria-label={name}>
        {copied ? <Check size={16} /> : <Copy size={16} />}
      </ActionIcon>
    </Hint>
  );
}

/** The button that creates something, above a list and in its empty state. */
export const AddButton = (props: ComponentProps<typeof GuardedButton>) => (
  <GuardedButton leftSection={<Plus size={16} />} {...props} />
);
