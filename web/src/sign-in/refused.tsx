import { Alert } from '@mantine/core';
import { useProblemText } from '../api/problem-text.ts';
import { ApiError } from '../api/errors.ts';

/** Reason why a sign-in was denied; `wrong` is the text for wrong input. */
export function Refused({ error, wrong }: { readonly error: unknown; readonly wrong: string }) {
  const problemText = useProblemText();
  if (error === null) return null;
  const isWrong = error instanceof ApiError && error.status === 401;
  return (
    <Alert color="red" role="alert">
      {isWrong ? wrong : problemText(error)}
    </Alert>
  );
}
