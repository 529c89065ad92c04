import { Suspense, useEffect, useEffectEvent, useState } from 'react';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { askWith, type Proof } from '../../api/proof.ts';

const SignInAgain = lazyPart(() =>
  import('../../sign-in/sign-in-again.tsx').then((file) => ({ default: file.SignInAgain })),
);
const StepUpDialog = lazyPart(() =>
  import('../../sign-in/step-up-dialog.tsx').then((file) => ({ default: file.StepUpDialog })),
);

type Settle = (given: boolean) => void;
type Waiting = Readonly<Partial<Record<Proof, Settle>>>;

/** Opens a dialog over the page when a request needs the user to sign in again or to confirm who they are. */
export function ProofDialogs() {
  const [waiting, setWaiting] = useState<Waiting>({});
  const [wasAsked, setWasAsked] = useState<Readonly<Partial<Record<Proof, true>>>>({});
  useEffect(() => {
    const open = new Set<Settle>();
    const stop = askWith(
      (proof) =>
        new Promise((resolve) => {
          open.add(resolve);
          setWasAsked((before) => ({ ...before, [proof]: true }));
          setWaiting((before) => ({ ...before, [proof]: resolve }));
        }),
    );
    return () => {
      stop();
      // A page that is left keeps no request waiting.
      for (const settle of open) settle(false);
    };
  }, []);
  const settle = (proof: Proof, given: boolean): void => {
    waiting[proof]?.(given);
    setWaiting((before) => ({ ...before, [proof]: undefined }));
  };
  // Dialogs of the page below close on Escape as well, and their input would be lost.
  const onEscape = useEffectEvent((event: KeyboardEvent) => {
    const isOpen = waiting['sign-in'] !== undefined || waiting['step-up'] !== undefined;
    if (event.key !== 'Escape' || !isOpen) return;
    event.stopImmediatePropagation();
    if (waiting['sign-in'] === undefined) settle('step-up', false);
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => onEscape(event);
    globalThis.addEventListener('keydown', listen, { capture: true });
    return () => globalThis.removeEventListener('keydown', listen, { capture: true });
  }, []);
  return (
    <Suspense>
      {wasAsked['step-up'] && (
        <StepUpDialog opened={waiting['step-up'] !== undefined} onSettled={(given) => settle('step-up', given)} />
      )}
      {wasAsked['sign-in'] && (
        <SignInAgain opened={waiting['sign-in'] !== undefined} onSettled={(given) => settle('sign-in', given)} />
      )}
    </Suspense>
  );
}
