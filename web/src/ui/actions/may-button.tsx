import { ActionIcon, type ActionIconProps, Button, type ButtonProps } from '@mantine/core';
import type { MouseEventHandler, ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { type Need, useSession } from '../../api/session.ts';
import { Hint } from '../hint.tsx';

type Allowed = {
  /** What it takes; `write` is taken for granted unless said otherwise. */
  readonly need?: Need;
  /** Another reason why it cannot be used now, as a sentence. */
  readonly because?: string | undefined | false;
  readonly onClick?: MouseEventHandler<HTMLButtonElement>;
};

/** A button for those who may use it; to others it is there, disabled, and says why on hover and focus. */
export function MayButton({
  need,
  because,
  onClick,
  children,
  ...rest
}: Allowed & ButtonProps & { readonly type?: 'submit' | 'button'; readonly children: ReactNode }) {
  const reason = useReason(need, because);
  return withReason(
    reason,
    <Button {...rest} {...refused(reason, onClick)}>
      {children}
    </Button>,
  );
}

/** The same as a sign without text; `label` names it. */
export function MayIcon({
  need,
  because,
  onClick,
  label,
  children,
  ...rest
}: Allowed & ActionIconProps & { readonly label: string; readonly children: ReactNode }) {
  const reason = useReason(need, because);
  return withReason(
    reason ?? label,
    <ActionIcon variant="subtle" color="gray" {...rest} {...refused(reason, onClick)} aria-label={label}>
      {children}
    </ActionIcon>,
  );
}

/** Why the person may not, in words; undefined when they may. For menu items and switches. */
export function useReason(need: Need = {}, because?: string | false): string | undefined {
  const { t } = useTranslation('ui');
  const refusal = useSession().refusal({ write: true, ...need });
  if (refusal !== null) return t(`why.${refusal}`, { scope: need.scope });
  return because || undefined;
}

/** A button that is `disabled` takes no focus, so its reason could not be read by keyboard. */
function refused(reason: string | undefined, onClick: Allowed['onClick']) {
  if (reason === undefined) return { onClick };
  const stop: MouseEventHandler<HTMLButtonElement> = (event) => event.preventDefault();
  return { 'data-disabled': true, 'aria-disabled': true, onClick: stop };
}

const withReason = (reason: string | undefined, button: React.JSX.Element): ReactNode =>
  reason === undefined ? button : <Hint label={reason}>{button}</Hint>;
