import { ActionIcon, type ActionIconProps, Button, type ButtonProps } from '@mantine/core';
import type { MouseEventHandler, ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { type Need, useSession } from '../../api/session.ts';
import { Hint } from '../hint.tsx';

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
