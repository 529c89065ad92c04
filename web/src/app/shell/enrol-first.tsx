import { Suspense } from 'react';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { PageSkeleton } from '../page-skeleton.tsx';

const Enrol = lazyPart(() =>
  import('../../security/factors/enrol-page.tsx').then((file) => ({ default: file.EnrolPage })),
);

/** Shown instead of every page to a user who has yet to add the second factor that the account requires. */
export const EnrolFirst = ({ onDone }: { readonly onDone: () => void }) => (
  <Suspense fallback={<PageSkeleton />}>
    <Enrol onDone={onDone} />
  </Suspense>
);
