import { type ReactNode, useState } from 'react';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { RecoveryCodes } from './recovery-codes.tsx';

export type AddDialogProps = {
  readonly opened: boolean;
  readonly onClose: () => void;
  /** Called after `onClose` when a factor was added and all about it was shown. */
  readonly onAdded: () => void;
};

export type AddFormProps = {
  readonly onClose: () => void;
  /** Takes the recovery codes that came with the factor; null if there are codes already. */
  readonly onMade: (codes: readonly string[] | null) => void;
};

type Props = AddDialogProps & { readonly title: string; readonly form: (props: AddFormProps) => ReactNode };

/** A dialog that adds a factor with this form, and then shows the recovery codes, if any came with it. */
export function AddDialog({ opened, onClose, onAdded, title, form }: Props) {
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
